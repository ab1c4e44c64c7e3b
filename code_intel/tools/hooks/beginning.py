"""Tell the agent the state of the open session when the client's session begins.

It also begins after the conversation was compacted, which loses the handle of the session.
"""

from code_intel.session.guidance import next_step
from code_intel.session.state import Session
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.hooks.binding import find_session
from code_intel.tools.hooks.events import HookEvent, HookReply
from code_intel.tools.wire.answers import bounded_text

STATE_TOKENS = 200
"""Maximum tokens of the state."""
MAX_QUERY_CHARS = 160
MAX_FILES = 5


async def show_session(context: GatewayContext, event: HookEvent) -> HookReply:
    """Return the state of the client's open session; empty if it has none."""
    bound = await run_in_thread(find_session, context, event)
    if bound is None:
        return HookReply()
    return HookReply(
        context=bounded_text(_state(bound.binding.handle, bound.session), STATE_TOKENS)
    )


def _state(handle: str, session: Session) -> str:
    """Return the state as text, the most important first."""
    query = " ".join(session.query.split())
    asked = query if len(query) <= MAX_QUERY_CHARS else f"{query[:MAX_QUERY_CHARS]}…"
    writable = session.permitted_files or session.explored_files
    lines = (
        f"code-intel session_id: {handle}",
        f"{session.intent} session in {session.phase}. Its request: “{asked}”",
        f"Next: {next_step(session)}",
        f"Files that may be written: {_listed(writable)}" if writable else "",
    )
    return "\n".join(filter(None, lines))


def _listed(files: tuple[str, ...]) -> str:
    shown = ", ".join(files[:MAX_FILES])
    return f"{shown} and {len(files) - MAX_FILES} more" if len(files) > MAX_FILES else shown
