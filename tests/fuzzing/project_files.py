# ruff: noqa: E501, SLF001 - samples in one line each; parsers are fed without their callers
"""Other files of a project that others write: configurations, registries, plans, commits, rules."""

import contextlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from code_intel.errors import CodeIntelError
from fuzzing.engine import JSON_WORDS, Target
from fuzzing.map_files import YAML_WORDS


def file_reader(
    folder: Path, name: str, load: Callable[[Path], object]
) -> Callable[[bytes], object]:
    """Read bytes from a file of that name."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)

    def run(data: bytes) -> object:
        path.write_bytes(data)
        return load(path)

    return run


def index_config(folder: Path) -> Target:
    from code_intel.config.index_config import load_index_config

    seed = {
        "document_patterns": ["./src"], "db_path": "./v.db", "chunk_size": 500, "search_top_k": 5,
        "compute": {"device": "auto", "fallback_to_cpu": True}, "update_check": False,
        "model": {"name": "intfloat/multilingual-e5-small", "dimensions": 384},
    }  # fmt: skip
    return Target(
        file_reader(folder, "devrag-forest.json", load_index_config),
        [json.dumps(seed).encode(), b'{"documents_dir": "docs"}'],
        ["config/index_config.py", "config/reading.py"],
        (CodeIntelError,),
        JSON_WORDS,
    )


def settings(folder: Path) -> Target:
    from code_intel.config import load_settings

    def load(path: Path) -> object:
        with contextlib.redirect_stderr(io.StringIO()):
            return load_settings(path.parents[1], {})

    seed = """embedding = "off"
language = "ja"
[gate]
demands = "evidence"
[shared]
url = "https://x.example"
map = true
[upstreams.forest]
command = ["node", "x.js"]
env = { A = "${B}" }
start_seconds = 3
"""
    return Target(
        file_reader(folder, ".code-intel/config.toml", load),
        [seed.encode(), b'[upstreams.map]\nurl = "https://x/mcp"\nheaders = { A = "${T}" }\n'],
        ["config/settings.py", "config/upstreams.py", "config/shared.py", "config/reading.py"],
        (CodeIntelError,),
        (
            b"[",
            b"]",
            b"{",
            b"}",
            b"=",
            b'"',
            b"'''",
            b"\n[gate]\n",
            b"[[a]]",
            b"1979-05-27",
            b"inf",
        ),
        limit=4 << 20,
    )


def registry(_: Path) -> Target:
    from pydantic import ValidationError

    from code_intel.registry import checking
    from code_intel.registry.sources import formats
    from code_intel.registry.sources.discovery import UNUSABLE

    command = {
        "c1": "meta", "c2": "build", "c3": "list", "description": "Lists.", "usage": "x",
        "options": {"input": ["MD"], "adaptation": ["a"], "file": [True], "stdin": [False]},
    }  # fmt: skip
    seed = {"version": "1.0.0", "tools": {"availableConfigs": ["meta"], "commands": [command]}}

    def read(data: bytes) -> None:
        text = data.decode("utf-8-sig", "replace")
        for parse in (formats._markdown, formats._toml):
            with contextlib.suppress(*UNUSABLE):
                parse(text)
        with contextlib.suppress(*UNUSABLE):
            checking.registries(data)
        checking.registry(data, "climpt", Path("/x/registry.json"))

    return Target(
        read,
        [
            json.dumps(seed).encode(),
            b'{"registries": {"climpt": ".agent/registry.json"}}',
            b"---\ndescription: d\narguments: [a, b]\nargument-hint: x\n---\nDo $ARGUMENTS.\n",
            b'prompt = "Do {{args}}"\ndescription = "d"\n',
        ],
        ["registry/checking.py", "registry/sources/formats.py"],
        (CodeIntelError, ValidationError, *UNUSABLE),
        JSON_WORDS,
    )


def plan(folder: Path) -> Target:
    import kept_plans
    from code_intel.planning import keeping, knowledge, place
    from code_intel.planning import settings as plan_settings

    made = replace(kept_plans.plan(), id="0" * 8 + "-0000-0000-0000-" + "0" * 12)
    with TemporaryDirectory() as place_of_page:
        page = knowledge.write(Path(place_of_page), made)
        page_text = page.read_bytes() if page else b""
    presets = {
        "presets": {"a": {"expectedResults": {"contentPatterns": ["(a+)+$"]}}},
        "limits": {"plans": 10},
    }
    config = folder / place.CONFIG

    file = keeping.save(folder, made)

    def read(data: bytes) -> None:
        file.write_bytes(data)
        with contextlib.suppress(CodeIntelError):
            found = keeping.load(folder, made.id)
            assert keeping.parsed(keeping.rendered(found), file.name).id == made.id
            keeping.summary(found)
        keeping.entries(folder)
        with contextlib.suppress(CodeIntelError):
            knowledge._parsed(data, "p.md")
        config.write_bytes(data)
        plan_settings.load(folder).most("plans")

    return Target(
        read,
        [keeping.rendered(made), json.dumps(presets).encode(), page_text],
        [
            f"planning/{name}.py"
            for name in ("keeping", "records", "settings", "catalog", "outcome")
        ],
        (CodeIntelError,),
        (*JSON_WORDS, b"(a+)+$", b"(?:", b"\\d{99}", *YAML_WORDS[:6]),
    )


def commits(_: Path) -> Target:
    from code_intel.foundation import git
    from code_intel.learned.proposals import patches, purpose

    log = b"A B\0Add login (#3)\n\nIt checks.\n\0src/a.py\0b.py\0"
    diff = b'diff --git a/a.py b/a.py\n--- a/a.py\n+++ "b/\\343a.py"\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n'
    merge = "Merge pull request #12 from x/login-form\n\nfeat(auth): Add the login form\n"

    def read(data: bytes) -> None:
        author, _, rest = re.sub(rb"\0+", b"\0", data).partition(b"\0")
        text, _, files = rest.partition(b"\0")
        for commit in git._commits(b"\0".join((b"", b"a" * 40, author, text, b"", b"\n" + files))):
            purpose.title_of(commit.message)
        list(patches._patches(data))
        message = data.decode("utf-8", "replace")
        for is_merge in (False, True):
            title = purpose.title_of(message, is_merge=is_merge)
            purpose.names_feature(title)
            purpose.has_purpose(title, "A <a@b>")
            purpose.term_of(title)
            purpose.request_of(message, title)

    return Target(
        read,
        [log * 2, diff, merge.encode(), "修正: ログインを直す\n\n詳細\n".encode()],
        ["learned/proposals/purpose.py", "learned/proposals/patches.py"],
        words=(
            b"\0", b"\0\0\n", b"diff --git ", b"--- ", b"+++ ", b"\n@@ -1 +1 @@\n", b"Merge ", b"(#1)",
            b"feat: ", b'Revert "', b"Co-authored-by: ", b"\\377",
        ),
    )  # fmt: skip


def ignore(folder: Path) -> Target:
    from code_intel.index import ignore

    paths = ("a.py", "src/", "src/a/b.c", "x" * 200, "日本/ご.txt", "a/" * 40)

    def load(path: Path) -> None:
        rules = {"": ignore._read(path.parent, path.name)}
        for each in paths:
            ignore._ignored(each, rules)

    return Target(
        file_reader(folder, ".gitignore", load),
        [b"*.pyc\n!a.py\n/build/\n**/x/**\na/*/b\n# c\n[a-z]?\\ \n", b"a/**/b\n"],
        ["index/ignore.py"],
        words=(
            b"**",
            b"*",
            b"?",
            b"[",
            b"]",
            b"[!a-z]",
            b"/",
            b"!",
            b"\\",
            b"**/",
            b"\n",
            b"[[:alpha:]]",
        ),
        limit=1 << 14,
    )


def packages(folder: Path) -> Target:
    from code_intel.forest.packages import package_folders

    names = ("go.mod", "Cargo.lock", "pyproject.toml", "package.json")

    def read(data: bytes) -> object:
        for name in names:
            (folder / name).write_bytes(data)
        return list(package_folders(folder, {"go": folder / "go", "cargo": folder / "cargo"}))

    return Target(
        read,
        [
            b"module a\n\nrequire (\n\tgithub.com/A/b v1.2.3 // indirect\n)\n",
            b'[[package]]\nname = "serde"\nversion = "1.0.0"\nsource = "registry+x"\n',
        ],
        ["forest/packages.py"],
        (CodeIntelError,),
        (b"require ", b"(", b")", b"../", b"[[package]]\n", b'"', b"=", b"v1.0.0", b"!"),
    )
