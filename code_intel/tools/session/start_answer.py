"""Format the answer of start_session."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.records import VERIFICATION_SCORE
from code_intel.session.guidance import after_search, next_step, risk_reason
from code_intel.session.phases import Phase
from code_intel.session.progress import describe_requirements
from code_intel.session.state import Session
from code_intel.tools.context.degraded import (
    unavailable_data,
    unavailable_lines,
    unavailable_message,
)
from code_intel.tools.context.place_answers import ShownPlace
from code_intel.tools.context.symbol_facts import can_read_symbols
from code_intel.tools.search.elsewhere.rows import elsewhere_lines, elsewhere_row
from code_intel.tools.search.map_then_forest import Lookup
from code_intel.tools.search.search_smart import ANSWERED, hit_message
from code_intel.tools.wire.agreement_rows import agreement_data, agreement_lines
from code_intel.tools.wire.answers import index_data, index_text
from code_intel.tools.wire.next_calls import (
    call_text,
    reading_call,
    submission_call,
    verification_call,
)
from code_intel.tools.wire.note_rows import note_data, note_line
from code_intel.tools.wire.suspicion import note_of

BUILDING = "The index is being built, so search_smart may find more in a few seconds."
WITHOUT_SLOTS = "The request has no slots, so the phase does not change."
RISK_REASON = "it follows from the filled slots"


class Start(NamedTuple):
    """What start_session answers.

    Attributes:
        handle: The session's handle.
        session: The session.
        found: What map and forest answered.
        slot_errors: Why slots were left out or changed, by slot.
        shown: The places of the source.
        reads: Places of tests, documents and the change log that the work may touch, too.
    """

    handle: str
    session: Session
    found: Lookup
    slot_errors: Mapping[str, str] = MappingProxyType({})
    shown: tuple[ShownPlace, ...] = ()
    reads: tuple[str, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """The answer as data, without empty fields."""
        answer = self.found.forest or self.found.map
        optional = {
            "slot_errors": [
                {"slot": name, "error": error} for name, error in self.slot_errors.items()
            ],
            "map": [agreement_data(hit) for hit in self.found.known],
            "notes": [note_data(hit) for hit in self.found.notes],
            "places": [item.data for item in self.shown],
            "other_agreements": [elsewhere_row(hit) for hit in self.found.others],
            "index": index_data(answer.index) if answer and index_text(answer.index) else None,
            **unavailable_data(self.found.missing),
            "next_reads": reading_call(self.reads).get("next_call"),
            **self.next_call,
        }
        return {
            "session_id": self.handle,
            "current_phase": self.session.phase.value,
            "risk_level": self.session.risk.value,
            "risk_reason": RISK_REASON,
            **risk_reason(self.session),
            "message": self.message,
            **{name: value for name, value in optional.items() if value},
        }

    @property
    def text(self) -> str:
        """The same as text."""
        session = self.session
        agreements = [agreement_data(hit) for hit in self.found.known]
        notes = [note_data(hit) for hit in self.found.notes]
        elsewhere = [elsewhere_row(hit) for hit in self.found.others]
        answer = self.found.forest or self.found.map
        lines = (
            note_of([*agreements, *notes, *(item.data for item in self.shown), *elsewhere]),
            f"session_id: {self.handle}",
            f"{session.phase}. Risk {session.risk}: {session.risk_reason or RISK_REASON}.",
            *(f"{name}: {error}." for name, error in self.slot_errors.items()),
            self.message,
            *unavailable_lines(self.found.missing),
            *agreement_lines(agreements),
            *map(note_line, notes),
            *(item.text for item in self.shown),
            *elsewhere_lines(elsewhere),
            call_text(reading_call(self.reads), "next_reads"),
            call_text(self.next_call),
        )
        return "\n".join(filter(None, lines)) + (index_text(answer.index) if answer else "")

    @property
    def message(self) -> str:
        """What the map says, and what to do."""
        return " ".join(filter(None, (self._map_message, self._advice)))

    @property
    def _map_message(self) -> str:
        found = self.found
        if found.is_hit and self.session.frame is None:
            return f"{ANSWERED} {WITHOUT_SLOTS}"
        if found.is_hit and found.judged is not None:
            return hit_message(found.judged.verdict.failed)
        if found.map is None:
            return unavailable_message(found.missing)
        if not found.known:
            return "No agreement matches."
        best = max(hit.score or 0.0 for hit in found.known)
        if any(reason.startswith("embedding") for reason in found.map.index.degraded):
            return "Agreements match by keyword only. Without an embedding model, none answers."
        return f"No agreement scores enough ({best:.2f}; needed: {VERIFICATION_SCORE:.2f})."

    @property
    def _advice(self) -> str:
        session = self.session
        if session.phase is not Phase.EXPLORATION:
            return next_step(session)
        answer = self.found.forest or self.found.map
        building = BUILDING if answer and answer.index.state == "building" else ""
        has_symbol = self.first_symbol is not None
        is_enough = session.demands == "evidence" and has_symbol
        action = "" if is_enough else after_search(session, found=has_symbol)
        return " ".join(filter(None, (building, describe_requirements(session), action)))

    @property
    def first_symbol(self) -> ShownPlace | None:
        """The first place that is a symbol of a programming language."""
        symbols = (item for item in self.shown if item.place.symbol)
        return next((item for item in symbols if can_read_symbols([item.place.file])), None)

    @property
    def next_call(self) -> dict[str, Any]:
        """The field `next_call` with the next call filled in, or {} without a suggestion."""
        session, first = self.session, self.first_symbol
        if session.phase is Phase.READY and session.intent.writes and session.explored_files:
            arguments: dict[str, Any] = {"file_path": session.explored_files[0]}
            return {"next_call": {"tool": "check_write_target", "arguments": arguments}}
        if session.phase is Phase.EXPLORATION and first is not None:
            return submission_call(session, first.place.symbol, first.place.file)
        return verification_call(session)
