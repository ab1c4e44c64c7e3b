import hashlib

import pytest

from code_intel.chunking import parse_file
from code_intel.chunking.imports import MAX_TARGETS
from code_intel.records import Symbol

PYTHON = '''\
"""Tokens and sessions.

More of it.
"""
import os.path
import json as j
from . import near
from .auth.service import login

LIMIT = 3
cache: dict[str, int] = {}
type Name = str


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
        def check():
            return True
        return check()


async def main(): ...
'''

TYPESCRIPT = """\
import { a } from './auth/service'
import type { B } from "types"
export * from '../again'
const lazy = import('./late')

/** What a user is. @public */
export interface User { name(): string }
export type Id = string | number
export enum Colour { Red }
export const LIMIT = 3
let counter = 0
/**
 * Logs in.
 *
 * @param id who
 */
export const login = async (id: Id): Promise<void> => { counter++ }
export default class Store<T> extends Base<T> {
  private handle = (x: number) => x
  #secret() { return 1 }
  get size(): number { return 0 }
}
abstract class Shape { abstract area(): number }
export function over(a: string): void
export function over(a: any) {}
namespace Inner { export function deep() {} }
declare const version: string
"""

JAVASCRIPT = """\
'use strict'
const fs = require('fs')
var old = require("./old")
function Axios(config) {}
Axios.prototype.request = function request(url) { return url }
exports.create = () => new Axios()
const helpers = { run() {} }
class Queue { push = (x) => x }
function* walk() {}
"""

GO = """\
package auth

import (
\t"fmt"
\tj "encoding/json"
)

// Limit of tries.
const Limit = 3

var (
\tcount int
)

// Server answers. It never sleeps.
type Server[T any] struct{ n int }
type Reader interface{ Read() }
type ID = string

// Handle a call.
func (s *Server[T]) Handle(x int) error { return nil }

func main() {}
"""


def symbols(path: str, text: str) -> dict[str, Symbol]:
    parsed = parse_file(path, text)
    assert parsed.problem == ""
    return {symbol.qualified: symbol for symbol in parsed.symbols}


@pytest.mark.parametrize(
    ("path", "text", "kinds"),
    [
        (
            "a.py",
            PYTHON,
            {
                "LIMIT": "constant",
                "cache": "variable",
                "Name": "type",
                "Service": "class",
                "Service.login": "method",
                "Service.login.check": "function",
                "main": "function",
            },
        ),
        (
            "a.ts",
            TYPESCRIPT,
            {
                "lazy": "constant",
                "User": "interface",
                "User.name": "method",
                "Id": "type",
                "Colour": "enum",
                "LIMIT": "constant",
                "counter": "variable",
                "login": "function",
                "Store": "class",
                "Store.handle": "method",
                "Store.secret": "method",
                "Store.size": "method",
                "Shape": "class",
                "Shape.area": "method",
                "over": "function",
                "Inner.deep": "function",
                "version": "constant",
            },
        ),
        (
            "a.js",
            JAVASCRIPT,
            {
                "Axios": "function",
                "Axios.request": "method",
                "create": "function",
                "helpers": "constant",
                "helpers.run": "method",
                "Queue": "class",
                "Queue.push": "method",
                "walk": "function",
            },
        ),
        (
            "a.go",
            GO,
            {
                "Limit": "constant",
                "count": "variable",
                "Server": "class",
                "Reader": "interface",
                "ID": "type",
                "Server.Handle": "method",
                "main": "function",
            },
        ),
    ],
)
def test_a_file_defines_what_a_reader_would_say(
    path: str, text: str, kinds: dict[str, str]
) -> None:
    assert {name: symbol.kind for name, symbol in symbols(path, text).items()} == kinds


@pytest.mark.parametrize(
    ("path", "text", "imports"),
    [
        ("a.py", PYTHON, ("os.path", "json", ".near", ".auth.service.login")),
        ("a.ts", TYPESCRIPT, ("./auth/service", "types", "export:../again", "./late")),
        ("a.js", JAVASCRIPT, ("fs", "./old")),
        ("a.go", GO, ("fmt", "encoding/json")),
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
def test_imports_are_the_targets_as_written(path: str, text: str, imports: tuple[str, ...]) -> None:
    assert parse_file(path, text).imports == imports


@pytest.mark.parametrize(
    ("path", "text", "name", "signature", "doc"),
    [
        ("a.py", PYTHON, "Service", "class Service(Base)", "Answers for users."),
        (
            "a.py",
            PYTHON,
            "Service.login",
            "def login( self, user: str ) -> bool",
            "Log a user in",
        ),
        ("a.py", PYTHON, "main", "async def main()", ""),
        ("a.py", PYTHON, "LIMIT", "LIMIT = 3", ""),
        (
            "a.ts",
            TYPESCRIPT,
            "login",
            "export const login = async (id: Id): Promise<void> =>",
            "Logs in.",
        ),
        ("a.ts", TYPESCRIPT, "User", "export interface User", "What a user is."),
        ("a.ts", TYPESCRIPT, "Store", "export default class Store<T> extends Base<T>", ""),
        (
            "a.js",
            JAVASCRIPT,
            "Axios.request",
            "Axios.prototype.request = function request(url)",
            "",
        ),
        (
            "a.go",
            GO,
            "Server.Handle",
            "func (s *Server[T]) Handle(x int) error",
            "Handle a call.",
        ),
        ("a.go", GO, "Limit", "const Limit = 3", "Limit of tries."),
    ],
)
def test_a_symbol_has_its_signature_and_first_sentence(
    path: str, text: str, name: str, signature: str, doc: str
) -> None:
    symbol = symbols(path, text)[name]
    assert (symbol.signature, symbol.doc) == (signature, doc)


def test_lines_leave_out_decorators_and_comments() -> None:
    found = symbols("a.py", PYTHON)
    lines = PYTHON.splitlines()
    assert lines[found["Service"].start_line - 1] == "class Service(Base):"
    assert lines[found["Service"].end_line - 1].strip() == "return check()"


def test_bytes_are_not_mistaken_for_characters() -> None:
    text = (
        "# 日本語のコメント 🎌\ndef ログイン(利用者):\n    return '𠮷野家'\n\ndef after():\n"
        "    pass\n"
    )
    found = symbols("a.py", text)
    assert list(found) == ["ログイン", "after"]
    assert found["ログイン"].signature == "def ログイン(利用者)"
    assert (found["after"].start_line, found["after"].end_line) == (5, 6)


def test_the_digest_is_of_the_definition_alone() -> None:
    text = "def f():\n    return 1\n"
    digest = symbols("a.py", text)["f"].digest
    assert digest == hashlib.sha256(b"def f():\n    return 1").hexdigest()[:16]
    assert symbols("b.py", "import os\n\n# new\n" + text + "x = 1\n")["f"].digest == digest
    assert symbols("a.py", text.replace("1", "2"))["f"].digest != digest


def test_line_ends_that_git_converts_do_not_change_the_digest() -> None:
    text = "def f():\n    return 1\n"
    windows = symbols("a.py", text.replace("\n", "\r\n"))["f"]
    assert windows == symbols("a.py", text)["f"]


def test_a_syntax_error_costs_its_own_place_and_not_the_file() -> None:
    parsed = parse_file("a.py", "def good():\n    pass\n\nprint 'old'\n\nclass Also:\n    pass\n")
    assert {symbol.name for symbol in parsed.symbols} >= {"good", "Also"}
    assert parsed.problem == ""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("deep.py", "x = [\n" + "[\n" * 50_000 + "]\n" * 50_000 + "]\n"),
        ("deep.js", "function f() {\n" * 5_000 + "}\n" * 5_000),
        ("wide.go", "package p\n" + "func F() int { return 1 }\n" * 5_000),
    ],
)
def test_deep_and_wide_files_are_parsed_without_trouble(path: str, text: str) -> None:
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
def test_what_cannot_be_parsed_gets_lines_and_a_reason(path: str, text: str, reason: str) -> None:
    parsed = parse_file(path, text)
    assert reason in parsed.problem
    assert parsed.symbols == ()
    assert "".join(chunk.text for chunk in parsed.chunks) == text


def test_an_import_of_any_length_is_read_in_the_time_of_its_length() -> None:
    wide = f"use a::{{b{chr(10) * 50_000}as{chr(10) * 50_000}c, /* d */ e}};\n"
    deep = f"use {'a::{' * 500}b{'}' * 500};\n"
    assert parse_file("a.rs", wide).imports == ("a::b", "a::e")
    assert len(parse_file("a.rs", deep + "use z;\n").imports) <= 2
    assert parse_file("a.js", f"require('./{'a/' * 600}')\nrequire('./b')\n").imports == ("./b",)
    many = "from a import " + ", \\\n".join(f"b{n}" for n in range(5000))
    assert len(parse_file("a.py", many).imports) == MAX_TARGETS


BODY = """
def {name}(user, password):
    account = accounts.find(user)
    if account is None or not matches(password, account.hash):
        raise Refused(user)
    return sessions.open(account)
"""
RENAMED = {
    "a function": ("a.py", BODY, "login", "sign_in"),
    "a class with its constructor": (
        "A.java",
        (
            "class {name} {{\n  private final Store store;\n"
            "  {name}(Store store) {{ this.store = store; }}\n"
            "  int size() {{ return store.all().size(); }}\n}}\n"
        ),
        "Cart",
        "Basket",
    ),
    "a class with its destructor": (
        "a.cpp",
        (
            "class {name} {{\npublic:\n  {name}(int size) : buffer(new char[size]) {{}}\n"
            "  ~{name}() {{ delete[] buffer; }}\nprivate:\n  char *buffer;\n}};\n"
        ),
        "Buffer",
        "Block",
    ),
    "a class that speaks of itself": (
        "a.py",
        (
            "class {name}:\n    @classmethod\n    def of(cls, path: str) -> '{name}':\n"
            "        return {name}(open(path).read().split())\n"
        ),
        "Words",
        "Tokens",
    ),
    "a function of Go": (
        "a.go",
        (
            "package a\n\nfunc {name}(user string, key []byte) (string, error) {{\n"
            "\thash := sign(user, key)\n\treturn encode(hash), nil\n}}\n"
        ),
        "Token",
        "Ticket",
    ),
    "an arrow function": (
        "a.ts",
        (
            "export const {name} = (items: Item[], rate: number): number => {{\n"
            "  const sum = items.reduce((all, item) => all + item.price, 0);\n"
            "  return sum * rate;\n}};\n"
        ),
        "total",
        "grandTotal",
    ),
    "a procedure": (
        "a.sql",
        (
            "CREATE PROCEDURE {name}(IN customer INT)\nBEGIN\n  UPDATE orders SET state = 'closed'"
            " WHERE customer_id = customer AND paid = 1;\nEND;\n"
        ),
        "close_orders",
        "finish_orders",
    ),
}


@pytest.mark.parametrize(("path", "text", "before", "after"), RENAMED.values(), ids=RENAMED)
def test_a_renamed_symbol_keeps_its_body_and_no_other_name_does(
    path: str, text: str, before: str, after: str
) -> None:
    old = symbols(path, text.format(name=before))[before]
    new = symbols(path, text.format(name=after))[after]
    assert old.body == new.body != ""
    assert old.digest != new.digest


def test_a_method_keeps_its_body_when_its_class_is_renamed() -> None:
    go = (
        "package a\n\nfunc (s *{name}) Save(key string, data []byte) error {{\n"
        "\treturn s.disk.Write(key, data)\n}}\n"
    )
    old = symbols("a.go", go.format(name="Store"))["Store.Save"]
    assert (
        old.body
        == symbols("a.go", go.format(name="CorpusService"))["CorpusService.Save"].body
        != ""
    )
    inner = BODY.replace("\n", "\n    ")
    found = [
        symbols("a.py", f"class {name}:{inner.format(name='login')}\n") for name in ("Auth", "Door")
    ]
    assert found[0]["Auth.login"].body == found[1]["Door.login"].body != ""


def test_wrappers_named_after_what_they_wrap_stay_apart() -> None:
    text = (
        "def {name}(self, key, value, owner):\n    audit(owner, key)\n"
        "    return self.store.{name}(key, value)\n"
    )
    add, remove = (symbols("a.py", text.format(name=name))[name] for name in ("add", "remove"))
    assert add.body
    assert remove.body
    assert add.body != remove.body


def test_types_named_after_a_member_of_something_else_stay_apart() -> None:
    text = (
        "class {name}(Task):\n    def run(self, queue, owner):\n"
        "        return queue.jobs.{name}(owner, self.text)\n"
    )
    one, other = (symbols("a.py", text.format(name=name))[name] for name in ("Export", "Import"))
    assert one.body
    assert other.body
    assert one.body != other.body


def test_equal_texts_of_two_kinds_have_two_bodies() -> None:
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
def test_a_trivial_definition_has_no_body_to_be_known_by(text: str) -> None:
    assert [symbol.body for symbol in symbols("a.py", text).values()] == [""]
