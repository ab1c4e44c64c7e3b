"""Say why a search does not show a file, for a person in a terminal or on the page."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from code_intel.forest.ranking.why_not import FileSearch, RankedFile, why_not
from code_intel.foundation.text import visible
from code_intel.index.membership import Membership, membership
from code_intel.index.walk import bases
from code_intel.records import RowShare
from code_intel.tools.context.corpus_service import CorpusService, check_query

POINTS = 4
"""Decimal places of points."""


class FileVerdict(NamedTuple):
    """Whether a search shows a file, and where the file lost if it does not.

    Attributes:
        membership: Whether the index has the file.
        found: How it fared in the search; None if the index does not have it.
        degraded: What was not available to the search.
        by_map: Whether the map answers the question, so that the source would not be searched.
    """

    membership: Membership
    found: FileSearch | None
    degraded: tuple[str, ...] = ()
    by_map: bool = False

    @property
    def sentences(self) -> tuple[str, ...]:
        """The reasons, the decisive one first."""
        reasons = [self.membership.reason] if self.membership.reason else []
        if self.found is not None:
            reasons.insert(0, self.found.reason)
        if self.by_map:
            reasons.append("The map answers this question, so the source would not be searched.")
        return tuple(reasons)

    @property
    def data(self) -> dict[str, Any]:
        """The verdict as JSON."""
        data: dict[str, Any] = {
            "document": self.membership.document,
            "indexed": self.membership.indexed,
            "lost": self.found.lost if self.found else "index",
            "reasons": list(self.sentences),
            "answered_by_map": self.by_map,
        }
        if self.found is not None:
            data |= {
                "files": self.found.files,
                "file": _file_data(self.found.file),
                "first": _file_data(self.found.first),
                "last": _file_data(self.found.last),
            }
        return data

    @property
    def text(self) -> str:
        """The verdict as text."""
        lines = [f"{visible(self.membership.document)}: {' '.join(self.sentences)}"]
        if self.found is not None and self.found.others:
            lines += _table(self.found.file, self.found.others)
        lines += [f"Note: {note}." for note in self.degraded]
        return "\n".join(lines)


def explain_file(
    service: CorpusService, query: str, path: str, *, top_k: int, per_file: int
) -> FileVerdict:
    """Return whether a search of the forest shows a file, and where the file lost if not.

    Args:
        service: The service of the forest.
        query: The question.
        path: The file; see `membership`.
        top_k: Number of files that the search shows.
        per_file: Number of places of one file that it shows.

    Raises:
        UsageError: The query is blank.
        NotFoundError: There is no index, and it must not be created.
    """
    check_query(query)
    question = service.question(query)
    store = service.index.store
    with store.snapshot():
        known = membership(store, service.index.config, path)
        if not known.indexed:
            return FileVerdict(known, None)
        comparable = service.comparable(question)
        found = why_not(
            store,
            query,
            comparable.vector,
            known.document,
            top_k=top_k,
            per_file=per_file,
            bases=bases(service.index.config),
        )
    return FileVerdict(known, found, comparable.degraded)


def ranking_data(shares: Iterable[RowShare]) -> list[dict[str, Any]]:
    """Return what each signal of the ranking gives, as JSON."""
    return [
        {
            "row": share.row,
            "points": round(share.points, POINTS),
            "factor": round(share.factor, POINTS),
        }
        for share in shares
    ]


def ranking_text(shares: Iterable[RowShare]) -> str:
    """Return what each signal of the ranking gives, on one line."""
    return ", ".join(
        f"{share.row} {share.points:+.2f}" + (f" (×{share.factor:.2f})" if share.factor < 1 else "")
        for share in shares
    )


def _file_data(file: RankedFile) -> dict[str, Any]:
    return {
        "document": file.document,
        "rank": file.rank,
        "score": round(file.score, POINTS),
        "ranking": ranking_data(file.ranking),
    }


def _table(file: RankedFile, others: Sequence[RankedFile]) -> list[str]:
    """Return the points of files side by side, one signal per line, and the names of the others."""
    files = (file, *others)
    columns = [{share.row: share.points for share in each.ranking} for each in files]
    heads = ["this file", *(f"file {each.rank}" for each in others)]
    names = list(dict.fromkeys(name for column in columns for name in column))
    cells = [
        ("", *heads),
        *(
            (name, *(f"{column[name]:+.2f}" if name in column else "" for column in columns))
            for name in names
        ),
        ("score", *(f"{each.score:.2f}" for each in files)),
    ]
    width = max(map(len, [*names, "score"]))
    lines = (f"  {name:{width}}" + "".join(f"  {cell:>9}" for cell in row) for name, *row in cells)
    return [
        *(line.rstrip() for line in lines),
        *(f"  file {each.rank}: {visible(each.document)}" for each in others),
    ]
