"""What can be told of a shell command without executing it."""

from pathlib import Path
from time import thread_time

import pytest

from code_intel.tools.hooks.shell_commands import MAX_COMMAND_CHARS, MAX_FILES, read_command

ROOT = "/shop"
PATCH = "*** Begin Patch\n*** Add File: a.py\n+x\n  *** Delete File: b c.py \n*** End Patch\n"
WRITES = [
    ("make >& build.log", ["build.log"]),
    ("make >&2", []),
    ("sort a | sponge a", ["a"]),
    ("patch a.py fix.diff", ["a.py"]),
    ("apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a.py\n*** End Patch\nEOF", ["a.py"]),
    ("cat <<'EOF' > a.py\nx = \"it's > b.py\"\nEOF\n", ["a.py"]),
    ("cd src && printf x >> a.py", ["src/a.py"]),
    ("(cd src; rm a.py); rm b.py", ["src/a.py", "b.py"]),
    ("cd $WHERE && rm a.py; cd /shop; rm b.py", ["b.py"]),
    ("make > out.txt 2>&1", ["out.txt"]),
    ("make &> 'out dir/x.txt'", ["out dir/x.txt"]),
    ("sort < a.txt | tee -a b.txt", ["b.txt"]),
    ("sed -i s/a/b/ a.py b.py", ["a.py", "b.py"]),
    ("sed -Ei.bak -e s/a/b/ -e s/c/d/ a.py", ["a.py"]),
    ("sed --in-place 's/a/b/' a.py", ["a.py"]),
    ("sed -n 1,9p a.py", []),
    ("perl -pi -e 's/a/b/' a.py", ["a.py"]),
    ("perl -ne 'print' a.py", []),
    ('for f in a.py b.py; do sed -i s/a/b/ "src/$f"; done', ["src/a.py", "src/b.py"]),
    ('FILE=a.py; rm "$FILE" ${FILE}', ["a.py"]),
    ("cp a.py b.py", ["b.py"]),
    ("mv a.py b.py", ["a.py", "b.py"]),
    ("dd if=a of=b bs=1", ["b"]),
    ("curl -o page.html https://example.org", ["page.html"]),
    ("git checkout main -- a.py && git checkout other", ["a.py"]),
    ("git restore --staged a.py; git restore -s HEAD b.py; git rm c.py", ["b.py", "c.py"]),
    ("timeout 10 sudo env A=1 rm -f a.py", ["a.py"]),
    ("bash -c 'cd src && rm a.py'", ["src/a.py"]),
    ("truncate -s 0 a.py; touch -d now b.py", ["a.py", "b.py"]),
    ("python3 - <<'E'\nopen('a.py', 'w').write('x')\nE", ["a.py"]),
    ("python -c \"from pathlib import Path; Path('a.py').write_text('x')\"", ["a.py"]),
    ("python3 - <<'E'\nopen('a.py').read()\nE", []),
    ("cd src && python3 - <<'E'\nopen('a.py', 'w').write('x')\nE", ["src/a.py"]),
    ("cat <<'E' | grep open\nopen('a.py', 'w')\nE\npython3 b.py", []),
    (f"apply_patch '{PATCH}'", ["a.py", "b c.py"]),
    (f"cd src && apply_patch <<'E' && make\n{PATCH}E\n", ["src/a.py", "src/b c.py"]),
    (f"cat <<'E' | applypatch\n{PATCH}E\n", ["a.py", "b c.py"]),
    (f"cat <<'E'\n{PATCH}E\n", []),
    ("grep '>' a.py; echo 'rm a.py' \"> b.py\"", []),
    ("[[ a > b ]] && (( x > 3 )); awk '$1 > 3' a.txt", []),
    ("cat a.py <b.py 2>&1", []),
    ("rm $(git ls-files) ~/a.py `x`", []),
    ("if true; then\n  rm a.py\nfi # > b.py", ["a.py"]),
    ("rm 'unclosed", []),
    ("", []),
]
SEARCHES = [
    ("rg -n login src", ["login"], ["src"]),
    ("rg -n -i -F -e login -e log_out .", ["login", "log_out"], ["."]),
    ("grep -rn --include '*.py' -A 3 'def login' src", ["def login"], ["src"]),
    ("cd src && git grep -n login -- auth", ["login"], ["src/auth"]),
    ("find . -type f -name '*login*'", ["*login*"], []),
    ("grep --regexp=login a.py | head", ["login"], ["a.py"]),
    ("ps aux | grep login", [], []),
    ("rg --files src", [], []),
    ("cat a.py", [], []),
]


@pytest.mark.parametrize(("command", "files"), WRITES)
def test_writes(command: str, files: list[str]) -> None:
    found = read_command(command, ROOT).writes
    assert list(found) == [f"{ROOT}/{file}" for file in files]


DIFF = """\
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,1 @@
--- a comment of Lua
 x
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
"""


@pytest.mark.parametrize(
    "command",
    [
        f"git apply <<'EOF'\n{DIFF}EOF",
        f"cat <<'EOF' | git apply\n{DIFF}EOF",
        f"patch -p1 <<'EOF'\n{DIFF}EOF",
        "git apply {file}",
        "patch -p1 < {file}",
        "cat {file} && git apply --3way {file}",
    ],
)
def test_patches_write_the_files_in_their_heads(command: str, tmp_path: Path) -> None:
    file = tmp_path / "fix.diff"
    file.write_text(DIFF, encoding="utf-8")
    found = read_command(command.replace("{file}", str(file)), ROOT).writes
    assert list(found) == [f"{ROOT}/src/a.py", f"{ROOT}/new.py"]


@pytest.mark.parametrize(("command", "patterns", "places"), SEARCHES)
def test_searches(command: str, patterns: list[str], places: list[str]) -> None:
    found = read_command(command, ROOT)
    assert list(found.patterns) == patterns
    assert [place.removeprefix(f"{ROOT}/") for place in found.places] == places


def test_words_and_folders_name_what_may_be_read() -> None:
    found = read_command("cd src && cat a.py 'b c.py' < d.py", ROOT)
    assert {f"{ROOT}/src/a.py", f"{ROOT}/src/b c.py", f"{ROOT}/src/d.py"} <= set(found.names)
    assert found.folders == (ROOT, f"{ROOT}/src")


def test_limits() -> None:
    many = " ".join(f"f{n}" for n in range(MAX_FILES * 2))
    assert len(read_command(f"rm {many}", ROOT).writes) == MAX_FILES
    text = "x = 1\n" * MAX_COMMAND_CHARS
    assert read_command(f"cat > a.py <<'EOF'\n{text}EOF\n", ROOT).writes == (f"{ROOT}/a.py",)
    nested = "bash -c " * 50 + "'rm a.py'"
    assert read_command(nested, ROOT).writes == ()
    deep = "(" * 5000 + "rm a.py" + ")" * 5000
    read_command(deep, ROOT)


@pytest.mark.parametrize("part", ["|", "\0", "[]", "\u2028\n"])
def test_of_text_that_is_no_command_only_the_start_is_parsed(part: str) -> None:
    """The whole of it would take the parser ten seconds, and the client waits."""
    started = thread_time()
    found = read_command(f"rm a.py; {part * 60_000}", ROOT)
    assert found.writes == (f"{ROOT}/a.py",)
    assert thread_time() - started < 2


def test_files_moved_into_a_folder_are_named(tmp_path: pytest.TempPathFactory) -> None:
    found = read_command(f"cp a.py b.py {tmp_path}", ROOT).writes
    assert found == (f"{tmp_path}/a.py", f"{tmp_path}/b.py")
