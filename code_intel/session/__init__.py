"""Decide what a session may do: phases, query frame, requirements, evidence, write gate, journal.

The phase is derived from the journal. Decisions are pure functions of a `Session` and of facts that
the caller passes in; they return a `Step`, which the caller appends. A tool reads:

    with journal.transaction(place, handle, expire_hours=24) as held:
        phases.check_allowed(held.session, "submit_understanding")
        verdict = requirements.submit_understanding(held.session, submission, facts)
        held.append(verdict.step)

    journal        Started Transaction create load transaction append inspect read_intact prune
    handles        Handle mint parse
    heads          Commit Place place_of read locked
    listing        Listed list_sessions
    phases         Phase Intent Event TRANSITIONS ALLOWED UNGATED NEXT_STEP LOOK advance
                   allowed_tools check_allowed
    guidance       next_step hint_for leading_on recovery_options REMEDIES OPTIONS
    router         Asked Place Planned Plan plan SLOT_TOOLS ROWS
    progress       Progress progress slots_so_far
    paths          plain_path may_be_planned
    state          Session Step Record Call MappedSymbol Hypothesis Outcome
    replay         apply replay
    patterns       least_said
    frame          Frame Slot SlotSource SLOTS validate_frame merge missing_slots
                   investigation_guidance
    risk           Risk assess_risk higher
    steps          set_frame called add_explored revert learned outcome
    relevance      Band BANDS Place Confirmation band_of confirm_symbols carriers
    requirements   Submission Understanding UnderstandingFacts submit_understanding missing
                   slot_evidenced is_confusable
    evidence       Reason Evidence Answer VerificationFacts Verification allowed_reasons
                   submit_semantic submit_verification calls_since_phase corroborate
    short_circuit  MapFacts Verdict GUARDS judge map_step
    write_gate     WriteVerdict check_write
    learning       may_learn pairs_to_learn
    story          Story Line tell woven

This package uses the standard library only: a hook imports it in the time of an interpreter start.
"""
