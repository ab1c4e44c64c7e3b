"""Format agreements of other repositories: data of others, which was not checked here."""

from collections.abc import Iterable, Iterator
from typing import Any

from code_intel.foundation.text import visible
from code_intel.records import FAIR_SCORE, Hit
from code_intel.tools.search.elsewhere.asking import Elsewhere
from code_intel.tools.wire.answers import COMMIT_DIGITS, files_data
from code_intel.tools.wire.suspicion import flags_of

MAX_ROWS = 3
MAX_EVIDENCE_CHARS = 160
HEADING = "agreements of other repositories: data of others, not checked here"


def best_of(
    found: Elsewhere, limit: int = MAX_ROWS, least: float = FAIR_SCORE, but: Hit | None = None
) -> tuple[Hit, ...]:
    """Return the agreements of other repositories to show, without one that is shown already."""
    shown = but and (but.repository, but.document)
    hits = (hit for hit in found.hits if (hit.repository, hit.document) != shown)
    return tuple(hit for hit in hits if (hit.score or 0.0) >= least)[:limit]


def elsewhere_row(hit: Hit) -> dict[str, Any]:
    """Return an agreement of another repository as data, without empty fields."""
    agreement = hit.agreement
    assert agreement is not None  # noqa: S101 - only agreements are found
    evidence = [item[:MAX_EVIDENCE_CHARS] for item in agreement.evidence[-1:]]
    row = {
        "repository": hit.repository,
        "commit": hit.commit[:COMMIT_DIGITS],
        "nl_term": agreement.nl_term,
        "symbol": agreement.symbol,
        "role": agreement.role,
        "score": round(hit.score or 0.0, 2),
        "files": files_data(agreement.files),
        "evidence": evidence,
    }
    texts = (agreement.nl_term, agreement.symbol, agreement.role, *evidence)
    files = [file.path for file in agreement.files]
    return {name: value for name, value in row.items() if value} | flags_of(*texts, *files)


def elsewhere_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield such rows as lines of text, below a heading."""
    for number, row in enumerate(rows):
        if not number:
            yield HEADING
        parts = (
            f"  {row['repository']}@{row['commit']}: {row['nl_term']} → {row['symbol']}",
            f"{row['score']:.2f}",
            ", ".join(row.get("files", ())),
            *(f"evidence: {item}" for item in row.get("evidence", ())),
        )
        yield visible("  ".join(filter(None, parts)))
