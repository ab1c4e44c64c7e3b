#!/usr/bin/env bash
# Install code-intel into an environment of its own, set a project up, index it and ask it a question.
#
#   ./setup.sh [PROJECT]   set up PROJECT (default: this repository)
#   ./setup.sh test        install the test tools too; lint, types, import contracts, tests
#
# No sudo, no prompts; running it again changes nothing. CODE_INTEL_VENV names another place for the
# environment, CODE_INTEL_QUESTION another first question, PYTHON the interpreter to use.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
venv=${CODE_INTEL_VENV:-$here/.venv}
say() { printf '%s\n' "$*" >&2; }
fail() { say "setup.sh: $1"; say "  $2"; exit 2; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "no Python 3.11 or newer with the venv module was found." \
    "Install one (Debian: apt install python3 python3-venv), or name it: PYTHON=/path/to/python ./setup.sh"
}

install() { # install EXTRAS; skipped when this pyproject was installed with them before
  local want stamp="$venv/.code-intel-installed"
  [ -x "$venv/bin/python" ] || {
    say "Making an environment in $venv"
    "$(find_python)" -m venv "$venv" || fail "the environment could not be made." "Remove $venv and try again."
  }
  want="$1 $here $(cksum <"$here/pyproject.toml")"
  if [ -f "$stamp" ] && grep -qxF "$want" "$stamp"; then return; fi
  say "Installing code-intel$1 (about a minute)"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$here$1" ||
    fail "the installation failed." "See the lines above; running ./setup.sh again continues."
  printf '%s\n' "$want" >>"$stamp"
}

run_tests() {
  install "[dev]"
  cd "$here"
  export PATH="$venv/bin:$PATH"
  say "Lint";             ruff check . && ruff format --check .
  say "Types";            mypy
  say "Import contracts"; lint-imports
  say "Tests";            python -m pytest "$@"
}

set_up() {
  local project question="where does the program start"
  project=$(cd -- "$1" 2>/dev/null && pwd) || fail "$1 is not a folder." "Name the project: ./setup.sh PROJECT"
  [ "$project" != "$here" ] || question="where are phases enforced"
  question=${CODE_INTEL_QUESTION:-$question}
  install ""
  "$venv/bin/code-intel" init "$project" >&2
  say "Indexing words"
  "$venv/bin/code-intel" sync --words-only "$project" >&2
  say ""
  say "First question: $question"
  "$venv/bin/code-intel" search --project "$project" --top-k 3 -- "$question"
  say ""
  say "Words are indexed. The vectors, which find code by meaning and across languages, are computed by the"
  say "first server your client starts; to have them now: $venv/bin/code-intel sync $project"
  say "Next: start Claude Code in $project (its .mcp.json lists the three servers)."
  if [ "$project" = "$here" ]; then
    say "Undo: rm -rf $venv $here/vectors-forest.db* $here/.code-intel/vectors-map.db*"
  else
    say "Undo: $venv/bin/code-intel init --remove $project; rm -rf $venv"
  fi
}

case "${1:-}" in
  test) shift; run_tests "$@" ;;
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" ;;
  *) set_up "${1:-$here}" ;;
esac
