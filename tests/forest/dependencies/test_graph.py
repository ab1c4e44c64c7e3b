"""Test the import graph of a small project per language."""

import json
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.forest.dependencies import Graph, Links, follows, graph_of
from code_intel.forest.dependencies.graph import links_of
from code_intel.forest.dependencies.manifests import is_manifest
from code_intel.forest.dependencies.project import Project
from code_intel.forest.dependencies.resolvers import RESOLVERS, is_named
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store

Texts = Mapping[str, str]


def linked(texts: Texts, bases: tuple[str, ...] = ()) -> dict[str, Links]:
    """Return the links of a project in memory."""
    parsed = {path: parse_file(path, text) for path, text in texts.items()}
    manifests = {path: text for path, text in texts.items() if is_manifest(path)}
    names = {
        path: [symbol.name for symbol in file.symbols]
        for path, file in parsed.items()
        if is_named(file.language)
    }
    languages = {path: file.language for path, file in parsed.items()}
    project = Project(languages, manifests, bases, names)
    return {path: links_of(project, path, file.imports) for path, file in parsed.items()}


PYTHON = {
    "src/shop/__init__.py": "from .cart import Cart as Cart\n",
    "src/shop/cart.py": "import os.path\nfrom decimal import Decimal\nfrom . import prices\n",
    "src/shop/prices.py": "from shop.tax.rates import rate\nimport numpy as np\n",
    "src/shop/tax/__init__.py": "",
    "src/shop/tax/rates.py": "from ..prices import *\nfrom ..gone import x\nimport logging\n",
    "src/shop/logging.py": "",
    "tests/test_cart.py": "import shop.cart\nfrom helpers import make\nimport requests\n",
    "tests/helpers.py": "from shop import Cart\nfrom shop import tax\n",
    "tests/requests/__init__.pyi": "",
    "scripts/run.py": "import inspect, types\nimport helpers\n",
    "scripts/inspect.py": "",
    "tools/types.py": "",
}
ECMASCRIPT = {
    "package.json": json.dumps({"workspaces": ["packages/*"]}),
    "tsconfig.json": (
        '{ // comments\n "compilerOptions": {"baseUrl": ".", "paths": {"$lib/*": '
        '["web/lib/*"],}, } }'
    ),
    "packages/core/package.json": json.dumps(
        {
            "name": "@acme/core",
            "main": "./dist/index.js",
            "exports": {".": {"types": "./dist/index.d.ts"}, "./fp/*": "./dist/fp/*.js"},
            "imports": {"#env": {"default": "./src/env.node.ts"}},
        }
    ),
    "packages/core/src/index.ts": "export * from './cart.js';\nexport { a } from './fp/map';\n",
    "packages/core/src/cart.ts": "import env from '#env';\nimport fs from 'node:fs';\n",
    "packages/core/src/fp/map.ts": "import type { Cart } from '..';\n",
    "packages/core/src/env.node.ts": "",
    "web/app.tsx": (
        "import { Cart } from '@acme/core';\nimport map from '@acme/core/fp/map';\n"
        "import money from '$lib/money';\nconst late = () => import('./views');\n"
        "import React from 'react';\nimport x from '@scope/pkg/deep/file';\n"
    ),
    "web/lib/money.js": "const util = require('./util');\nrequire('./style.css');\n",
    "web/lib/util/index.js": "module.exports = require('../../views/index.vue?raw');\n",
    "web/lib/style.css": "@import 'base.css';\n",
    "web/lib/base.css": "",
    "web/views/index.vue": "<script>\nimport App from '@/app'\n</script>\n",
    "web/src/app.js": "",
    "web/index.html": '<link href="lib/style.css?v=1"><script src="/src/app.js"></script>',
}
GO = {
    "go.mod": "module example.com/acme/shop // the shop\n\ngo 1.22\n",
    "main.go": (
        'package main\nimport (\n "fmt"\n "example.com/acme/shop/cart"\n "github.com/a/b/c"\n)\n'
    ),
    "cart/cart.go": 'package cart\nimport "example.com/acme/shop/tax/v2"\n',
    "cart/items.go": "package cart\n",
    "cart/cart_test.go": 'package cart_test\nimport "example.com/acme/shop/cart"\n',
    "tax/v2/go.mod": "module example.com/acme/shop/tax/v2\n",
    "tax/v2/tax.go": 'package tax\nimport "example.com/acme/shop"\n',
}
RUST = {
    "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
    "crates/cart/Cargo.toml": '[package]\nname = "acme-cart"\n',
    ("crates/cart/src/lib.rs"): (
        "mod items;\npub mod tax;\npub use crate::tax::rates::Rate;\nuse serde::de;\n"
    ),
    "crates/cart/src/items.rs": (
        "use crate::tax::{rates::{self, Rate}, Tax};\nuse super::Cart;\n"
        "mod tests { use super::*; use super::Item; }\n"
    ),
    "crates/cart/src/tax/mod.rs": "mod rates;\nuse self::rates::Rate;\n",
    "crates/cart/src/tax/rates.rs": "use super::super::items::Item;\nuse std::fmt;\n",
    "crates/app/src/main.rs": "use acme_cart::tax::Tax;\nmod cli;\n",
    "crates/app/src/cli.rs": "use crate::run;\n",
    "crates/app/src/bin/fix/main.rs": "mod run;\nuse std::fs;\n",
    "crates/app/src/bin/fix/run.rs": "use crate::Args;\n",
    "crates/app/src/bin/one.rs": "use crate::run::x;\n",
    "crates/std/src/lib.rs": "",
    "tool/Cargo.toml": '[package]\nname = "tool"\n[lib]\npath = "source/tool.rs"\n',
    "tool/source/tool.rs": "mod tests;\n",
    "tool/source/tests/mod.rs": "use crate::deep;\nuse tool::x;\n",
    "tool/source/deep.rs": "",
    "crates/cart/tests/all.rs": "mod common;\nuse acme_cart::Rate;\n",
    "crates/cart/tests/common/mod.rs": "",
}
JVM = {
    "core/src/main/java/com/acme/Cart.java": (
        "package com.acme;\nimport com.acme.tax.Rate;\n"
        "import static com.acme.tax.Rates.Kind.Inner.Deep.of;\n"
        "import java.util.List;\nimport com.acme.items.*;\n"
    ),
    "core/src/main/java/com/acme/tax/Rate.java": "",
    "core/src/main/java/com/acme/tax/Rates.java": "",
    "core/src/main/java/com/acme/items/A.java": "",
    "core/src/main/kotlin/com/acme/items/B.kt": "import com.acme.Cart\n",
    "core/src/test/java/com/acme/tax/Rate.java": "",
    "jobs/Job.scala": "import com.acme.tax.{Rate => R, Rates}\n",
    ("core/src/main/kotlin/com/acme/util/Strings.kt"): (
        "fun String.shout() = uppercase()\nenum class Case { UP }\n"
    ),
    ("core/src/main/kotlin/com/acme/Main.kt"): (
        "import com.acme.util.shout\nimport com.acme.util.Case.UP\nimport kotlin.math.max\n"
    ),
    **{f"core/src/main/java/com/acme/many/M{n}.java": "" for n in range(40)},
    "core/src/main/java/com/acme/All.java": "import com.acme.many.*;\nimport com.acme.many.M7;\n",
}
C = {
    "include/acme/cart.h": '#include "tax.h"\n#include <acme/prices.hpp>\n#include <string.h>\n',
    "include/acme/tax.h": "",
    "include/acme/prices.hpp": "#include <vector>\n",
    "compat/string.h": "",
    "src/cart.c": '#include "acme/cart.h"\n#include "../include/acme/tax.h"\n#include "config.h"\n',
}
RUBY = {
    "lib/acme.rb": "require 'json'\nrequire 'acme/cart'\nautoload :Tax, 'acme/tax'\n",
    "lib/acme/cart.rb": "require_relative 'tax'\nrequire 'set'\nload 'acme/jobs.rake'\n",
    "lib/acme/jobs.rake": "require_relative '../../bin/acme'\n",
    "bin/acme": "#!/usr/bin/env ruby\n",
    "lib/acme/tax.rb": "",
    "lib/acme/json.rb": "",
    "spec/cart_spec.rb": "require 'spec_helper'\nrequire 'acme'\n",
    "spec/spec_helper.rb": "",
}
PHP = {
    "composer.json": json.dumps({"autoload": {"psr-4": {"Acme\\Shop\\": "src/"}}}),
    "src/Cart.php": (
        "<?php\nnamespace Acme\\Shop;\nuse Acme\\Shop\\Tax\\{Rate, Rates as R};\n"
        "use Psr\\Tax\\Rate;\n"
        "require_once __DIR__ . '/functions.php';\nuse legacy\\Store\\Base;\n"
    ),
    "src/Tax/Rate.php": "",
    "src/Tax/Rates.php": "",
    "src/functions.php": "",
    "legacy/Store/Base.php": "",
    "legacy/index.php": "<?php\ninclude('lib/run.php');\n",
    "legacy/lib/run.php": "",
}
PLAIN_PHP = {
    "app/Store/Base.php": "<?php\nuse Acme\\Shop\\Models\\Item;\nuse Other\\Item;\n",
    "app/Models/Item.php": "<?php\nuse Acme\\Store\\Base;\n",
}
OTHERS = {
    "run.sh": 'source ./lib/common.sh\n. "$(dirname "$0")/lib/log.sh"\n',
    "lib/common.sh": "source ${HERE}/lib/log.sh\n",
    "lib/log.sh": "",
    "lua/acme/cart.lua": "local tax = require('acme.tax')\nlocal json = require 'cjson'\n",
    "lua/acme/tax/init.lua": "",
}

CASES = (
    (
        PYTHON,
        {
            "src/shop/__init__.py": ("src/shop/cart.py",),
            "src/shop/cart.py": ("src/shop/prices.py", "os", "decimal"),
            "src/shop/prices.py": ("src/shop/tax/rates.py", "numpy"),
            "src/shop/tax/rates.py": ("src/shop/prices.py", "logging"),
            "tests/test_cart.py": (
                "src/shop/cart.py",
                "tests/helpers.py",
                "tests/requests/__init__.pyi",
            ),
            "tests/helpers.py": ("src/shop/__init__.py", "src/shop/tax/__init__.py"),
            "scripts/run.py": ("scripts/inspect.py", "types", "helpers"),
        },
    ),
    (
        ECMASCRIPT,
        {
            "packages/core/src/index.ts": (
                "packages/core/src/cart.ts",
                "packages/core/src/fp/map.ts",
            ),
            "packages/core/src/cart.ts": ("packages/core/src/env.node.ts", "node:fs"),
            "packages/core/src/fp/map.ts": ("packages/core/src/index.ts",),
            "web/app.tsx": (
                "packages/core/src/index.ts",
                "packages/core/src/fp/map.ts",
                "web/lib/money.js",
                "web/views/index.vue",
                "react",
                "@scope/pkg",
            ),
            "web/lib/money.js": ("web/lib/util/index.js", "web/lib/style.css"),
            "web/lib/util/index.js": ("web/views/index.vue",),
            "web/lib/style.css": ("web/lib/base.css",),
            "web/views/index.vue": ("web/src/app.js",),
            "web/index.html": ("web/lib/style.css", "web/src/app.js"),
        },
    ),
    (
        GO,
        {
            "main.go": ("cart/cart.go", "cart/items.go", "fmt", "github.com/a/b"),
            "cart/cart.go": ("tax/v2/tax.go",),
            "cart/cart_test.go": ("cart/cart.go", "cart/items.go"),
            "tax/v2/tax.go": ("main.go",),
        },
    ),
    (
        RUST,
        {
            "crates/cart/src/lib.rs": (
                "crates/cart/src/items.rs",
                "crates/cart/src/tax/mod.rs",
                "crates/cart/src/tax/rates.rs",
                "serde",
            ),
            "crates/cart/src/items.rs": (
                "crates/cart/src/tax/rates.rs",
                "crates/cart/src/tax/mod.rs",
                "crates/cart/src/lib.rs",
            ),
            "crates/cart/src/tax/mod.rs": ("crates/cart/src/tax/rates.rs",),
            "crates/cart/src/tax/rates.rs": ("crates/cart/src/items.rs", "std"),
            "crates/app/src/main.rs": ("crates/cart/src/tax/mod.rs", "crates/app/src/cli.rs"),
            "crates/app/src/cli.rs": ("crates/app/src/main.rs",),
            "crates/app/src/bin/fix/main.rs": ("crates/app/src/bin/fix/run.rs", "std"),
            "crates/app/src/bin/fix/run.rs": ("crates/app/src/bin/fix/main.rs",),
            "tool/source/tool.rs": ("tool/source/tests/mod.rs",),
            "tool/source/tests/mod.rs": ("tool/source/deep.rs", "tool/source/tool.rs"),
            "crates/cart/tests/all.rs": (
                "crates/cart/tests/common/mod.rs",
                "crates/cart/src/lib.rs",
            ),
        },
    ),
    (
        JVM,
        {
            "core/src/main/java/com/acme/Cart.java": (
                "core/src/main/java/com/acme/tax/Rate.java",
                "core/src/main/java/com/acme/tax/Rates.java",
                "core/src/main/java/com/acme/items/A.java",
                "core/src/main/kotlin/com/acme/items/B.kt",
                "java.util",
            ),
            "core/src/main/kotlin/com/acme/items/B.kt": ("core/src/main/java/com/acme/Cart.java",),
            "core/src/main/kotlin/com/acme/Main.kt": (
                "core/src/main/kotlin/com/acme/util/Strings.kt",
                "kotlin.math.max",
            ),
            "core/src/main/java/com/acme/All.java": (
                "core/src/main/java/com/acme/many/M7.java",
                "com.acme.many",
            ),
            "jobs/Job.scala": (
                "core/src/main/java/com/acme/tax/Rate.java",
                "core/src/main/java/com/acme/tax/Rates.java",
            ),
        },
    ),
    (
        C,
        {
            "include/acme/cart.h": ("include/acme/tax.h", "include/acme/prices.hpp", "string.h"),
            "include/acme/prices.hpp": ("vector",),
            "src/cart.c": ("include/acme/cart.h", "include/acme/tax.h", "config.h"),
        },
    ),
    (
        RUBY,
        {
            "lib/acme.rb": ("lib/acme/cart.rb", "lib/acme/tax.rb", "json"),
            "lib/acme/cart.rb": ("lib/acme/tax.rb", "lib/acme/jobs.rake", "set"),
            "lib/acme/jobs.rake": ("bin/acme",),
            "spec/cart_spec.rb": ("spec/spec_helper.rb", "lib/acme.rb"),
        },
    ),
    (
        PHP,
        {
            "src/Cart.php": (
                "src/Tax/Rate.php",
                "src/Tax/Rates.php",
                "src/functions.php",
                "legacy/Store/Base.php",
                "Psr",
            ),
            "legacy/index.php": ("legacy/lib/run.php",),
        },
    ),
    (
        PLAIN_PHP,
        {
            "app/Store/Base.php": ("app/Models/Item.php", "Other"),
            "app/Models/Item.php": ("app/Store/Base.php",),
        },
    ),
    (
        OTHERS,
        {
            "run.sh": ("lib/common.sh", "lib/log.sh"),
            "lib/common.sh": ("lib/log.sh",),
            "lua/acme/cart.lua": ("lua/acme/tax/init.lua", "cjson"),
        },
    ),
)


@pytest.mark.parametrize(("texts", "expected"), CASES)
@pytest.mark.parametrize("place", ["", "deep/er/", "/elsewhere/tests/"])
def test_imports_resolve_to_documents_and_packages(
    texts: Texts, expected: dict[str, tuple[str, ...]], place: str
) -> None:
    """Documents come first, then packages. The project is below the config's folder or outside."""
    found = linked({f"{place}{path}": text for path, text in texts.items()}, (place.rstrip("/"),))
    expected_names = {
        path: tuple(name if name not in texts else f"{place}{name}" for name in names)
        for path, names in expected.items()
    }
    shown = {path: (*links.outbound, *links.packages) for path, links in found.items()}
    assert {path: names for path, names in shown.items() if names} == {
        f"{place}{path}": names for path, names in expected_names.items()
    }


def test_documents_that_are_exported_again_are_known() -> None:
    assert linked(PYTHON)["src/shop/__init__.py"].passed == ("src/shop/cart.py",)
    assert linked(PYTHON)["src/shop/cart.py"].passed == ()
    passed = ("packages/core/src/cart.ts", "packages/core/src/fp/map.ts")
    assert linked(ECMASCRIPT)["packages/core/src/index.ts"].passed == passed
    assert linked(RUST)["crates/cart/src/lib.rs"].passed == ("crates/cart/src/tax/rates.rs",)


@pytest.mark.parametrize(
    "name", ["package.json", "tsconfig.json", "composer.json", "Cargo.toml", "go.mod"]
)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"name": 1, "exports": 2, "paths": []}',
        "\0",
        "[" * 9999,
        "/*" * 20_000,
        '"\\"' * 20_000,
        "\n" * 30_000,
        '{"exports": ' + '{".": ' * 900 + "1" + "}" * 901,
    ],
)
def test_an_invalid_manifest_is_ignored(name: str, text: str) -> None:
    texts = {name: text, "a.ts": "import './b'\nimport '#x'\nimport 'c'\n", "b.ts": ""}
    assert linked(texts)["a.ts"] == Links(("b.ts",), (), ("c",))


@given(
    st.sampled_from(
        ["py", "ts", "go", "rs", "java", "kt", "c", "rb", "php", "lua", "sh", "html", "css", "cs"]
    ),
    st.text("ab./\\:<>@#~$*{}()-_ あ", max_size=12),
    st.sampled_from(["a", "a/b", "../a", "/a/b", "b/mod", "b/__init__"]),
)
@settings(deadline=None)
def test_any_target_resolves_to_existing_documents(ending: str, target: str, stem: str) -> None:
    path = f"{stem}.{ending}"
    files = {path: parse_file(path, "").language, f"a/a.{ending}": "", "b.py": "python"}
    links = links_of(Project(files, {}), path, [target, f"export:{target}"])
    assert {*links.outbound, *links.passed} <= files.keys() - {path}


def put(store: Store, path: str, text: str) -> None:
    store.put_document(
        DocumentRow(path, str(hash(text)), language="python"), parse_file(path, text)
    )


def shape(graph: Graph, paths: list[str]) -> list[tuple[tuple[str, ...], ...]]:
    return [
        (graph.outbound(p), graph.inbound(p), graph.passed(p), graph.packages(p)) for p in paths
    ]


PATHS = ["a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "pkg/d.py", "pkg/E.kt", "pkg/F.kt"]
LINES = [
    "import pkg.g",
    "fun g() = 1",
    "import a",
    "import b",
    "from pkg import c",
    "from . import d",
    "from .c import x",
    "import os",
]
EDITS = st.tuples(
    st.sampled_from(PATHS), st.none() | st.lists(st.sampled_from(LINES), max_size=3).map("\n".join)
)


@given(st.lists(EDITS, max_size=8))
@settings(deadline=None)
def test_an_updated_graph_equals_a_new_one(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, str | None]]
) -> None:
    place = tmp_path_factory.mktemp("graph") / "index.db"
    with Store.open(place) as store, Store.open(place) as other:
        for path, text in edits:
            if text is None:
                other.delete_document(path)
            else:
                put(other, path, text)
            with Store.open(place) as fresh:
                assert shape(graph_of(store), PATHS) == shape(graph_of(fresh), PATHS)


def test_a_graph_is_kept_until_documents_change(tmp_path: Path) -> None:
    with Store.open(tmp_path / "index.db") as store:
        put(store, "a.py", "import b")
        before = graph_of(store)
        assert graph_of(store) is before
        store.set_meta("unrelated", "1")
        assert graph_of(store) is before
        put(store, "b.py", "")
        assert before.outbound("a.py") == ()
        assert graph_of(store).outbound("a.py") == ("b.py",)
        assert graph_of(store).inbound("b.py") == ("a.py",)


def test_a_changed_manifest_changes_the_links(tmp_path: Path) -> None:
    with Store.open(tmp_path / "index.db") as store:
        for path, text in {**GO, "unused.py": ""}.items():
            store.put_document(
                DocumentRow(path, digest=text, language=parse_file(path, text).language),
                parse_file(path, text),
            )
        assert graph_of(store).outbound("main.go") == ("cart/cart.go", "cart/items.go")
        moved = "module example.com/moved\n"
        store.put_document(DocumentRow("go.mod", digest=moved), parse_file("go.mod", moved))
        assert graph_of(store).outbound("main.go") == ()


def test_languages_page_says_whose_imports_are_followed() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "languages.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines()]
    documented = {row[0]: row[4] for row in rows if len(row) > 5 and row[0] != "language"}
    for language, expected_names in documented.items():
        known = "followed" if follows(language) else "named" if language in RESOLVERS else "no"
        assert expected_names == known, language
    assert RESOLVERS.keys() <= documented.keys()


def test_threads_with_and_without_a_snapshot_do_not_deadlock(
    tmp_path: Path,
) -> None:
    """Each store has a lock, and so have the graphs.

    Locking them in another order would deadlock two threads.
    """
    with Store.open(tmp_path / "a.db") as one, Store.open(tmp_path / "b.db") as two:
        seen: list[int] = []

        def ask(store: Store, *, inside: bool) -> None:
            for n in range(20):
                put(store, f"m{n}.py", f"import m{n - 1}")
                if inside:
                    with store.snapshot():
                        seen.append(len(graph_of(store).outbound(f"m{n}.py")))
                else:
                    seen.append(len(graph_of(store).outbound(f"m{n}.py")))

        threads = [
            threading.Thread(target=ask, args=(store,), kwargs={"inside": inside}, daemon=True)
            for store in (one, two)
            for inside in (True, False)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert sorted(set(seen)) == [0, 1]
