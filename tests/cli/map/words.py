"""Run the words of `code-intel map` in this process."""

import json
from pathlib import Path
from typing import Any

from projects import Project

TERM, SYMBOL = "送料計算", "shipping_fee"
SOURCE = "src/cart/shipping.py"


def answer(project: Project, *words: str, code: int = 0) -> dict[str, Any]:
    """Return the JSON answer of a word of `map`, which must end with `code`."""
    done = project.call("code-intel", "map", *words, "--json", check=False)
    assert done.returncode == code, (done.stdout, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def text(project: Project, *words: str, code: int = 0) -> str:
    """Return what a word of `map` prints for people, on stdout and stderr."""
    done = project.call("code-intel", "map", *words, check=False)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def agreements_folder(project: Project) -> Path:
    return project.root / ".code-intel" / "agreements"


def agreement_file(project: Project) -> Path:
    """Return the file of the agreement about `TERM`."""
    (file,) = agreements_folder(project).glob(f"{TERM}*.md")
    return file


def paired_terms(project: Project) -> set[str]:
    """Return the terms in learned_pairs.json."""
    path = project.root / ".code-intel" / "learned_pairs.json"
    return {pair["nl_term"] for pair in json.loads(path.read_text("utf-8"))["pairs"]}


def edit_source(project: Project, old: str, new: str) -> None:
    path = project.root / SOURCE
    source = path.read_text("utf-8")
    assert old in source
    path.write_text(source.replace(old, new), encoding="utf-8")
