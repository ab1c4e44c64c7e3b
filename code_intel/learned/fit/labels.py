"""Read labelled questions to the map, each with the agreement it is about.

A set is a JSON file of `store` (id, nl_term, symbol, code_evidence, other_evidence) and `queries`
(query, kind, expected, near). `expected` is the id of the agreement that answers, or null. `near`
is the one the question is about or almost about, null for unrelated ones. `same_as` lists
agreements of other sets, as set/id, that mean the same; `also` lists those that answer a question.
`disputed` marks a question that a second reader would label otherwise, and says why. `expected` and
`near` never name an agreement of another set.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_intel.records import Agreement

QUESTIONS = Path(__file__).parent / "questions"
"""The shipped sets of labelled questions."""

WITHOUT_ANSWER = ("near_miss", "unrelated")


@dataclass(frozen=True)
class Labels:
    """A labelled set. Agreements are given by place; -1 means none.

    Attributes:
        agreements: The map that is asked.
        queries: What it is asked; `kinds`, `expected`, `near`, `disputed`, `elsewhere` go with it.
        expected: Place of the agreement that answers.
        near: Place of the agreement that a question is about or almost about.
        names: The agreements as set/id.
        elsewhere: Whether an agreement of another set answers.
        twins: What each agreement means the same as, as set/id.
    """

    agreements: list[Agreement]
    queries: list[str]
    kinds: list[str]
    expected: list[int]
    near: list[int]
    disputed: list[bool]
    elsewhere: list[bool]
    names: list[str]
    twins: list[frozenset[str]]


def read_labels(path: Path, *, other_evidence: bool = False) -> Labels:
    """Read a set.

    Args:
        path: A file.
        other_evidence: Take each agreement's evidence in the other language.
    """
    raw = json.loads(path.read_text(encoding="utf-8"))
    evidence = "other_evidence" if other_evidence else "code_evidence"
    place = {row["id"]: at for at, row in enumerate(raw["store"])} | {None: -1}
    rows: list[dict[str, Any]] = raw["queries"]
    return Labels(
        [
            Agreement(nl_term=row["nl_term"], symbol=row["symbol"], evidence=(row[evidence],))
            for row in raw["store"]
        ],
        [row["query"] for row in rows],
        [row["kind"] for row in rows],
        [place[row["expected"]] for row in rows],
        [place[row.get("near", row["expected"])] for row in rows],
        ["disputed" in row for row in rows],
        ["also" in row for row in rows],
        [f"{path.stem}/{row['id']}" for row in raw["store"]],
        [frozenset(row.get("same_as", ())) for row in raw["store"]],
    )


def sets_from(path: Path, *, other_evidence: bool = False) -> dict[str, Labels]:
    """Return every set of a folder, or the one of a file, by name: each is asked of its own map."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return {file.stem: read_labels(file, other_evidence=other_evidence) for file in files}
