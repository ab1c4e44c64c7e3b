"""Test the parameters and exports that are read from syntax trees."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.chunking.languages import LANGUAGES, row_of
from code_intel.chunking.structure import ROUTINES, Structure, structure
from sections import read_sections

Parameters = dict[str, tuple[str, ...]]


def read_case(head: str, lines: str) -> tuple[str, tuple[str, Parameters, tuple[str, ...]]]:
    """Return the path of a section, and its code, parameters by function, and exports.

    The heading is `path -> exports`. Lines `--- function: first | second` follow the code.
    """
    path, _, exports = head.partition(" -> ")
    code, *functions = lines.split("--- ")
    parameters: Parameters = {}
    for function in functions:
        name, _, given = function.strip().partition(":")
        parameters[name] = tuple(given.strip().split(" | ")) if given else ()
    return path, (code, parameters, tuple(exports.split()))


SECTIONS = read_sections(Path(__file__).with_name("structure.txt"))
CASES = dict(read_case(*section) for section in SECTIONS)


def structure_of(path: str, text: str) -> tuple[Structure, dict[str, tuple[str, ...]]]:
    parsed = parse_file(path, text)
    found = structure(text, row_of(path), parsed.symbols, parsed.imports)
    routines = (symbol for symbol in parsed.symbols if symbol.kind in ROUTINES)
    return found, {symbol.qualified: found.of(symbol) for symbol in routines}


@pytest.mark.parametrize("path", CASES)
def test_parameters_and_exports(path: str) -> None:
    text, parameters, exports = CASES[path]
    found, parameters_by_name = structure_of(path, text)
    assert parameters_by_name == parameters
    assert found.exports == exports


@given(st.text(max_size=200), st.sampled_from(LANGUAGES))
def test_any_text_has_a_structure(text: str, row: object) -> None:
    language = next(each for each in LANGUAGES if each is row)
    path = language.files[0] if language.files[0][0] != "." else f"a{language.files[0]}"
    structure_of(path, text)


def test_a_file_of_thousands_of_functions_is_read() -> None:
    text = "".join(f"def function_{n}(first_{n}, second):\n    pass\n" for n in range(3000))
    _, parameters_by_name = structure_of("a.py", text)
    assert parameters_by_name["function_2999"] == ("first_2999", "second")
    assert len(parameters_by_name) == 3000
