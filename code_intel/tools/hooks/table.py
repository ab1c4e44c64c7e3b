"""Map each client to its adapter and each event to its rule."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.foundation.gateway_socket import HookOutput
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.hooks.beginning import show_session
from code_intel.tools.hooks.clients import claude_code, codex, cursor, gemini
from code_intel.tools.hooks.events import HookEvent, HookReply, Kind
from code_intel.tools.hooks.prompt import answer_prompt
from code_intel.tools.hooks.reading import note_printed_lines
from code_intel.tools.hooks.searching import comment_search
from code_intel.tools.hooks.starting import add_client_session
from code_intel.tools.hooks.stopping import end_draft, update_draft
from code_intel.tools.hooks.writing import judge_client_writes

Rule = Callable[[GatewayContext, HookEvent], Awaitable[HookReply]]


class Adapter(NamedTuple):
    """Translates one client's events and answers.

    Attributes:
        read_event: Returns the event; None if it does not concern the gateway. Raises ValueError,
            KeyError or TypeError if it is malformed.
        write_reply: Returns what the hook's process writes.
    """

    read_event: Callable[[Mapping[str, Any]], HookEvent | None]
    write_reply: Callable[[Mapping[str, Any], HookReply], HookOutput]


ADAPTERS: Mapping[str, Adapter] = MappingProxyType(
    {
        "claude-code": Adapter(claude_code.read_event, claude_code.write_reply),
        "codex": Adapter(codex.read_event, codex.write_reply),
        "cursor": Adapter(cursor.read_event, cursor.write_reply),
        "gemini": Adapter(gemini.read_event, gemini.write_reply),
    }
)
RULES: Mapping[Kind, Rule] = MappingProxyType(
    {
        Kind.PROMPT: answer_prompt,
        Kind.START: add_client_session,
        Kind.BEGIN: show_session,
        Kind.READ: note_printed_lines,
        Kind.SEARCH: comment_search,
        Kind.WRITE: judge_client_writes,
        Kind.STOP: update_draft,
        Kind.END: end_draft,
    }
)
"""An event without a rule gets no answer."""
