"""Format agreements with their evidence, without the files that define them.

The agreements of one term are one feature; the lines of a feature name the term once.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from code_intel.foundation.text import visible
from code_intel.learned.recall.recall import fold
from code_intel.records import Hit
from code_intel.tools.wire.answers import COMMIT_DIGITS, MAX_EVIDENCE_CHARS, files_data
from code_intel.tools.wire.suspicion import flags_of


def agreement_data(hit: Hit) -> dict[str, Any]:
    """Return what the map knows, without empty fields."""
    agreement = hit.agreement
    assert agreement is not None  # noqa: S101 - only agreements are shown
    row = {
        "repository": hit.repository if hit.foreign else "",
        "commit": hit.commit[:COMMIT_DIGITS] if hit.foreign else "",
        "nl_term": agreement.nl_term,
        "symbol": agreement.symbol,
        "renamed_to": agreement.renamed_to,
        "role": agreement.role,
        "status": agreement.status,
        "score": None if hit.score is None else round(hit.score, 2),
        "files": files_data(agreement.files),
        "reasons": list(agreement.reasons),
        "evidence": [item[:MAX_EVIDENCE_CHARS] for item in agreement.evidence],
    }
    texts = (agreement.nl_term, agreement.symbol, *agreement.reasons, *agreement.evidence)
    return {name: value for name, value in row.items() if value} | flags_of(*texts)


def agreement_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield such rows as lines of text; further symbols of a feature are indented."""
    term = None
    for row in rows:
        folded = fold(row["nl_term"])
        yield _line(row, "  " if folded == term else row["nl_term"])
        term = folded


def _line(row: dict[str, Any], term: str) -> str:
    now = f" (now {row['renamed_to']})" if "renamed_to" in row else ""
    role = f" ({row['role']})" if "role" in row else ""
    origin = f" (from {row['repository']}@{row['commit']})" if "repository" in row else ""
    parts = (
        f"{term} → {row['symbol']}{now}{role}  [{row['status']}]{origin}",
        f"{row['score']:.2f}" if "score" in row else "",
        ", ".join(row.get("files", ())),
        "; ".join(row.get("reasons", ())),
        *(f"根拠: {item}" for item in row.get("evidence", ())),
    )
    return visible("  ".join(filter(None, parts)))
