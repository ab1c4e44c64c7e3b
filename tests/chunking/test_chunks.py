import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.chunking.card import MAX_CARD_TOKENS
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
@settings(deadline=None)  # the first file of a language loads its grammar
def test_any_text_keeps_the_laws_of_chunks(path: str, text: str) -> None:
    """`test_languages.py` has the laws that are the same in all languages."""
    parsed = parse_file(path, text)
    ends = [match.end() for match in re.finditer(r"\r\n|\r|\n", text)]
    offset = 0
    for position, chunk in enumerate(parsed.chunks):
        assert chunk.position == position
        assert chunk.start_line == 1 + sum(end <= offset for end in ends)
        offset += len(chunk.text)
        assert chunk.end_line == 1 + sum(end < offset for end in ends)
        assert len(chunk.card) <= 4 * 2 * MAX_CARD_TOKENS
        assert len(chunk.card.split()) <= MAX_CARD_TOKENS
    for symbol in parsed.symbols:
        assert any(
            chunk.start_line <= symbol.start_line <= chunk.end_line
            for chunk in parsed.chunks
            if symbol.qualified in chunk.symbols
        )


def source(functions: int, lines: int) -> str:
    body = "\n".join(f"    x = {i}" for i in range(lines - 3))
    return "".join(f"def f{n}():\n{body}\n\n\n" for n in range(functions))


def spans(text: str) -> list[tuple[int, int]]:
    return [(chunk.start_line, chunk.end_line) for chunk in parse_file("a.py", text).chunks]


def test_a_function_of_medium_size_is_a_chunk() -> None:
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


def test_a_card_has_path_signature_and_documentation() -> None:
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


def test_the_card_of_a_later_chunk_names_its_function() -> None:
    text = "def build_everything():\n" + "    step = run(step)\n" * 100
    first, second = parse_file("a.py", text).chunks
    assert first.symbols == ("build_everything",)
    assert second.symbols == ()
    assert "build everything" in second.card


def test_a_card_depends_only_on_its_chunk_and_path() -> None:
    before = parse_file("a.py", source(3, 20)).chunks
    after = parse_file("a.py", source(5, 20)).chunks
    assert [c.card for c in before] == [c.card for c in after[:3]]
    assert all(one.card != other.card for one, other in pairwise(before))
