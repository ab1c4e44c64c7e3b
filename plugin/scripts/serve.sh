#!/bin/sh
# Start the gateway. Start none where the project is not set up, or where `.mcp.json` names one already.
project=${CLAUDE_PROJECT_DIR:-.}
command -v code-intel >/dev/null 2>&1 || {
  echo "code-intel is not installed. Install it with pipx or uv, then restart the client." >&2
  exit 1
}
[ -d "$project/.code-intel" ] || {
  echo "This project is not set up. Run \`code-intel init --client none\` in it." >&2
  exit 1
}
grep -qs '"code-intel"' "$project/.mcp.json" && {
  echo "The project's .mcp.json starts the server already." >&2
  exit 1
}
exec code-intel serve
