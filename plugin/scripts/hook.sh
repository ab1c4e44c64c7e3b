#!/bin/sh
# Answer an event of a hook. Do nothing if code-intel is missing, or if the project has hooks of its own.
command -v code-intel >/dev/null 2>&1 || exit 0
grep -qs ' hook claude-code' "${CLAUDE_PROJECT_DIR:-.}/.claude/settings.json" && exit 0
exec code-intel hook claude-code
