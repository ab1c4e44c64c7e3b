"""Answer one event of a client's hook; a failure never breaks the client.

If a rule fails, a hook that enforces refuses a write and gives the reason. All other hooks have no
opinion then. Failures are logged for `code-intel doctor`.
"""

import json
from collections.abc import Mapping
from typing import Any

from code_intel.errors import CodeIntelError
from code_intel.foundation.gateway_socket import HookOutput, HookRequest
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible_lines
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.hooks.events import HookEvent, HookReply, Kind
from code_intel.tools.hooks.failures import log_failure
from code_intel.tools.hooks.table import ADAPTERS, RULES, Adapter
from code_intel.tools.progress import ignore_progress
from code_intel.tools.search.terminal_answers import TerminalAnswers
from code_intel.tools.wire.terminal_question import TERMINAL

BLOCKING_EXIT = 2
"""The exit code by which a hook keeps its client from going on, in all clients."""
FAILED = "code-intel could not check this write: {reason} Run `code-intel doctor`, then try again."


async def answer_request(
    context: GatewayContext, terminals: TerminalAnswers, request: HookRequest
) -> HookOutput | None:
    """Return the answer to a hook or a terminal; None if the other process does the work itself.

    Raises:
        ValueError, KeyError, TypeError: The request is malformed.
    """
    if request.client == TERMINAL:
        return await terminals.answer(request)
    return await answer_event(context, request)


async def answer_event(context: GatewayContext, request: HookRequest) -> HookOutput:
    """Return what the hook's process writes for one event.

    Raises:
        ValueError, KeyError, TypeError: The event is malformed.
    """
    adapter = ADAPTERS[request.client]
    data = _parse(request.event)
    event = _read(adapter, data, request)
    if event is None or (rule := RULES.get(event.kind)) is None:
        return HookOutput()
    try:
        reply = await rule(context.for_call(None, ignore_progress), event)
    except Exception as error:  # noqa: BLE001 - the boundary to the client
        log_failure(context.settings.state, event.client, error)
        reply = _failure_reply(event, error)
    return _write(adapter, data, reply)


def failure_output(request: HookRequest, error: Exception) -> HookOutput:
    """Return what a hook writes that failed before its rule; a write that it enforces is refused.

    An event that cannot be read is refused, too, because it may be a write.
    """
    if not request.enforces:
        return HookOutput()
    try:
        adapter = ADAPTERS[request.client]
        data = _parse(request.event)
        event = _read(adapter, data, request)
    except (ValueError, KeyError, TypeError):
        return HookOutput(stderr=FAILED.format(reason=_reason(error)), exit_code=BLOCKING_EXIT)
    reply = HookReply() if event is None else _failure_reply(event, error)
    return _write(adapter, data, reply)


def _failure_reply(event: HookEvent, error: Exception) -> HookReply:
    if event.enforces and event.kind is Kind.WRITE:
        return HookReply(refusal=FAILED.format(reason=_reason(error)))
    return HookReply()


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, CodeIntelError) else f"{type(error).__name__}."


def _read(adapter: Adapter, data: Mapping[str, Any], request: HookRequest) -> HookEvent | None:
    event = adapter.read_event(data)
    return event and event._replace(client=request.client, enforces=request.enforces)


def _parse(event: bytes) -> Mapping[str, Any]:
    data = json.loads(event.decode("utf-8", "replace"))
    if not isinstance(data, dict):
        raise TypeError("the event is not an object")
    return data


def _write(adapter: Adapter, data: Mapping[str, Any], reply: HookReply) -> HookOutput:
    """Return the client's form of a reply, with secrets masked in its texts."""
    safe = reply._replace(
        context=visible_lines(masked(reply.context)),
        refusal=visible_lines(masked(reply.refusal)),
    )
    return adapter.write_reply(data, safe)
