"""Lines of files are found in what a tool of the client printed."""

import json

from hypothesis import given
from hypothesis import strategies as st

from code_intel.tools.context.prints import Passage
from code_intel.tools.hooks.shown_lines import passages_in, search_results_in

FILE = [
    "import os",
    "",
    "def login(user):",
    "    return user",
    "",
    "def logout(user):",
    "    return user",
]
FILES = {"a.py": FILE, "b.py": ["x = 1", "    return user"]}


def shown(output: str, *files: str) -> set[tuple[str, int]]:
    """Return the lines that a text shows of files."""
    return lines(passages_in(output, files or ("a.py",), FILES.__getitem__))


def lines(passages: list[Passage]) -> set[tuple[str, int]]:
    found = set()
    for passage in passages:
        for number, text in enumerate(passage.text.split("\n"), passage.first):
            assert FILES[passage.file][number - 1] == text
            found.add((passage.file, number))
    return found


def searched(output: str) -> set[tuple[str, int]]:
    return lines(
        search_results_in(output, lambda name: name if name in FILES else "", FILES.__getitem__)
    )


def test_plain_lines() -> None:
    assert shown("\n".join(FILE)) == {("a.py", n) for n in range(1, 8)}
    assert shown("def login(user):\n    return user\n\ndef logout(user):\n") == {
        ("a.py", n) for n in (3, 4, 5, 6)
    }
    assert shown("noise\ndef logout(user):\n    return user\nnoise") == {("a.py", 6), ("a.py", 7)}


def test_a_line_that_stands_in_many_files_shows_nothing() -> None:
    assert shown("    return user") == set()
    assert shown("\n\n\n\n") == set()


def test_numbered_lines() -> None:
    assert shown("     3\tdef login(user):\n     4\t    return user") == {("a.py", 3), ("a.py", 4)}
    assert shown("3:def login(user):\n5-\n7-    return user") == {("a.py", 3), ("a.py", 7)}
    assert shown("4:def login(user):\n90:x\n0:y") == set()


def test_lines_of_several_files() -> None:
    text = "x = 1\n    return user\nimport os\n\ndef login(user):"
    assert shown(text, "a.py", "b.py") >= {("b.py", 1), ("b.py", 2), ("a.py", 1), ("a.py", 3)}


def test_lines_of_a_search() -> None:
    text = "a.py:3:def login(user):\na.py-4-    return user\nc.py:1:x\na.py:9:x\nb.py:2:y"
    assert searched(text) == {("a.py", 3), ("a.py", 4)}
    assert searched("a.py:def login(user):\na.py:    return user\nb.py:    return user") == {
        ("a.py", 3),
        ("b.py", 2),
    }
    assert searched("Exit code 1\n::\n:1:x") == set()


def test_empty_lines_take_little_time() -> None:
    lines = ["", *["x = 1", ""] * 5000]
    output = "\n".join([""] * 20_000 + ["x = 1", ""] * 5000)
    found = passages_in(output, ["a.py"], lambda _: lines)
    assert {passage.file for passage in found} <= {"a.py"}


def test_name_of_a_file_may_contain_a_number() -> None:
    text = "a-1-b.py:3:def login(user):"
    found = search_results_in(text, lambda name: "a.py" * (name == "a-1-b.py"), lambda _: FILE)
    assert found == [Passage("a.py", 3, FILE[2])]


def test_cells_of_a_notebook() -> None:
    cells = {"cells": [{"cell_type": "code", "source": ["import os\n", "print(os.name)"]}]}
    raw = json.dumps(cells, indent=1).split("\n")
    (passage,) = passages_in("import os\nprint(os.name)", ["n.ipynb"], lambda _: raw)
    assert passage.text.split("\n") == raw[passage.first - 1 : passage.first + 1]
    assert "print" in passage.text


@given(st.lists(st.sampled_from([*FILE, "noise", "3:def login(user):"]), max_size=30))
def test_only_lines_of_the_file_are_found(output: list[str]) -> None:
    found = shown("\n".join(output))
    printed = {line.rstrip() for line in output} | {line.partition(":")[2] for line in output}
    assert all(FILE[number - 1] in printed for _, number in found)
