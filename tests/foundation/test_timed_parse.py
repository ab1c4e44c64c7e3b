"""Test that what was parsed is released, and that trees are right."""

import gc
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from sys import getrefcount

from code_intel.chunking import parse_file
from code_intel.chunking.languages import grammar_of, row_of
from code_intel.foundation.timed_parse import PIECE_BYTES, parse_within
from code_intel.tools.hooks.shell_commands import read_command

PYTHON = "def greet(name):\n    return name + 'ä'\n\n"
COMMENT = f"# {'x' * 78}\n"
LONG = PYTHON + COMMENT * (PIECE_BYTES // 40)
STEPS = 4


def growth_of(action: Callable[[], object]) -> int:
    """Return the bytes that each call of an action adds to Python's memory."""
    action()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(STEPS):
            action()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] // STEPS
    finally:
        tracemalloc.stop()


def test_a_file_is_released_after_it_was_parsed() -> None:
    """The library keeps a reference to each piece."""
    text = PYTHON + COMMENT * 100
    assert growth_of(lambda: parse_file("a.py", text)) < len(text) / 2


def test_a_file_of_many_pieces_is_released_after_it_was_parsed() -> None:
    """The library keeps a reference to each piece."""
    from tree_sitter import Parser

    parser, text = Parser(grammar_of(row_of("a.py"))[0]), LONG.encode()
    assert growth_of(lambda: parse_within(60, parser, text)) < len(text) / 4


def test_a_command_is_released_after_it_was_parsed() -> None:
    """The library keeps a reference to each piece."""
    command = "cat a.py #" + "x" * 50_000
    assert growth_of(lambda: read_command(command, "/p")) < len(command) / 4


def test_the_parser_keeps_no_reference_to_a_text() -> None:
    """A short text is its own first piece."""
    from tree_sitter import Parser

    parser, text = Parser(grammar_of(row_of("a.py"))[0]), (PYTHON * 10).encode()
    before = getrefcount(text)
    for _ in range(10):
        parse_within(60, parser, text)
    assert getrefcount(text) == before


def test_pieces_make_the_tree_of_the_whole_text() -> None:
    """A character may be cut in two at the end of a piece."""
    from tree_sitter import Parser

    parser, text = Parser(grammar_of(row_of("a.py"))[0]), LONG.encode()
    whole = parser.parse(text).root_node
    root = parse_within(60, parser, text).root_node
    assert str(root) == str(whole)
    last = root.children[-1]
    assert last.text == text[last.start_byte : last.end_byte]


def test_texts_that_are_parsed_at_the_same_time_do_not_mix() -> None:
    """Each has its own buffer."""
    texts = [f"def name{n}():\n    return {n}\n" * (5 + 20 * (n % 7)) for n in range(30)]
    expected = [parse_file("a.py", text) for text in texts]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda text: parse_file("a.py", text), texts)) == expected
