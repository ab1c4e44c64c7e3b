"""Note the lines that a tool of the client printed: reading with one's own tools is looking."""

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from code_intel.errors import SessionError
from code_intel.session import journal
from code_intel.session.state import Print
from code_intel.tools.context.client_reads import (
    keep_client_reads,
    steps_of_prints,
    take_client_reads,
)
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, current_text, prints_in
from code_intel.tools.hooks.binding import client_session, find_session
from code_intel.tools.hooks.event_files import existing_files, relative_file
from code_intel.tools.hooks.events import HookEvent, HookReply
from code_intel.tools.hooks.searching import comment_search
from code_intel.tools.hooks.shown_lines import passages_in, search_results_in


async def note_printed_lines(context: GatewayContext, event: HookEvent) -> HookReply:
    """Note the lines that the client printed, in the session or until there is one.

    A search gets its comment here if the client passes none on before it.
    """
    await run_in_thread(_note, context, event)
    return await comment_search(context, event) if event.text else HookReply()


def printed_by(context: GatewayContext, event: HookEvent) -> tuple[Print, ...]:
    """Return the notes of the current lines of the project that an event shows; this blocks."""

    @cache
    def read(file: str) -> Sequence[str]:
        return current_text(context, file)

    def locate(name: str) -> str:
        places = (os.path.join(folder, name) for folder in event.folders)  # noqa: PTH118 - text
        return next(iter(existing_files(context.root, places)), "")

    passages = [
        Passage(relative_file(context.root, shown.file), shown.first, shown.text)
        for shown in event.passages
    ]
    if event.output:
        files = existing_files(context.root, event.files)
        passages += passages_in(event.output, files, read)
        passages += search_results_in(event.output, locate, read)
    return prints_in(context, [each for each in passages if each.file])


def take_over(context: GatewayContext, event: HookEvent, handle: str) -> None:
    """Note in a session what the client printed before; this blocks.

    Raises:
        SessionError: The session has ended.
    """
    if steps := take_client_reads(context.settings, client_session(event)):
        journal.append(context.sessions, handle, *steps)


def _note(context: GatewayContext, event: HookEvent) -> None:
    printed = printed_by(context, event)
    if not printed:
        return
    bound = find_session(context, event)
    if bound is None:
        keep_client_reads(context.settings, client_session(event), printed)
        return
    known = {item for call in bound.session.calls for item in call.printed}
    new = [item for item in printed if item not in known]
    steps = (
        *take_client_reads(context.settings, client_session(event)),
        *steps_of_prints(event.tool, new),
    )
    handle = bound.binding.handle
    with suppress(SessionError):  # its outcome was recorded in the meantime
        journal.append(context.sessions, handle, *steps, loaded=bound.session)
