import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking import language_of, parse_file
from code_intel.chunking.card import MAX_CARD_TOKENS
from code_intel.chunking.languages import LANGUAGES
from code_intel.chunking.spans import MAX_CHARS
from code_intel.chunking.splitting import MAX_CHUNK_LINES, WINDOW_LINES

PATHS = st.sampled_from(
    ["a.py", "b.ts", "c.tsx", "d.jsx", "e.go", "f.rs", "h.zig", "g.unknown", "Makefile"]
)
PIECES = st.sampled_from(
    [
        "def f(x):\n",
        "class A:\n",
        "    return '設定 🎌'\n",
        "function g() {",
        "}\n",
        "export const h = (",
        "=> {\r\n",
        "func (s *S) M() {\n",
        "type T struct {\n",
        "interface I {\r",
        "\n\n",
        "'''",
        '"',
        "/* ",
        " */",
        "# ",
        "//x\n",
        "\f",
        "\u2028",
        "\u0085",
        "\ud800",
        "\0",
        "import x from './y'\n",
        "@d\n",
        "\t",
        ")",
        "require(",
        "import (",
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join))


@given(PATHS, TEXTS)
@settings(deadline=None)  # the first of a language loads its grammar
def test_chunks_of_code_rejoin_to_the_text_whatever_it_is(path: str, text: str) -> None:
    parsed = parse_file(path, text)
    assert "".join(chunk.text for chunk in parsed.chunks) == text
    assert [chunk.position for chunk in parsed.chunks] == list(range(len(parsed.chunks)))
    assert all(0 < len(chunk.text) <= MAX_CHARS for chunk in parsed.chunks)


@given(PATHS, TEXTS)
@settings(deadline=None)  # the first of a language loads its grammar
def test_line_numbers_are_those_of_an_editor(path: str, text: str) -> None:
    parsed = parse_file(path, text)
    ends = [match.end() for match in re.finditer(r"\r\n|\r|\n", text)]
    offset = 0
    for chunk in parsed.chunks:
        assert chunk.start_line == 1 + sum(end <= offset for end in ends)
        offset += len(chunk.text)
        assert chunk.end_line == 1 + sum(end < offset for end in ends)


@given(PATHS, TEXTS)
@settings(deadline=None)  # the first of a language loads its grammar
def test_every_symbol_begins_in_one_chunk_that_names_it(path: str, text: str) -> None:
    parsed = parse_file(path, text)
    named = [name for chunk in parsed.chunks for name in chunk.symbols]
    assert set(named) == {symbol.qualified for symbol in parsed.symbols}
    for symbol in parsed.symbols:
        assert any(
            chunk.start_line <= symbol.start_line <= chunk.end_line
            for chunk in parsed.chunks
            if symbol.qualified in chunk.symbols
        )
        assert 1 <= symbol.start_line <= symbol.end_line


@given(PATHS, TEXTS)
@settings(deadline=None)  # the first of a language loads its grammar
def test_parsing_is_a_function_of_path_and_text(path: str, text: str) -> None:
    assert parse_file(path, text) == parse_file(path, text)


def source(functions: int, lines: int) -> str:
    body = "\n".join(f"    x = {i}" for i in range(lines - 3))
    return "".join(f"def f{n}():\n{body}\n\n\n" for n in range(functions))


def spans(text: str) -> list[tuple[int, int]]:
    return [(chunk.start_line, chunk.end_line) for chunk in parse_file("a.py", text).chunks]


def test_a_function_of_some_size_is_a_chunk() -> None:
    assert spans(source(3, 20)) == [(1, 20), (21, 40), (41, 60)]


def test_small_neighbours_share_a_chunk() -> None:
    assert spans(source(12, 5)) == [(1, 40), (41, 60)]


def test_a_long_function_is_cut_at_a_blank_line() -> None:
    lines = ["def f():", *["    x = 1"] * 150]
    lines[50] = ""
    assert spans("\n".join(lines)) == [(1, 51), (52, 121), (122, 151)]
    assert all(last - first < MAX_CHUNK_LINES for first, last in spans("\n".join(lines)))


def test_a_long_class_is_cut_at_its_methods() -> None:
    method = "    def m{n}(self):\n" + "        x = 1\n" * 28 + "\n"
    text = "class A:\n\n" + "".join(method.format(n=n) for n in range(4))
    chunks = parse_file("a.py", text).chunks
    assert [chunk.symbols for chunk in chunks] == [("A", "A.m0"), ("A.m1",), ("A.m2",), ("A.m3",)]


def test_comments_and_decorators_stay_with_their_definition() -> None:
    text = source(1, 20) + "# About g.\n@cached\n" + source(1, 20).replace("f0", "g")
    assert parse_file("a.py", text).chunks[1].text.startswith("# About g.\n@cached\ndef g")


def test_text_without_a_grammar_is_cut_into_windows() -> None:
    text = "line\n" * (2 * WINDOW_LINES + 1)
    chunks = parse_file("a.zig", text).chunks
    assert [(c.start_line, c.end_line) for c in chunks] == [(1, 50), (51, 100), (101, 101)]


def test_a_line_too_long_for_a_chunk_is_cut() -> None:
    text = "x" * (2 * MAX_CHARS + 5)
    chunks = parse_file("a.txt", text).chunks
    assert [len(chunk.text) for chunk in chunks] == [MAX_CHARS, MAX_CHARS, 5]
    assert {(chunk.start_line, chunk.end_line) for chunk in chunks} == {(1, 1)}


def test_an_empty_file_has_no_chunks() -> None:
    assert parse_file("a.py", "").chunks == ()


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.PY", "python"),
        ("a.d.ts", "typescript"),
        ("a.test.tsx", "tsx"),
        ("web/app.jsx", "javascript"),
        ("Dockerfile", "dockerfile"),
        ("a\\b\\CMakeLists.txt", "cmake"),
        (".bashrc", "bash"),
        ("README.md", "markdown"),
        ("x.unknown", "text"),
        ("noextension", "text"),
        ("", "text"),
    ],
)
def test_a_name_says_the_language(path: str, language: str) -> None:
    assert language_of(path) == language


def test_no_two_languages_claim_one_name() -> None:
    claimed = [file for row in LANGUAGES for file in row.files]
    assert len(claimed) == len(set(claimed))


def test_a_card_says_where_what_and_how() -> None:
    text = (
        "def read_settings(path):\n"
        '    """Read the settings. Never fails."""\n'
        "    loaded_file = load_toml(path)\n    return check_values(loaded_file)\n"
    )
    card = parse_file("pkg/config/user_settings.py", text).chunks[0].card
    assert card.startswith("pkg config user settings. read settings. ")
    assert "def read_settings(path)" in card
    assert "Read the settings." in card
    assert "Never fails" not in card
    assert "loaded file" in card


def test_a_chunk_inside_a_long_function_is_carded_under_its_name() -> None:
    text = "def build_everything():\n" + "    step = run(step)\n" * 100
    first, second = parse_file("a.py", text).chunks
    assert first.symbols == ("build_everything",)
    assert second.symbols == ()
    assert "build everything" in second.card


@given(PATHS, TEXTS)
@settings(deadline=None)  # the first of a language loads its grammar
def test_a_card_is_short(path: str, text: str) -> None:
    for chunk in parse_file(path, text).chunks:
        assert len(chunk.card) <= 4 * 2 * MAX_CARD_TOKENS
        assert len(chunk.card.split()) <= MAX_CARD_TOKENS


def test_a_card_depends_on_its_own_chunk_and_path() -> None:
    before = parse_file("a.py", source(3, 20)).chunks
    after = parse_file("a.py", source(5, 20)).chunks
    assert [c.card for c in before] == [c.card for c in after[:3]]
    assert all(one.card != other.card for one, other in pairwise(before))
