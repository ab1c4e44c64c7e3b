"""Answer the hooks at the end of a turn and of a client's session (docs/decisions/0062)."""

from code_intel.errors import CodeIntelError
from code_intel.learned.history.drafts import close_draft
from code_intel.session.heads import parse_handle
from code_intel.tools.context.client_reads import WRITE_TOOL
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.hooks.binding import (
    BoundSession,
    find_any_binding,
    find_session,
    update_binding,
)
from code_intel.tools.hooks.events import HookEvent, HookReply
from code_intel.tools.hooks.failures import log_failure
from code_intel.tools.session.audit_writes import listed_files, unpermitted_note
from code_intel.tools.session.draft_outcome import DraftedOutcome, draft_outcome

ASK = (
    "Record the outcome of this work: call record_outcome with outcome success, failure or "
    'partial, and session_id "{handle}". It changed {files}.'
)

UNCHECKED = (
    "Changed without a check by code-intel: {files} (by a shell command, another program, or a "
    "person)."
)


async def update_draft(context: GatewayContext, event: HookEvent) -> HookReply:
    """Update the draft of the outcome; ask for the outcome once per session if hooks enforce."""
    bound = await run_in_thread(find_session, context, event)
    if bound is None:
        return HookReply()
    drafted = await draft_outcome(context, bound.session, bound.binding.handle)
    for warning in context.warnings:
        log_failure(context.settings.state, event.client, warning)
    note = _note(event, bound, drafted)
    if await _asks(context, event, bound, drafted):
        ask = ASK.format(handle=bound.binding.handle, files=listed_files(drafted.permitted))
        return HookReply(refusal=f"{ask} {note}".strip())
    return HookReply(context=note)


def _note(event: HookEvent, bound: BoundSession, drafted: DraftedOutcome) -> str:
    """Return a sentence about files that were written without permission.

    Where hooks advise, no file needs permission: these are the files that no editing tool wrote.
    """
    if event.enforces:
        return unpermitted_note(drafted.news)
    edited = {call.target for call in bound.session.calls if call.tool == WRITE_TOOL}
    if files := [file for file in drafted.news if file not in edited]:
        return UNCHECKED.format(files=listed_files(files))
    return ""


async def end_draft(context: GatewayContext, event: HookEvent) -> HookReply:
    """Turn the draft into an unconfirmed outcome. Clients leave little time for this."""
    binding = await run_in_thread(find_any_binding, context, event)
    if binding is not None:
        await run_in_thread(close_draft, context.settings, parse_handle(binding.handle).name)
    return HookReply()


async def _asks(
    context: GatewayContext, event: HookEvent, bound: BoundSession, drafted: DraftedOutcome
) -> bool:
    """Return whether to ask for the outcome, after a note that it was asked for."""
    if not event.enforces or event.is_repeated or bound.binding.asked:
        return False
    if not drafted.permitted:
        return False
    try:
        found = await run_in_thread(
            update_binding, context, event, bound.binding.handle, asked=True
        )
    except CodeIntelError as error:  # without the note, it would be asked for every time
        log_failure(context.settings.state, event.client, error)
        return False
    return found is not None
