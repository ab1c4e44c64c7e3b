"""Let a new session adopt what the open session of the client has seen."""

from collections.abc import Iterator

from code_intel.errors import BusyError, StorageError
from code_intel.session import journal, steps
from code_intel.session.state import Session, Step
from code_intel.tools.context.client_reads import take_client_reads
from code_intel.tools.context.client_sessions import read_bound_session, write_binding
from code_intel.tools.context.gateway import GatewayContext, run_in_thread

MAX_ADOPTED_CALLS = 1000
"""Maximum number of calls to adopt, the last ones; a journal holds some 10,000."""


async def adopt_session(context: GatewayContext, client_session: str, handle: str) -> None:
    """Copy the calls of the client's open session to the new one, and bind the client to it.

    The new session also takes over what the client printed without a session. A failure is a
    warning: the new session works without.
    """
    try:
        await run_in_thread(_adopt, context, client_session, handle)
    except (StorageError, BusyError) as error:
        context.warnings.append(f"The client's session was not adopted: {error.message}")


def _adopt(context: GatewayContext, client_session: str, handle: str) -> None:
    bound = read_bound_session(context, client_session)
    if bound is not None:
        journal.append(context.sessions, handle, *_calls(bound.session))
    if reads := take_client_reads(context.settings, client_session):
        journal.append(context.sessions, handle, *reads)
    write_binding(context.settings, client_session, handle)


def _calls(session: Session) -> Iterator[Step]:
    """Yield the steps that record the last calls of a session again."""
    for call in session.calls[-MAX_ADOPTED_CALLS:]:
        yield steps.called(
            call.tool,
            call.target,
            ok=call.ok,
            found=call.found,
            files=call.files,
            symbols=call.symbols,
            slot=call.slot,
            printed=call.printed,
        )
