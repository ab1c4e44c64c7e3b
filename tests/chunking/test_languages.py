"""Test each language with symbols on a sample, and laws of parsing on damaged samples."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking import language_of, parse_file
from code_intel.chunking.languages import LANGUAGES, Language, row_of_text
from code_intel.chunking.spans import MAX_CHARS
from code_intel.records import ParsedFile
from sampling import sampled

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SAMPLES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((HERE / "samples").iterdir())
    if path.suffix != ".tsv"
}
READ = tuple(row for row in LANGUAGES if row.grammar or row.reader)
NAMES = st.sampled_from(sorted(SAMPLES))
DATA = ("html", "css", "yaml", "toml", "json")


def table(name: str) -> dict[str, list[list[str]]]:
    """Return a table of expectations by sample; trailing empty cells may be left out."""
    rows: dict[str, list[list[str]]] = {}
    for line in (HERE / "samples" / name).read_text(encoding="utf-8").splitlines()[1:]:
        sample, *cells = line.split("\t")
        rows.setdefault(sample, []).append(cells)
    return rows


SYMBOLS = table("symbols.tsv")
IMPORTS = table("imports.tsv")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_defines_its_symbols(name: str) -> None:
    parsed = parse_file(name, SAMPLES[name])
    found = [
        f"{s.kind}\t{s.qualified}\t{s.start_line}-{s.end_line}\t{s.doc}".rstrip()
        for s in parsed.symbols
    ]
    assert parsed.problem == ""
    assert found == ["\t".join(cells) for cells in SYMBOLS[name]]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_has_its_imports(name: str) -> None:
    expected = IMPORTS[name][0][0].split(" ") if IMPORTS[name][0] else []
    assert list(parse_file(name, SAMPLES[name]).imports) == expected


def test_every_language_with_symbols_has_a_sample() -> None:
    assert {language_of(name) for name in SAMPLES} == {row.name for row in READ}


def check_laws(path: str, text: str, parsed: ParsedFile) -> None:
    lines = len(re.findall(r"\r\n|\r|\n", text)) + 1
    assert "".join(chunk.text for chunk in parsed.chunks) == text
    assert all(0 < len(chunk.text) <= MAX_CHARS for chunk in parsed.chunks)
    assert all(1 <= s.start_line <= s.end_line <= lines for s in parsed.symbols)
    assert all(s.name and s.qualified.endswith(s.name) for s in parsed.symbols)
    named = {name for chunk in parsed.chunks for name in chunk.symbols}
    assert named == {symbol.qualified for symbol in parsed.symbols}
    assert parsed == parse_file(path, text)


@given(NAMES, st.data())
@settings(deadline=None)
def test_a_damaged_sample_keeps_the_laws(name: str, data: st.DataObject) -> None:
    """Cut a sample, or remove, double or replace a piece: no parser fails."""
    text = SAMPLES[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 80)))
    noise = data.draw(
        st.one_of(
            st.just(""),
            st.just(text[start:end] * 2),
            st.text("(){}[]<>\"'`#$/*\\:;=\n\r\0設", max_size=12),
        )
    )
    kept = text[end:] if data.draw(st.booleans()) else ""
    damaged = text[:start] + noise + kept
    check_laws(name, damaged, parse_file(name, damaged))


@given(NAMES, st.text(max_size=200))
@settings(deadline=None)
def test_any_text_keeps_the_laws_in_any_language(name: str, text: str) -> None:
    check_laws(name, text, parse_file(name, text))


@pytest.mark.parametrize("name", SAMPLES)
def test_crlf_line_ends_do_not_change_symbols_and_imports(name: str) -> None:
    found = parse_file(name, SAMPLES[name])
    windows = parse_file(name, SAMPLES[name].replace("\n", "\r\n"))
    assert windows.symbols == found.symbols
    assert windows.imports == found.imports


HOSTILE_TEXTS = {
    "one line": "x" * 1_000_000,
    "minified": "f(a,b);" * 40_000,
    "NUL": "\0\n" * 5_000,
    "nested": "(\n" * 2_000 + ")\n" * 2_000,
    "never closed": "{[<\"'\n" * 1_000,
    "here documents": "<<A\n" * 300,
    "indented": "".join(" " * n + "a:\n" for n in range(400)),
}
HOSTILE_FILES = [(name, kind) for name in SAMPLES for kind in HOSTILE_TEXTS]


@pytest.mark.parametrize("hostile", sampled(HOSTILE_FILES, step=5))
def test_parsing_a_hostile_text_ends(hostile: tuple[str, str]) -> None:
    name, kind = hostile
    text = HOSTILE_TEXTS[kind]
    assert "".join(chunk.text for chunk in parse_file(name, text).chunks) == text


def run_python(program: str) -> list[str]:
    """Run a program in a new interpreter; return the lines that it prints."""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return run.stdout.splitlines()


def test_a_grammar_is_imported_when_a_file_of_its_language_is_parsed() -> None:
    program = (
        "import sys\n"
        "from code_intel.chunking import parse_file\n"
        "loaded = lambda: sorted(m for m in sys.modules if m.startswith('tree_sitter'))\n"
        "parse_file('a.txt', 'text'); parse_file('a.sql', 'CREATE TABLE a (b int);')\n"
        "print(loaded())\n"
        "parse_file('a.rs', 'fn a() {}')\n"
        "print([m for m in loaded() if m.startswith('tree_sitter_') and '.' not in m])\n"
    )
    assert run_python(program) == ["[]", "['tree_sitter_rust']"]


def test_every_grammar_works_with_the_network_unreachable() -> None:
    program = (
        "import socket, sys, warnings\n"
        "def refuse(*a, **k): raise OSError('no network')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "warnings.simplefilter('error')\n"
        "from code_intel.chunking.languages import LANGUAGES, grammar_of\n"
        "print(sum(1 for row in LANGUAGES if row.grammar and grammar_of(row)))\n"
    )
    assert run_python(program) == [str(sum(bool(row.grammar) for row in LANGUAGES))]


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a.h", "struct a { int x; };\n", "c"),
        ("a.h", "#pragma once\nnamespace a {\nclass B {\n};\n}\n", "cpp"),
        ("a.h", "template <typename T>\nT f(T);\n", "cpp"),
        ("a.h", "#import <Foundation/Foundation.h>\n@interface A\n@end\n", "objective-c"),
        ("bin/deploy", "#!/usr/bin/env bash\n", "bash"),
        ("bin/deploy", "#!/usr/bin/env -S python3 -u\n", "python"),
        ("bin/deploy", "#!/usr/local/bin/node\n", "javascript"),
        ("bin/deploy", "#!/usr/bin/ruby -w\n", "ruby"),
        ("bin/deploy", "#!/usr/bin/awk -f\n", "text"),
        ("deploy.py", "#!/bin/sh\n", "python"),
        ("deploy", "echo\n", "text"),
    ],
)
def test_the_text_may_determine_the_language(path: str, text: str, language: str) -> None:
    assert row_of_text(path, text).name == language
    assert parse_file(path, text).language == language


NAMES_BY_LANGUAGE = {
    "bash": ("a.zsh", "a.bats", ".bashrc"),
    "cmake": ("a\\b\\CMakeLists.txt",),
    "cpp": ("a.hpp", "a.cxx", "a.cc"),
    "dockerfile": ("Dockerfile",),
    "javascript": ("a.mjs", "a.cjs", "web/app.jsx"),
    "json": ("a.jsonc",),
    "json5": ("a.json5",),
    "jsonl": ("a.jsonl",),
    "kotlin": ("a.kts",),
    "make": ("Makefile",),
    "markdown": ("README.md",),
    "python": ("a.pyi", "src/a.PY"),
    "ruby": ("Gemfile",),
    "scss": ("a.scss", "a.less"),
    "text": ("x.unknown", "noextension", ""),
    "toml": ("Pipfile",),
    "tsx": ("a.test.tsx",),
    "typescript": ("a.mts", "a.cts", "a.d.ts"),
    "yaml": ("a.yml",),
}


@pytest.mark.parametrize("language", NAMES_BY_LANGUAGE)
def test_a_file_name_determines_the_language(language: str) -> None:
    assert {language_of(name) for name in NAMES_BY_LANGUAGE[language]} == {language}


def test_no_two_languages_claim_one_name() -> None:
    claimed = [file for row in LANGUAGES for file in row.files]
    assert len(claimed) == len(set(claimed))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "package-lock.json",
            '{"a": {\n' + "".join(f'"k{n}": {{}},\n' for n in range(500)) + '"z": {}}}',
        ),
        ("table.json", "{" + ",\n".join(f'"k{n}": {{"v": {n}}}' for n in range(500)) + "}"),
        ("table.yaml", "".join(f"k{n}:\n  v: {n}\n" for n in range(500))),
        ("table.toml", "".join(f"[k{n}]\nv = {n}\n" for n in range(500))),
        ("book.html", "".join(f'<p id="s{n}">x</p>\n' for n in range(2_000))),
    ],
)
def test_a_table_of_data_has_at_most_one_symbol(path: str, text: str) -> None:
    parsed = parse_file(path, text)
    assert len(parsed.symbols) <= 1
    assert parsed.problem == ""


@pytest.mark.parametrize("language", DATA)
def test_names_in_data_and_markup_are_not_identifiers(language: str) -> None:
    sample = next(name for name in SAMPLES if language_of(name) == language)
    names = {s.name for s in parse_file(sample, SAMPLES[sample]).symbols if s.kind != "function"}
    assert names
    assert not any(name.isidentifier() for name in names)


@pytest.mark.parametrize("path", ["a.json", "a.yaml", "a.html", "a.css", "a.toml"])
@pytest.mark.parametrize("text", ["{{ template }} % ] : [", "]" * 40, "x" * 5_000])
def test_broken_data_is_not_reported_as_a_problem(path: str, text: str) -> None:
    assert parse_file(path, text).problem == ""


def test_symbols_are_complete_in_languages_of_code_only() -> None:
    complete = {row.name for row in LANGUAGES if row.complete}
    assert complete == {row.name for row in READ} - set(DATA)


def test_a_declaration_is_a_symbol_unless_the_file_defines_it() -> None:
    header = parse_file("a.h", "int f(int);\nint g(int);\n")
    source = parse_file("a.c", "int f(int);\nint g(int);\nint f(int a) { return a; }\n")
    assert [(s.qualified, s.start_line) for s in header.symbols] == [("f", 1), ("g", 2)]
    assert [(s.qualified, s.start_line) for s in source.symbols] == [("g", 2), ("f", 3)]


def cells(row: Language) -> list[str]:
    """Return the first cells of the row of a language in docs/languages.md."""
    kinds = {
        c[0] for name, symbols in SYMBOLS.items() if language_of(name) == row.name for c in symbols
    }
    package = row.grammar.partition(":")[0].replace("_", "-")
    return [row.name, " ".join(row.files), ", ".join(sorted(kinds)), package or row.reader]


def test_languages_page_matches_the_table() -> None:
    page = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| ")
    ]
    documented = {row[0]: row[:4] for row in rows if len(row) > 4}
    assert {name: row for name, row in documented.items() if name != "language"} == {
        row.name: cells(row) for row in READ
    }
    by_lines = {row.name for row in LANGUAGES} - {row.name for row in READ} - {"markdown"}
    assert {name for name in by_lines if f"{name} (" not in page} == set()
