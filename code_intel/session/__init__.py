"""Decide what a session may do: phases, query frame, requirements, evidence, write gate, journal.

The phase is derived from the journal. Decisions are pure functions of a `Session` and of facts that
the caller passes in; they return a `Step`, which the caller appends:

    with journal.transaction(paths, handle, expire_hours=24) as transaction:
        phases.check_allowed(transaction.session, "submit_understanding")
        verdict = requirements.submit_understanding(transaction.session, submission, facts)
        transaction.append(verdict.step)

Indexes, agreements and MCP do not belong here. The package uses the standard library only: a hook
imports it in the time of an interpreter start.
"""
