#!/bin/sh
# Start the gateway. Start none where the project is not set up, or where `.mcp.json` names one already.
# The client may run in a folder of the project.
command -v code-intel >/dev/null 2>&1 || {
  echo "code-intel is not installed. Install it with pipx or uv, then restart the client." >&2
  exit 1
}
folder=${CLAUDE_PROJECT_DIR:-$PWD}
while :; do
  grep -qs '"code-intel"' "$folder/.mcp.json" && {
    echo "The project's .mcp.json starts the server already." >&2
    exit 1
  }
  [ -d "$folder/.code-intel" ] && [ "$folder" != "$HOME" ] && exec code-intel serve
  case $folder in
    */*) folder=${folder%/*} ;;
    *) break ;;
  esac
done
echo "This project is not set up. Run \`code-intel init --client none\` in it." >&2
exit 1
