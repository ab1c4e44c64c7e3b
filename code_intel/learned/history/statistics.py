"""Count how sessions ended and how useful the map was, from the outcome log and the store. Pure.

Both are limited in size and may be deleted, so the figures cover only what they still contain.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from code_intel.foundation.redaction import masked
from code_intel.learned.files.agreements import Key
from code_intel.learned.history.experience import AgreementExperience, Kind
from code_intel.learned.history.outcomes import Log
from code_intel.learned.status.agreement_status import AgreementStatus

OUTCOMES = ("success", "failure", "partial")
_CLEAR = ("success", "failure")
BANDS = ("ready", "verification")
MAX_OUTCOMES = 1000
"""Limit of the outcomes that are counted, newest first."""
MAX_LISTED_OUTCOMES = 10
MAX_TABLE_ROWS = 20
"""Limit of the rows of a table; further values are counted as `other`."""
_MAX_NAME_CHARS = 40
_USES: tuple[Kind, ...] = ("accepted", "confirmed")
_OBJECTIONS: tuple[Kind, ...] = ("rejected", "failed")

Table = dict[str, dict[str, int]]


class Statistics(NamedTuple):
    """Statistics of a project's map; all fields are JSON data.

    Attributes:
        agreements: The number of agreements: in total, by status, never used, and doubted.
        experiences: The number of events by kind.
        bands: The results of offers, by band of the score.
        rejected_by: The number of rejections by cause.
        outcomes: The number of sessions by outcome; the last report of a session counts.
        by: The same by intent, phase, band of the answer, use of the forest, and confidence.
        most_used: Agreements with their counts, most used first.
        never_used: Agreements with which no session has succeeded.
        most_rejected: Agreements with their counts, those with the most objections first.
        bad_lines: The number of unreadable lines in the log.
    """

    agreements: dict[str, Any]
    experiences: dict[str, int]
    bands: Table
    rejected_by: dict[str, int]
    outcomes: dict[str, int]
    by: dict[str, Table]
    most_used: list[dict[str, Any]]
    never_used: list[dict[str, Any]]
    most_rejected: list[dict[str, Any]]
    bad_lines: int


class OutcomeStatistics(NamedTuple):
    """Statistics of how sessions ended (seed 004, `get_outcome_stats`); all fields are JSON data.

    Attributes:
        total: The number of reports among the newest `MAX_OUTCOMES` records.
        sessions: The number of sessions that sent them; a session may report more than once.
        by_outcome: The number of reports for each of the three outcomes.
        by_intent: The same by intent, in alphabetical order; `unknown` if not reported.
        by_phase: The same by the phase of the session when it reported.
        devrag_correlation: Successes and failures with and without the forest.
        confidence_correlation: Successes and failures after an understanding of high and of low
            confidence.
        unreadable: The number of lines that are not valid reports.
    """

    total: int
    sessions: int
    by_outcome: dict[str, int]
    by_intent: Table
    by_phase: Table
    devrag_correlation: Table
    confidence_correlation: Table
    unreadable: int


def count_outcomes(log: Log) -> OutcomeStatistics:
    """Count all reports in the log, including several of one session.

    Partial successes do not count in the correlations.
    """
    counted = [record for record in log.records if record.get("outcome") in OUTCOMES]
    with_forest = [record for record in counted if record.get("devrag_used") is True]
    without_forest = [record for record in counted if record.get("devrag_used") is not True]
    return OutcomeStatistics(
        total=len(counted),
        sessions=len({str(record.get("session_id")) for record in counted}),
        by_outcome=_ended(counted, OUTCOMES),
        by_intent=_by(counted, "intent"),
        by_phase=_by(counted, "phase_at_outcome"),
        devrag_correlation={
            "with_devrag": _ended(with_forest, _CLEAR),
            "without_devrag": _ended(without_forest, _CLEAR),
        },
        confidence_correlation={
            level: _ended((r for r in counted if r.get("confidence_was") == level), _CLEAR)
            for level in ("high", "low")
        },
        unreadable=log.bad_lines + len(log.records) - len(counted),
    )


def _ended(records: Iterable[Mapping[str, Any]], outcomes: Sequence[str]) -> dict[str, int]:
    found = Counter(str(record["outcome"]) for record in records)
    return {outcome: found[outcome] for outcome in outcomes}


def summarize(
    experiences: Sequence[AgreementExperience], log: Log, standings: Sequence[AgreementStatus]
) -> Statistics:
    """Return the statistics of a project's map.

    Args:
        experiences: The events in the store, in order.
        log: The newest outcomes.
        standings: All agreements of the project; events of others count only in the totals.
    """
    counts: dict[Key, Counter[str]] = {}
    for found in experiences:
        counts.setdefault(found.key, Counter())[found.kind] += 1
    known = {s.entry.key: counts.get(s.entry.key, Counter()) for s in standings if s.entry.key}
    unused = [key for key, count in known.items() if not _sum(count, _USES)]
    return Statistics(
        agreements={
            "total": len(standings),
            "by_status": dict(Counter(standing.listed_status for standing in standings)),
            "never_used": len(unused),
            "doubted": sum(bool(standing.objections.doubt) for standing in standings),
        },
        experiences={kind: sum(c[kind] for c in counts.values()) for kind in get_args(Kind)},
        bands=_bands(experiences),
        rejected_by=dict(
            Counter(e.detail or "person" for e in experiences if e.kind == "rejected")
        ),
        outcomes=_outcomes(last := _last_reports(log.records)),
        by={
            "intent": _by(last, "intent"),
            "phase": _by(last, "phase_at_outcome"),
            "band": _by(last, "band"),
            "forest_used": _by(last, "devrag_used"),
            "confidence": _by(last, "confidence_was"),
        },
        most_used=_rows(known, _USES),
        never_used=[
            {"nl_term": term, "symbol": symbol} for term, symbol in unused[:MAX_LISTED_OUTCOMES]
        ],
        most_rejected=_rows(known, _OBJECTIONS),
        bad_lines=log.bad_lines,
    )


def _bands(experiences: Iterable[AgreementExperience]) -> Table:
    """Count the results of offers by band; a rejection counts in the band of its offer."""
    table = {
        band: dict.fromkeys(("offered", "accepted", "failed", "rejected"), 0) for band in BANDS
    }
    offered: dict[tuple[Key, str, str], str] = {}
    for found in experiences:
        offer = (found.key, found.wording, found.session_id)
        if found.kind == "offered":
            offered[offer] = found.detail
        band = offered.get(offer, "") if found.kind == "rejected" else found.detail
        if band in table and found.kind in table[band]:
            table[band][found.kind] += 1
    return table


def _last_reports(records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the last record of each session."""
    last = {str(record.get("session_id")): record for record in records}
    return [record for record in last.values() if record.get("outcome") in OUTCOMES]


def _outcomes(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {"sessions": len(records)} | _ended(records, OUTCOMES)


def _by(records: Iterable[Mapping[str, Any]], field: str) -> Table:
    table: Table = {}
    for record in records:
        value = record.get(field)
        name = ("no", "yes")[value] if isinstance(value, bool) else str(value or "unknown")
        name = masked(name)[:_MAX_NAME_CHARS] if len(name) > _MAX_NAME_CHARS else name
        name = name if name in table or len(table) < MAX_TABLE_ROWS else "other"
        row = table.setdefault(name, dict.fromkeys(OUTCOMES, 0))
        row[str(record["outcome"])] += 1
    return dict(sorted(table.items()))


def _rows(known: Mapping[Key, Counter[str]], kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    counted = ((-_sum(count, kinds), key) for key, count in known.items() if count)
    ranked = sorted((number, key) for number, key in counted if number)
    return [
        {"nl_term": key[0], "symbol": key[1], **{kind: known[key][kind] for kind in get_args(Kind)}}
        for _, key in ranked[:MAX_LISTED_OUTCOMES]
    ]


def _sum(count: Counter[str], kinds: Sequence[Kind]) -> int:
    return sum(count[kind] for kind in kinds)
