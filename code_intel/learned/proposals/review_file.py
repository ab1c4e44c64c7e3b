"""Keep the proposals for review in `.code-intel/proposals.json`, which git ignores.

A proposal keeps its number until the next run of `code-intel map propose`. The pairs that a person
refused stay in the file, so that they are not proposed again.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from code_intel.config import Settings
from code_intel.errors import NotFoundError, StorageError
from code_intel.foundation import durable
from code_intel.index.safe_files import read_plain
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.files.changes import locked
from code_intel.learned.recording import active
from code_intel.records import Agreement, FileReference

REVIEW_FILE = "proposals.json"
VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
"""Limit of the file; a proposal has about a kilobyte."""
PROPOSE_FIRST = "Run `code-intel map propose`."


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A proposal in the file.

    Attributes:
        number: Its number.
        agreement: The proposed agreement.
        sure: How sure it is, from 0 to 1.
        lines: First and last line of the symbol in the first of the files.
        commits: The commits that it rests on, each with its title.
        sources: Other sources, as `path:line`.
        code: The symbol's code when it was proposed.
    """

    number: int
    agreement: Agreement
    sure: float
    lines: tuple[int, int]
    commits: tuple[tuple[str, str], ...] = ()
    sources: tuple[str, ...] = ()
    code: str = ""

    @property
    def key(self) -> Key:
        """The term and the symbol."""
        return make_key(self.agreement.nl_term, self.agreement.symbol)

    @property
    def path(self) -> str:
        """The file that defines the symbol."""
        return self.agreement.files[0].path

    @property
    def owner(self) -> str:
        """The owners of the file, from CODEOWNERS."""
        return str(dict(self.agreement.extra).get("owner", ""))

    @property
    def data(self) -> dict[str, Any]:
        """The proposal as JSON."""
        first, last = self.lines
        return {
            "number": self.number,
            "nl_term": self.agreement.nl_term,
            "symbol": self.agreement.symbol,
            "sure": round(self.sure, 3),
            "definition": f"{self.path}:{first}-{last}",
            "evidence": list(self.agreement.evidence),
            "files": [file.path for file in self.agreement.files],
            "commits": [{"commit": commit, "title": title} for commit, title in self.commits],
            "sources": list(self.sources),
            "owner": self.owner,
            "code": self.code,
        }


@dataclass(frozen=True, slots=True)
class Review:
    """The content of the file: the open proposals by number, and the refused pairs."""

    items: tuple[ReviewItem, ...] = ()
    refused: frozenset[Key] = field(default_factory=frozenset)

    def item(self, number: int) -> ReviewItem:
        """Return a proposal.

        Raises:
            NotFoundError: No proposal has the number.
        """
        found = next((item for item in self.items if item.number == number), None)
        if found is None:
            raise NotFoundError(
                f"There is no proposal {number}.",
                hint=f"`{REVIEW_FILE}` lists the open ones. {PROPOSE_FIRST}",
                details={"field": "accept"},
            )
        return found


def path_of(settings: Settings) -> Path:
    """Return the path of the file."""
    return settings.state / REVIEW_FILE


def read_review(settings: Settings) -> Review:
    """Return the content of the file.

    Raises:
        NotFoundError: The file does not exist.
        StorageError: It cannot be read.
    """
    path = path_of(settings)
    try:
        raw = json.loads(read_plain(path, MAX_BYTES))
        refused = frozenset(make_key(row["nl_term"], row["symbol"]) for row in raw["refused"])
        items = tuple(map(_item, raw["proposals"])) if raw["version"] == VERSION else ()
        return Review(items, refused)
    except FileNotFoundError:
        raise NotFoundError("There are no proposals yet.", hint=PROPOSE_FIRST) from None
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise StorageError(
            f"{path} cannot be read: {error!r}.", hint=f"Move it away. {PROPOSE_FIRST}"
        ) from error


def refused_pairs(settings: Settings) -> frozenset[Key]:
    """Return the pairs that a person refused; none without a file.

    Raises:
        StorageError: The file cannot be read.
    """
    try:
        return read_review(settings).refused
    except NotFoundError:
        return frozenset()


def write_review(settings: Settings, items: Iterable[ReviewItem]) -> Path:
    """Write new proposals; keep the refused pairs.

    Raises:
        StorageError: The file cannot be read or written.
        BusyError: Another process holds the lock.
    """
    with locked(settings):
        return _write(settings, Review(tuple(items), refused_pairs(settings)))


def close_item(settings: Settings, number: int, *, refused: bool) -> None:
    """Remove a proposal from the file, and remember it if a person refused it.

    Raises:
        NotFoundError: The file or the proposal is gone.
        StorageError: The file cannot be read or written.
        BusyError: Another process holds the lock.
    """
    with locked(settings):
        review = read_review(settings)
        item = review.item(number)
        rest = tuple(each for each in review.items if each.number != number)
        pairs = review.refused | ({item.key} if refused else frozenset())
        _write(settings, replace(review, items=rest, refused=pairs))
    if recording := active():
        recording.undo_steps.append(partial(_reopen, settings, item))


def _reopen(settings: Settings, item: ReviewItem) -> None:
    """Put a proposal back; new proposals may have its number, which then stays theirs."""
    with locked(settings):
        review = read_review(settings)
        refused = review.refused - {item.key}
        items = review.items
        if item.number not in {each.number for each in items}:
            items = tuple(sorted((*items, item), key=lambda each: each.number))
        _write(settings, replace(review, items=items, refused=refused))


def _write(settings: Settings, review: Review) -> Path:
    data = {
        "version": VERSION,
        "proposals": [item.data for item in review.items],
        "refused": [{"nl_term": term, "symbol": symbol} for term, symbol in sorted(review.refused)],
    }
    path = path_of(settings)
    durable.make_folder(path.parent)
    durable.replace(path, (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())
    return path


def _item(row: Mapping[str, Any]) -> ReviewItem:
    first, last = map(int, row["definition"].rpartition(":")[2].split("-"))
    files = [FileReference(row["files"][0], first), *map(FileReference, row["files"][1:])]
    owner = (("owner", row["owner"]),) if row["owner"] else ()
    return ReviewItem(
        number=int(row["number"]),
        agreement=Agreement(
            nl_term=str(row["nl_term"]),
            symbol=str(row["symbol"]),
            evidence=tuple(map(str, row["evidence"])),
            files=tuple(files),
            extra=owner,
        ),
        sure=float(row["sure"]),
        lines=(first, last),
        commits=tuple((str(each["commit"]), str(each["title"])) for each in row["commits"]),
        sources=tuple(map(str, row["sources"])),
        code=str(row["code"]),
    )
