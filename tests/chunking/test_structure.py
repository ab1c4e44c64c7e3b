"""Test the parameters and exports that are read from syntax trees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.chunking.languages import LANGUAGES, row_of
from code_intel.chunking.structure import ROUTINES, Structure, structure

PYTHON = (
    "__all__ = ['f', '種類']\n# 日本語の説明\n"
    "def f(a, /, 数: int = 3, *args, c=lambda x: x, **kw):\n    pass\n"
    "@deco(lambda q: q)\nclass 種類:\n    async def n(self,\n        y, # note\n        z): pass\n"
)
SCRIPT = (
    "export function f(a, {b}, ...c) {}\nexport default class X { m(q) {} }\n"
    "export const g = x => x;\n"
    "const h = (p, q) => 1;\nexport { h, g as gg };\nexport * from './z';\nexports.bar = 1;\n"
)
CASES: dict[str, tuple[str, dict[str, tuple[str, ...]], tuple[str, ...]]] = {
    "a.py": (
        PYTHON,
        {
            "f": ("a", "/", "数: int = 3", "*args", "c=lambda x: x", "**kw"),
            "種類.n": ("self", "y", "z"),
        },
        ("f", "種類"),
    ),
    "a.js": (
        SCRIPT,
        {"f": ("a", "{b}", "...c"), "X.m": ("q",), "g": ("x",), "h": ("p", "q")},
        ("f", "default", "X", "g", "h", "gg", "bar", "./z"),
    ),
    "a.ts": (
        (
            "export interface I { m(a: string): void }\n"
            "export function f<T>(a: T, b?: number): T { return a }\n"
        ),
        {"I.m": ("a: string",), "f": ("a: T", "b?: number")},
        ("I", "f"),
    ),
    "a.vue": ("<p>日本</p>\n<script>\nexport function f(a) {}\n</script>\n", {"f": ("a",)}, ("f",)),
    "a.go": (
        "package p\nfunc (s *S) Get(id int, n, m string) (T, error) {\n return }\nfunc low() {}\n",
        {"S.Get": ("id int", "n, m string"), "low": ()},
        ("S.Get",),
    ),
    "a.rs": (
        "pub fn f(&self, a: u8) -> u8 { 1 }\nfn g() {}\n",
        {"f": ("&self", "a: u8"), "g": ()},
        ("f",),
    ),
    "a.c": (
        "int add(int a, char *b) { return 1; }\nstatic char *g(void) { return 0; }\n",
        {"add": ("int a", "char *b"), "g": ()},
        (),
    ),
    "a.cc": (
        "int A::add(int a, const B& b) { return 1; }\n",
        {"A.add": ("int a", "const B& b")},
        (),
    ),
    "A.java": (
        (
            "public class A { @Override\n public int m(String s, int... b) { return 1; } "
            "private void q() {} }\n"
        ),
        {"A.m": ("String s", "int... b"), "A.q": ()},
        ("A", "A.m"),
    ),
    "a.kt": (
        "class A { fun m(s: String, b: Int = 3): Int { return 1 } }\n",
        {"A.m": ("s: String", "b: Int")},
        (),
    ),
    "a.swift": (
        "class A { func m(_ s: String, b: Int = 3) -> Int { return 1 } }\n",
        {"A.m": ("_ s: String", "b: Int")},
        (),
    ),
    "a.scala": (
        "object A { def m(s: String)(b: Int): Int = 1 }\n",
        {"A.m": ("s: String", "b: Int")},
        (),
    ),
    "a.cs": (
        "public class A { public int M(string s, int b = 3) { return 1; } }\n",
        {"A.M": ("string s", "int b = 3")},
        ("A", "A.M"),
    ),
    "a.rb": (
        "class A\n def m(s, b: 3, *c)\n end\n def n s\n end\nend\n",
        {"A.m": ("s", "b: 3", "*c"), "A.n": ("s",)},
        (),
    ),
    "a.php": ("<?php\nfunction f($a, int $b = 3) {}\n", {"f": ("$a", "int $b = 3")}, ()),
    "a.lua": ("function M.f(a, b) end\n", {"M.f": ("a", "b")}, ()),
    "a.sh": ("f() { echo; }\n", {"f": ()}, ()),
}


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
