# ruff: noqa: E501 - short sources in one line each
"""Source files of the languages that are parsed."""

from collections.abc import Callable, Mapping
from pathlib import Path

from code_intel.chunking import parse_file
from fuzzing.engine import Target
from fuzzing.map_files import text_of

SOURCES: Mapping[str, str] = {
    "a.py": "import os\nfrom a.b import c\n\n\nclass A(B):\n    '''Doc.'''\n\n    def f(self, x=1):\n"
    "        return f'{x}'\n\n\n@dec\nasync def g(): ...\n",
    "a.ts": "import {a} from './b';\nexport class A<T> extends B {\n  f(x: number): T { return x }\n}\n"
    "export const g = async (a) => `x${a}`;\n",
    "a.tsx": "export const A = () => <div a={1}>x</div>;\n",
    "a.js": "const b = require('c');\nfunction f(a) { return a }\nmodule.exports = {f};\n",
    "a.go": 'package a\n\nimport "fmt"\n\n// F does.\nfunc (t *T) F(x int) error { return nil }\n',
    "a.rs": "use a::b;\n/// Doc.\npub struct S<'a> { x: &'a str }\nimpl S { fn f(&self) {} }\n",
    "a.java": "package a;\nimport b.C;\n/** Doc. */\npublic class A { int f(int x) { return x; } }\n",
    "a.c": '#include "b.h"\n#define X(a) a\nstruct S { int a; };\nstatic int f(int *x) { return *x; }\n',
    "a.cpp": "namespace n { template <class T> class A { void f(); }; }\nvoid n::A::f() {}\n",
    "a.rb": "require 'a'\nmodule M\n  class A < B\n    def f(x) = x\n  end\nend\n",
    "a.php": "<?php\nnamespace A;\nuse B\\C;\nclass D { function f($x) { return $x; } }\n",
    "a.sh": '#!/bin/sh\n. ./b.sh\nf() { echo "$1"; }\n',
    "a.sql": "CREATE TABLE t (a INT);\nCREATE FUNCTION f() RETURNS INT AS $$ SELECT 1 $$;\n",
    "a.md": "# A\n\ntext\n\n## B\n\n```py\nx = 1\n```\n\n- a\n  - b\n\n| a | b |\n|---|---|\n",
    "a.html": "<html><script>function f(){}</script><style>a{b:c}</style></html>\n",
    "a.css": "@import 'a';\n.a > b { c: d }\n",
    "a.json": '{"a": [1, {"b": null}]}\n',
    "a.yaml": "a:\n  - b: c\n",
    "a.toml": "[a]\nb = 1\n",
    "a.txt": "plain text, 日本語。\n",
}  # fmt: skip


SOURCE_WORDS = tuple(
    text.encode()
    for text in (
        "(", ")", "{", "}", "[", "]", "<", ">", '"', "'", "`", "/*", "*/", "//", "#", "\n\n", "    ",
        "def ", "class ", "function ", "import ", "return ", "=>", "::", "->", "$$", "\\\n", ";", "@",
        "template<", "#define ", "#if 0\n", "<<E\n", "'''", "${", "...", "if ", "else ", "- ", "> ",
    )
)  # fmt: skip


def source(name: str) -> Callable[[Path], Target]:
    def target(_: Path) -> Target:
        suffix = name.rpartition(".")[2]
        return Target(
            text_of(lambda text: parse_file(name, text)),
            [SOURCES[name].encode(), SOURCES[name].encode() * 3],
            [
                "chunking/__init__.py", "chunking/outline.py", "chunking/splitting.py",
                "chunking/structure.py", "chunking/symbols.py", "chunking/tree.py",
                *(["chunking/markdown.py"] if suffix == "md" else []),
            ],
            words=SOURCE_WORDS,
            steady=1 << 18,  # a text that takes the parser longer than 5 s is not parsed
        )  # fmt: skip

    return target
