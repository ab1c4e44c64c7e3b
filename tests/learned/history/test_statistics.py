"""Statistics of the map by session, by band and by agreement, for any log."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.history.experience import AgreementExperience, Kind, Objections
from code_intel.learned.history.outcomes import Log
from code_intel.learned.history.statistics import summarize
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.records import Agreement
from learned.builders import NOW

KEY = ("ログイン機能", "AuthService")


def one(
    kind: Kind, detail: str = "ready", session: str = "s1", wording: str = "a"
) -> AgreementExperience:
    return AgreementExperience(KEY, kind, wording, session, detail, NOW)


def standing(symbol: str, doubt: str = "") -> AgreementStatus:
    entry = AgreementEntry(Path(f"{symbol}.md"), Agreement("ログイン機能", symbol), "")
    return AgreementStatus(entry, "valid", (), confirmed=True, objections=Objections(doubt=doubt))


def record(session: str, outcome: str = "success", **more: Any) -> dict[str, Any]:
    return {"session_id": session, "outcome": outcome, **more}


def test_rejection_counts_in_the_band_of_its_offer() -> None:
    found = summarize(
        [
            one("offered"),
            one("accepted"),
            one("offered", "verification", "s2"),
            one("rejected", "revert", "s2"),
            one("rejected", "person", ""),
        ],
        Log((), 0),
        [],
    )
    assert found.bands["ready"] == {"offered": 1, "accepted": 1, "failed": 0, "rejected": 0}
    assert found.bands["verification"] == {"offered": 1, "accepted": 0, "failed": 0, "rejected": 1}
    assert found.rejected_by == {"revert": 1, "person": 1}
    assert found.experiences["rejected"] == 2


def test_session_counts_by_its_last_outcome() -> None:
    log = Log((record("a", "failure"), record("b"), record("a", intent="MODIFY")), 3)
    found = summarize([], log, [])
    assert found.outcomes == {"sessions": 2, "success": 2, "failure": 0, "partial": 0}
    assert found.by["intent"]["MODIFY"]["success"] == 1
    assert found.by["intent"]["unknown"]["success"] == 1
    assert found.bad_lines == 3


def test_agreements_are_listed_by_use_and_by_objection() -> None:
    experiences = [one("accepted"), one("rejected", session="s2"), one("confirmed", session="s3")]
    found = summarize(
        experiences, Log((), 0), [standing("AuthService", "doubt"), standing("Other")]
    )
    assert found.agreements == {
        "total": 2,
        "by_status": {"valid": 2},
        "never_used": 1,
        "doubted": 1,
    }
    assert [(row["symbol"], row["accepted"]) for row in found.most_used] == [("AuthService", 1)]
    assert [row["symbol"] for row in found.most_rejected] == ["AuthService"]
    assert found.never_used == [{"nl_term": "ログイン機能", "symbol": "Other"}]


values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.lists(st.text(max_size=2), max_size=2)
)
fields = st.sampled_from(
    ["session_id", "outcome", "intent", "phase_at_outcome", "band", "devrag_used"]
)
records = st.dictionaries(fields, values | st.sampled_from(["success", "failure"]), max_size=6)


@given(st.lists(records, max_size=6))
def test_any_log_record_is_counted_at_most_once(
    found: list[dict[str, Any]],
) -> None:
    counted = summarize([], Log(tuple(found), 0), [])
    ended = sum(counted.outcomes[outcome] for outcome in ("success", "failure", "partial"))
    assert ended == counted.outcomes["sessions"] <= len(found)
    for table in counted.by.values():
        assert sum(sum(row.values()) for row in table.values()) == ended
