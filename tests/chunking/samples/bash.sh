#!/usr/bin/env bash
# Deploys the site. 配備する。
set -euo pipefail

source ./lib/common.sh
. "$HOME/.env"

readonly LIMIT=3
export TARGET="本番"
name=deploy
name=again

# Says what happens.
log() {
  local line=$1
  echo "$line"
}

function build {
  (cd app && make)
}

function upload() {
  rsync -a build/ "$TARGET"
}

in_subshell() (
  cd /
)

alias ll='ls -l'

cat <<'EOF'
not() { a function; }
EOF

log "done"
