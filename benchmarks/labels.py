"""Labelled questions, each with the folder it is about.

A set is a JSONL file, one question on each line: {"repo", "query", "category", "relevant":
[{"path"}]}. Some sets have "language" (en or ja) and "id"; the forms of one question in two
languages share the id. The manifest gives each repository's `root`, the folder that scope `root`
indexes. It may have `tuned`: whether the weights of the ranking were set on the repository.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.config import IndexConfig

HERE = Path(__file__).resolve().parent
OWN = HERE / "data" / "code_search_own.jsonl"
OWN_MANIFEST = {"code-intel": {"root": "code_intel"}}
OTHERS = HERE / "data" / "code_search_others.jsonl"

Questions = Sequence[Mapping[str, Any]]


class Repository(NamedTuple):
    """One repository and what is asked about it.

    Attributes:
        name: As labels name it.
        folder: What is indexed.
        prefix: What labels put before the names of its files.
        questions: The lines of the set.
        tuned: Whether weights were set on it; None, the manifest does not say.
    """

    name: str
    folder: Path
    prefix: str
    questions: Questions
    tuned: bool | None

    @property
    def queries(self) -> list[str]:
        """What is asked."""
        return [str(question["query"]) for question in self.questions]


def labelled(document: str, prefix: str) -> str:
    """Return a file of an index as labels name it: relative to the repository."""
    return f"{prefix}/{document}" if prefix else document


def forest_config(folder: Path, scratch: str | Path) -> IndexConfig:
    """Return the configuration of a forest over a folder, with its database in another one.

    The configuration file need not exist: documents are named relative to where it would be.
    """
    return IndexConfig(
        path=folder / "devrag-forest.json",
        corpus="forest",
        patterns=(".",),
        db_path=Path(scratch) / "forest.db",
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every benchmark over labelled questions."""
    parser.add_argument("--data", type=Path, default=OWN, help="JSONL; by default about us")
    parser.add_argument(
        "--manifest", type=Path, help="by default DATA.manifest.json, beside --data"
    )
    parser.add_argument("--sources", type=Path, help="the folder of the repositories")
    parser.add_argument("--scope", choices=["root", "full"], default="root")
    parser.add_argument("--repo", action="append", help="only this repository; may be repeated")
    parser.add_argument("--vectors", action="store_true", help="embed, and search with both")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--json", type=Path, help="also write everything here")


def checked(parser: argparse.ArgumentParser, args: argparse.Namespace) -> argparse.Namespace:
    """Find the manifest, or end with what is missing."""
    if args.data != OWN and args.sources is None:
        parser.error(
            "--sources is missing: the folder with the repositories that --data asks about"
        )
    if args.sources is not None:
        args.manifest = args.manifest or manifest_of(args.data)
        if not args.manifest.is_file():
            parser.error(f"there is no {args.manifest}: --manifest says where it is")
    return args


def asked_about(args: argparse.Namespace) -> list[Repository]:
    """Return the repositories that the options name."""
    manifest = json.loads(args.manifest.read_text()) if args.manifest else OWN_MANIFEST
    return repositories(args.data, manifest, args.sources, args.scope, args.repo or ())


def manifest_of(data: Path) -> Path:
    """Return where the manifest of a set lies, unless it is said to lie elsewhere."""
    return data.with_suffix(".manifest.json")


def repositories(
    data: Path,
    manifest: Mapping[str, Mapping[str, Any]],
    sources: Path | None,
    scope: str,
    only: Sequence[str] = (),
) -> list[Repository]:
    """Return the repositories of a set.

    Args:
        data: The questions.
        manifest: What is known of each repository.
        sources: A folder with one folder a repository; None, all are about this checkout.
        scope: `root`, or `full` for the whole folder.
        only: Names to keep; none, all.
    """
    questions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in data.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        if not only or question["repo"] in only:
            questions[question["repo"]].append(question)
    found = []
    for name, asked in questions.items():
        prefix = (manifest[name].get("root") or "") if scope == "root" else ""
        folder = (sources / name if sources else HERE.parent) / prefix
        found.append(Repository(name, folder, prefix, asked, manifest[name].get("tuned")))
    return found
