"""Judge the files that a tool of the client is about to write, by the rule of check_write_target.

A hook that enforces denies what the rule denies. One that advises only names what was not read,
once a file. What the rule allows passes with the notes on the file the first time, and without a
word afterwards, as do files outside the project.
"""

from collections.abc import Iterable, Mapping, Sequence

from code_intel.errors import SessionError
from code_intel.foundation.text import visible
from code_intel.session import journal, steps
from code_intel.session.open_files import CHECK_AGAIN
from code_intel.session.state import Print, Session
from code_intel.session.write_gate import WriteVerdict
from code_intel.tools.context.client_reads import (
    SHELL_WRITE,
    WRITE_TOOL,
    keep_client_reads,
    read_client_reads,
)
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.guidance import guidance_line, guidance_rows
from code_intel.tools.context.prints import current_text, lines_of_prints
from code_intel.tools.hooks.binding import client_session, find_session
from code_intel.tools.hooks.event_files import files_to_write, relative_file
from code_intel.tools.hooks.events import HookEvent, HookReply
from code_intel.tools.hooks.reading import take_over
from code_intel.tools.session.check_write_target import judge_writes
from code_intel.tools.wire.suspicion import note_of

MAX_NAMED = 3
"""Maximum files that a reply names."""
NEEDS_SESSION = (
    "{files} may not be written yet, because no session is open. Call "
    'start_session(intent="MODIFY", query="…the user\'s request, verbatim…"); '
    "its answer names the next step."
)
REFUSED = "{files} may not be written yet. {hints}"
UNREAD = "was not read in this session; read it before you change it"
CHANGED = "has changed since it was read; read it again before you change it"
_WRITE_AGAIN = "Then write again."
_TOOL = "check_write_target"


async def judge_client_writes(context: GatewayContext, event: HookEvent) -> HookReply:
    """Deny writes that the session has not earned, or say in one line what was not read."""
    paths = await run_in_thread(files_to_write, context.root, event.files)
    if not paths:
        return HookReply()
    bound = await run_in_thread(find_session, context, event)
    if bound is not None:
        try:
            return await _in_session(context, event, bound.binding.handle, paths)
        except SessionError:  # its outcome was recorded in the meantime
            pass
    if event.enforces:
        return HookReply(refusal=NEEDS_SESSION.format(files=_names(context, paths)))
    return HookReply(context=await run_in_thread(_unread_without_session, context, event, paths))


async def _in_session(
    context: GatewayContext, event: HookEvent, handle: str, paths: Sequence[str]
) -> HookReply:
    await run_in_thread(take_over, context, event, handle)
    async with context.session(handle, _TOOL) as locked:
        before = locked.session.permitted_files
        verdicts, hints = await judge_writes(locked, paths, denies=event.enforces)
        session = locked.session
    new = [verdict.file for verdict in verdicts if verdict.file and verdict.file not in before]
    guidance = await _guidance(context, session, new)
    judged = dict(zip(paths, verdicts, strict=True))
    if not event.enforces:
        tool = SHELL_WRITE if event.is_shell else WRITE_TOOL
        line = await run_in_thread(_unread, context, handle, session, judged, tool)
        return HookReply(context="\n".join(filter(None, (line, guidance))))
    refused = [path for path, verdict in judged.items() if not verdict.allowed]
    if not refused:
        return HookReply(context=guidance)
    steps_to_open = " ".join(hint.replace(CHECK_AGAIN, _WRITE_AGAIN) for hint in hints)
    return HookReply(
        refusal=REFUSED.format(files=_names(context, refused), hints=steps_to_open).strip()
    )


async def _guidance(context: GatewayContext, session: Session, files: Sequence[str]) -> str:
    """Return the notes on files that are written for the first time, at most three lines."""
    if not files:
        return ""
    rows = await run_in_thread(guidance_rows, context, session, files)
    return "\n".join(filter(None, (note_of(rows), *map(guidance_line, rows))))


def _unread(
    context: GatewayContext,
    handle: str,
    session: Session,
    judged: Mapping[str, WriteVerdict],
    tool: str,
) -> str:
    """Return one line about what was not read of the files, and note that `tool` writes them."""
    written = {call.target for call in session.calls if call.tool in {WRITE_TOOL, tool}}
    files = {relative_file(context.root, path): judged[path] for path in judged}
    new = [file for file in files if file and file not in written]
    closed = {file: files[file].why_closed for file in new if not files[file].allowed}
    prints = [item for call in session.calls for item in call.printed]
    if new:
        noted = (steps.called(tool, file) for file in new)
        journal.append(context.sessions, handle, *noted)
    return _line(context, closed, prints)


def _unread_without_session(context: GatewayContext, event: HookEvent, paths: Iterable[str]) -> str:
    """Return one line about what was not read of the files; they are named once."""
    key = client_session(event)
    reads = read_client_reads(context.settings, key)
    files = dict.fromkeys(relative_file(context.root, path) for path in paths)
    new = [file for file in files if file and file not in reads.written]
    if new:
        keep_client_reads(context.settings, key, written=new)
    return _line(context, dict.fromkeys(new, ""), reads.printed)


def _line(context: GatewayContext, closed: Mapping[str, str], prints: Iterable[Print]) -> str:
    """Return one line about files that may not be written, with the reasons; empty if all was read.

    A file that does not exist, or that has no text, cannot be read.
    """
    printed = [item for item in prints if item.file in closed]
    current = lines_of_prints(context, printed)
    before = {item.file for item in printed}
    notes = []
    for file, why in closed.items():
        if file in current:
            notes += [f"{file} {why}"] if why else []
        elif current_text(context, file):
            notes.append(f"{file} {CHANGED if file in before else UNREAD}")
    more = f"; {len(notes) - MAX_NAMED} more files" if len(notes) > MAX_NAMED else ""
    return f"{visible('; '.join(notes[:MAX_NAMED]))}{more}." if notes else ""


def _names(context: GatewayContext, paths: Sequence[str]) -> str:
    names = [relative_file(context.root, path) or path for path in paths]
    more = f" and {len(names) - MAX_NAMED} more files" if len(names) > MAX_NAMED else ""
    return visible(", ".join(names[:MAX_NAMED])) + more
