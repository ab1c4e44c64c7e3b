import hashlib
from pathlib import Path

import pytest

from code_intel.chunking import parse_file
from code_intel.chunking.imports import MAX_TARGETS
from code_intel.records import Symbol
from sections import read_sections

DECORATED = '''\
# Says who it is. And more.
@dataclass
class Service(Base):
    """Answers for users. Second sentence."""

    def login(
        self, user: str
    ) -> bool:
        """Log a user in

        with a token.
        """
        return True
'''

LOGIN = """\
/**
 * Logs in.
 *
 * @param id who
 */
export const login = async (id: Id): Promise<void> => { counter++ }
"""


def symbols(path: str, text: str) -> dict[str, Symbol]:
    parsed = parse_file(path, text)
    assert parsed.problem == ""
    return {symbol.qualified: symbol for symbol in parsed.symbols}


@pytest.mark.parametrize(
    ("path", "text", "kinds"),
    [
        ("a.py", "type Name = str\n", {"Name": "type"}),
        ("a.ts", "const lazy = import('./late')\nlet counter = 0\n",
         {"lazy": "constant", "counter": "variable"}),
        ("a.ts", "abstract class Shape { abstract area(): number }\n",
         {"Shape": "class", "Shape.area": "method"}),
        ("a.ts", "declare const version: string\n", {"version": "constant"}),
        ("a.js", "const helpers = { run() {} }\n",
         {"helpers": "constant", "helpers.run": "method"}),
        ("a.js", "class Queue { push = (x) => x }\n", {"Queue": "class", "Queue.push": "method"}),
        ("a.js", "exports.create = () => new Axios()\n", {"create": "function"}),
        ("a.go", "package p\nvar (\n\tcount int\n)\ntype ID = string\n",
         {"count": "variable", "ID": "type"}),
    ],
)  # fmt: skip
def test_less_common_declarations_are_symbols(path: str, text: str, kinds: dict[str, str]) -> None:
    assert {name: symbol.kind for name, symbol in symbols(path, text).items()} == kinds


@pytest.mark.parametrize(
    ("path", "text", "imports"),
    [
        ("a.ts", "const lazy = import('./late')\n", ("./late",)),
        (
            "a.py",
            "from . import a, b as c\nfrom ..p import (d,\n  e)\n",
            (".a", ".b", "..p.d", "..p.e"),
        ),
        ("a.py", "from s import *\nfrom __future__ import annotations\n", ("s",)),
        ("a.ts", "import x = require('./r')\nexport { a } from './f'\n", ("./r", "export:./f")),
        ("a.rs", "use a::{b::{c, d as e}, f::*, self};", ("a::b::c", "a::b::d", "a::f", "a")),
        (
            "a.rs",
            "pub use x::Y;\npub(crate) use m::{N, /* O, */ P};",
            ("export:x::Y", "export:m::N", "export:m::P"),
        ),
        (
            "a.rs",
            "mod w;\nmod tests { use super::*; use super::x; use super::super::y; }",
            ("w", "self", "self::x", "super::y"),
        ),
        (
            "a.scala",
            "import a.b.{C, D => E, _}\nimport p.q, r.s.*\n",
            ("a.b.C", "a.b.D", "a.b", "p.q", "r.s"),
        ),
        (
            "a.rb",
            "require 'json'\nrequire_relative 'x'\nrequire \"a/#{b}\"\nautoload :F, 'f'\n",
            ("json", "./x", "f"),
        ),
        (
            "a.php",
            "<?php\nuse A\\{B, C as D, function e};\nuse function X\\y;\n",
            ("A\\B", "A\\C", "A\\e", "X\\y"),
        ),
        (
            "a.php",
            "<?php\nrequire_once(dirname(__DIR__) . '/z.php'); include \"y.php\";\n",
            ("/z.php", "y.php"),
        ),
        ("a.c", '#include <stdio.h>\n#include "x/y.h"\n', ("<stdio.h>", "x/y.h")),
    ],
)
def test_imports_are_returned_as_written(path: str, text: str, imports: tuple[str, ...]) -> None:
    assert parse_file(path, text).imports == imports


@pytest.mark.parametrize(
    ("path", "text", "name", "signature", "doc"),
    [
        ("a.py", DECORATED, "Service", "class Service(Base)", "Answers for users."),
        ("a.py", DECORATED, "Service.login", "def login( self, user: str ) -> bool",
         "Log a user in"),
        ("a.py", "async def main(): ...\n", "main", "async def main()", ""),
        ("a.py", "LIMIT = 3\n", "LIMIT", "LIMIT = 3", ""),
        ("a.ts", LOGIN, "login",
         "export const login = async (id: Id): Promise<void> =>", "Logs in."),
        ("a.ts", "/** What a user is. @public */\nexport interface User { name(): string }\n",
         "User", "export interface User", "What a user is."),
        ("a.ts", "export default class Store<T> extends Base<T> {}\n",
         "Store", "export default class Store<T> extends Base<T>", ""),
        ("a.js", "Axios.prototype.request = function request(url) { return url }\n",
         "Axios.request", "Axios.prototype.request = function request(url)", ""),
        ("a.go", "package p\n// Handle a call.\nfunc (s *Server[T]) Handle(x int) error {}\n",
         "Server.Handle", "func (s *Server[T]) Handle(x int) error", "Handle a call."),
        ("a.go", "package p\n// Limit of tries.\nconst Limit = 3\n",
         "Limit", "const Limit = 3", "Limit of tries."),
    ],
)  # fmt: skip
def test_a_symbol_has_its_signature_and_first_sentence(
    path: str, text: str, name: str, signature: str, doc: str
) -> None:
    symbol = symbols(path, text)[name]
    assert (symbol.signature, symbol.doc) == (signature, doc)


def test_positions_count_characters_and_not_bytes() -> None:
    text = (
        "# 日本語のコメント 🎌\ndef ログイン(利用者):\n    return '𠮷野家'\n\ndef after():\n"
        "    pass\n"
    )
    found = symbols("a.py", text)
    assert list(found) == ["ログイン", "after"]
    assert found["ログイン"].signature == "def ログイン(利用者)"
    assert (found["after"].start_line, found["after"].end_line) == (5, 6)


def test_digest_depends_only_on_the_definition() -> None:
    text = "def f():\n    return 1\n"
    digest = symbols("a.py", text)["f"].digest
    assert digest == hashlib.sha256(b"def f():\n    return 1").hexdigest()[:16]
    assert symbols("b.py", "import os\n\n# new\n" + text + "x = 1\n")["f"].digest == digest
    assert symbols("a.py", text.replace("1", "2"))["f"].digest != digest


def test_symbols_around_a_syntax_error_are_found() -> None:
    parsed = parse_file("a.py", "def good():\n    pass\n\nprint 'old'\n\nclass Also:\n    pass\n")
    assert {symbol.name for symbol in parsed.symbols} >= {"good", "Also"}
    assert parsed.problem == ""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("deep.py", "x = [\n" + "[\n" * 20_000 + "]\n" * 20_000 + "]\n"),
        ("deep.js", "function f() {\n" * 5_000 + "}\n" * 5_000),
        ("wide.go", "package p\n" + "func F() int { return 1 }\n" * 5_000),
    ],
)
def test_deep_and_wide_files_are_parsed(path: str, text: str) -> None:
    parsed = parse_file(path, text)
    assert "".join(chunk.text for chunk in parsed.chunks) == text


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("app.min.js", "function f(){return 1};" * 400, "minified"),
        ("big.py", "x = 1\n" * 200_000, "longer than"),
        ("a.py", "<<< not > python ]]]", "grammar"),
    ],
)
def test_an_unparsable_file_is_chunked_by_lines(path: str, text: str, reason: str) -> None:
    parsed = parse_file(path, text)
    assert reason in parsed.problem
    assert parsed.symbols == ()
    assert "".join(chunk.text for chunk in parsed.chunks) == text


def test_very_long_imports_are_read_or_ignored() -> None:
    wide = f"use a::{{b{chr(10) * 50_000}as{chr(10) * 50_000}c, /* d */ e}};\n"
    deep = f"use {'a::{' * 500}b{'}' * 500};\n"
    assert parse_file("a.rs", wide).imports == ("a::b", "a::e")
    assert len(parse_file("a.rs", deep + "use z;\n").imports) <= 2
    assert parse_file("a.js", f"require('./{'a/' * 600}')\nrequire('./b')\n").imports == ("./b",)
    many = "from a import " + ", \\\n".join(f"b{n}" for n in range(5000))
    assert len(parse_file("a.py", many).imports) == MAX_TARGETS


RENAMED = dict(read_sections(Path(__file__).with_name("renamed.txt")))
"""Definitions of NAME, or of a member of NAME, by `title: path name new_name [member]`."""


@pytest.mark.parametrize("head", RENAMED)
def test_a_renamed_symbol_keeps_its_body(head: str) -> None:
    path, before, after, *member = head.partition(": ")[2].split()
    old, new = (
        symbols(path, RENAMED[head].replace("NAME", name))[".".join([name, *member])]
        for name in (before, after)
    )
    assert old.body == new.body != ""
    assert member or old.digest != new.digest


WRAPPER = (
    "def {name}(self, key, value, owner):\n    audit(owner, key)\n"
    "    return self.store.{name}(key, value)\n"
)
MEMBER = (
    "class {name}(Task):\n    def run(self, queue, owner):\n"
    "        return queue.jobs.{name}(owner, self.text)\n"
)


@pytest.mark.parametrize(
    ("text", "names"), [(WRAPPER, ("add", "remove")), (MEMBER, ("Export", "Import"))]
)
def test_wrappers_of_different_names_differ(text: str, names: tuple[str, str]) -> None:
    one, other = (symbols("a.py", text.format(name=name))[name].body for name in names)
    assert one
    assert other
    assert one != other


def test_a_class_and_an_interface_with_equal_members_have_different_bodies() -> None:
    fields = (
        "  name: string;\n  price: number;\n  tax: number;\n  stock: number;\n  until: Date;\n}\n"
    )
    kinds = [
        symbols("a.ts", f"{kind} Item {{\n{fields}")["Item"] for kind in ("interface", "class")
    ]
    assert kinds[0].body
    assert kinds[0].body != kinds[1].body


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    pass\n",
        "class F(Base):\n    pass\n",
        "def f(self):\n    return self._f\n",
        "F = 3\n",
    ],
)
def test_a_trivial_definition_has_no_body(text: str) -> None:
    assert [symbol.body for symbol in symbols("a.py", text).values()] == [""]
