"""Test searches with a missing, old, broken or hanging ripgrep. No process may be left."""

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

from code_intel.errors import CodeIntelError, UsageError
from code_intel.forest.text.grep import TextMatches, TextQuery, find_ripgrep, grep
from hurry import late
from left_behind import none_left, noting
from upstreams import until

pytestmark = pytest.mark.anyio

MATCH = (
    r'{"type":"match","data":{"path":{"text":"a.py"},"lines":{"text":"def login():\n"},'
    r'"line_number":1,"absolute_offset":0,'
    r'"submatches":[{"match":{"text":"login"},"start":4,"end":9}]}}'
)
CLIENT_BYTES = b"what a client says\n"
EMIT = f"printf '%s\\n' '{MATCH}'"  # echo would read the escape
FAULTS = {
    "an old version": "echo \"error: Found argument '--json' which wasn't expected\" >&2; exit 2",
    "a segmentation fault": "kill -SEGV $$",
    "a match, then a segmentation fault": f"{EMIT}; kill -SEGV $$",
    "an unknown exit code": "exit 70",
    "garbage": "echo 'Segmentation fault (core dumped)'",
    "JSON that is no event": "echo '[1, 2]'; echo 7",
    "a match without its place": 'echo \'{"type":"match","data":{}}\'',
    ("a match with strange texts"): (
        f'echo \'{MATCH}\' | sed s/login/1/ | sed \'s/"text":"a.py"/"text":[]/\''
    ),
    "nested JSON": "head -c 200000 /dev/zero | tr '\\0' '['; echo",
    "bytes that are no text": "printf '\\377\\376\\n'",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.py").write_text("def login():\n    relogin(); login()\n", encoding="utf-8")
    (root / "sub" / "b.ts").write_text("// ログイン login\n", encoding="utf-8")
    (root / ".hidden.py").write_text("login\n", encoding="utf-8")
    (root / "ignored.py").write_text("login\n", encoding="utf-8")
    (root / ".gitignore").write_text("ignored.py\n", encoding="utf-8")
    return root


def fake(folder: Path, script: str, name: str = "rg") -> str:
    return str(noting(folder, script, name))


def places(answer: TextMatches) -> list[tuple[str, int]]:
    return [(match.file, match.line) for match in answer.matches]


@pytest.mark.parametrize("script", FAULTS.values(), ids=FAULTS)
async def test_a_broken_ripgrep_is_replaced(tree: Path, tmp_path: Path, script: str) -> None:
    program = fake(tmp_path, script)
    answer = await grep(tree, TextQuery("login", literal=True), program=program)
    assert places(answer) == [("a.py", 1), ("a.py", 2), ("sub/b.ts", 1)]
    assert "without ripgrep" in answer.note
    assert await none_left(tmp_path)


@pytest.mark.covers("error.tool_failed")
@pytest.mark.parametrize("script", FAULTS.values(), ids=FAULTS)
async def test_an_expression_needs_ripgrep(tree: Path, tmp_path: Path, script: str) -> None:
    with pytest.raises(CodeIntelError) as caught:
        await grep(tree, TextQuery("log(in)+"), program=fake(tmp_path, script))
    assert not isinstance(caught.value, UsageError)
    assert caught.value.error == "tool_failed"
    assert "ripgrep>=14" in caught.value.hint
    assert await none_left(tmp_path)


@pytest.mark.parametrize("where", ["nowhere", "root", "root/a.py"])
async def test_an_unusable_program_is_replaced(tree: Path, tmp_path: Path, where: str) -> None:
    program = str(tmp_path / where)
    assert len((await grep(tree, TextQuery("login"), program=program)).matches) == 3
    with pytest.raises(CodeIntelError) as caught:
        await grep(tree, TextQuery("logi[n]"), program=program)
    assert caught.value.error == "tool_failed"


async def test_an_invalid_expression_is_a_usage_error(tree: Path, tmp_path: Path) -> None:
    script = "echo 'rg: regex parse error: unclosed group' >&2; exit 2"
    with pytest.raises(UsageError) as caught:
        await grep(tree, TextQuery("("), program=fake(tmp_path, script))
    assert caught.value.details["field"] == "pattern"


@pytest.mark.parametrize(
    "script",
    [
        "exec sleep 600",
        "sleep 600 & echo $! >> '{folder}/pids'; wait",
        "(sh -c 'echo $$ >> {folder}/pids; exec sleep 600') & wait",
        "trap '' TERM HUP INT; while :; do sleep 1; done",
        'while :; do echo \'{{"type":"begin","data":{{}}}}\'; sleep 1; done',
    ],
)
async def test_a_hanging_ripgrep_is_ended(tree: Path, tmp_path: Path, script: str) -> None:
    program = fake(tmp_path, script.format(folder=tmp_path))
    answer = await grep(tree, TextQuery("login"), program=program, timeout_s=0.4)
    assert answer.truncated
    assert "stopped after 0.4 seconds" in answer.note
    assert await none_left(tmp_path)


async def test_matches_before_the_deadline_are_returned(tree: Path, tmp_path: Path) -> None:
    ready_file = tmp_path / "ready_file"
    program = fake(tmp_path, f"{EMIT}; {EMIT}; : > '{ready_file}'; exec sleep 600")
    work = grep(tree, TextQuery("login"), program=program, timeout_s=30)
    answer = await late(work, ready_file.exists, seconds=30)
    assert places(answer) == [("a.py", 1)]
    assert answer.truncated


async def test_a_cancelled_call_leaves_no_process(tree: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    program = fake(tmp_path, f"sleep 600 & echo $! >> '{tmp_path}/pids'; : > '{ready}'; wait")
    async with anyio.create_task_group() as group:
        group.start_soon(partial(grep, tree, TextQuery("login"), program=program))
        await until(ready.exists)
        group.cancel_scope.cancel()
    assert await none_left(tmp_path)


async def test_a_child_that_outlives_ripgrep_is_ended(tree: Path, tmp_path: Path) -> None:
    script = f"sleep 600 >/dev/null 2>&1 & echo $! >> '{tmp_path}/pids'; exit 1"
    assert places(await grep(tree, TextQuery("login"), program=fake(tmp_path, script))) == []
    assert await none_left(tmp_path)


async def test_a_flood_of_messages_does_not_block_the_search(tree: Path, tmp_path: Path) -> None:
    script = f"head -c 30000000 /dev/zero | tr '\\0' 'e' >&2; {EMIT}"
    answer = await grep(tree, TextQuery("login"), program=fake(tmp_path, script))
    assert places(answer) == [("a.py", 1)]
    assert not answer.truncated


@pytest.mark.parametrize("unit", ["a line without an end", "lines"])
async def test_a_gigabyte_of_output_is_cut(tree: Path, tmp_path: Path, unit: str) -> None:
    endless = "head -c 1000000000 /dev/zero | tr '\\0' '1'"
    event = json.dumps({"type": "summary", "data": {"text": "x" * 1000}})
    lines = f"yes '{event}' | head -c 1000000000"
    script = lines if unit == "lines" else endless
    answer = await grep(tree, TextQuery("logi[n]"), program=fake(tmp_path, script), timeout_s=100)
    assert answer.truncated
    assert "more matches than can be read" in answer.note
    assert await none_left(tmp_path)


@pytest.fixture
def client_input() -> Iterator[int]:
    """Make stdin a pipe in which a client has client_input something; its reading end."""
    saved, (reading, writing) = os.dup(0), os.pipe()
    os.write(writing, CLIENT_BYTES)
    os.close(writing)
    os.dup2(reading, 0)
    yield reading
    os.dup2(saved, 0)
    os.close(saved)
    os.close(reading)


async def test_ripgrep_gets_no_input(tree: Path, tmp_path: Path, client_input: int) -> None:
    script = f"cat > '{tmp_path}/input'; exit 1"
    await grep(tree, TextQuery("login"), program=fake(tmp_path, script), timeout_s=5)
    assert (tmp_path / "input").read_bytes() == b""
    assert os.read(client_input, 100) == CLIENT_BYTES


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (TextQuery("login", literal=True), [("a.py", 1), ("a.py", 2), ("sub/b.ts", 1)]),
        (TextQuery("relogin", literal=True), [("a.py", 2)]),
        (TextQuery("elogin", literal=True), []),
        (TextQuery("elogin"), [("a.py", 2)]),
        (TextQuery("LOGIN", case_sensitive=False), [("a.py", 1), ("a.py", 2), ("sub/b.ts", 1)]),
        (TextQuery("login", file_type="ts"), [("sub/b.ts", 1)]),
        (TextQuery("login", path="sub"), [("sub/b.ts", 1)]),
        (TextQuery("login", path="sub/b.ts"), [("sub/b.ts", 1)]),
        (TextQuery("ログイン"), [("sub/b.ts", 1)]),
    ],
)
@pytest.mark.parametrize("kind", ["a repository", "a folder"])
async def test_plain_words_are_found_equally_with_and_without_ripgrep(
    tree: Path, question: TextQuery, expected: list[tuple[str, int]], kind: str
) -> None:
    if kind == "a repository":
        await anyio.run_process(["git", "init", "-q", str(tree)])
    else:
        (tree / ".git").mkdir()  # ripgrep reads .gitignore only in repositories
    with_it = await grep(tree, question)
    without = await grep(tree, question, program="/nowhere/rg")
    assert places(with_it) == places(without) == expected
    assert [m.spans for m in with_it.matches] == [m.spans for m in without.matches]
    for match in with_it.matches:
        assert all(match.content[start:end] == text for text, start, end in match.spans)


async def test_matches_beyond_the_limit_are_cut_without_ripgrep(tree: Path) -> None:
    answer = await grep(tree, TextQuery("login", max_results=2), program="/nowhere/rg")
    assert places(answer) == [("a.py", 1), ("a.py", 2)]
    assert answer.truncated


def test_ripgrep_beside_the_interpreter_is_preferred_to_path(tmp_path: Path) -> None:
    beside, on_path = tmp_path / "bin", tmp_path / "path"
    beside.mkdir()
    on_path.mkdir()
    assert find_ripgrep(beside, str(on_path)) == ""
    fake(on_path, "exit 1")
    assert find_ripgrep(beside, str(on_path)) == str(on_path / "rg")
    fake(beside, "exit 1")
    assert find_ripgrep(beside, str(on_path)) == str(beside / "rg")


async def test_a_match_that_is_not_in_the_file_is_dropped(tree: Path, tmp_path: Path) -> None:
    outside = EMIT.replace("def login():", "root:x:0:0:login")
    (tree.parent / "a.py").write_text("def login():\n", encoding="utf-8")
    moved = EMIT.replace('"line_number":1', '"line_number":70')
    for script in (
        outside,
        moved,
        EMIT.replace("a.py", "../a.py"),
        EMIT.replace("a.py", "gone.py"),
    ):
        answer = await grep(tree, TextQuery("login"), program=fake(tmp_path, f"{EMIT}; {script}"))
        assert places(answer) == [("a.py", 1)]
        assert answer.truncated
        assert "changed" in answer.note
        assert "root:x" not in str(answer)
