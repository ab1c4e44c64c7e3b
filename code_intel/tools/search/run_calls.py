"""Run the calls of a plan in order, with a time limit for each call and for the plan."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import anyio

from code_intel.errors import CodeIntelError
from code_intel.session.router import PlannedCall
from code_intel.tools.code.analyze_structure import analyze_structure
from code_intel.tools.code.find_definitions import find_definitions
from code_intel.tools.code.find_references import find_references
from code_intel.tools.code.get_symbols import get_symbols
from code_intel.tools.code.search_text import search_text
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer
from code_intel.tools.progress import Report
from code_intel.tools.search.findings import Output

logger = logging.getLogger(__name__)

Call = Callable[[PlannedCall], Awaitable[Answer]]

STEP_SECONDS = 5.0
"""Time limit of one call."""
PLAN_SECONDS = 20.0
"""Time limit of the plan, because a client is waiting for the answer."""

TOOLS: Mapping[str, Callable[..., Awaitable[Answer]]] = MappingProxyType(
    {
        "find_definitions": find_definitions,
        "find_references": find_references,
        "search_text": partial(search_text, max_results=200),
        "get_symbols": get_symbols,
        "analyze_structure": analyze_structure,
    }
)
"""The tools that a plan may call."""


def calls_of(context: GatewayContext) -> Call:
    """Return a function that runs a call without recording it in the session."""
    without_session = context.for_call(None, context.report)

    async def call(step: PlannedCall) -> Answer:
        return await TOOLS[step.tool](without_session, **step.params)

    return call


async def run(
    steps: Sequence[PlannedCall],
    call: Call,
    report: Report,
    *,
    step_seconds: float = STEP_SECONDS,
    seconds: float = PLAN_SECONDS,
) -> list[Output]:
    """Run the calls of a plan in order, and return their outputs.

    If a call fails or takes longer than `step_seconds`, its output contains the error. After
    `seconds`, no further call is started.
    """
    outputs: list[Output] = []
    deadline = anyio.current_time() + seconds
    for step in steps:
        await report(len(outputs), len(steps), step.tool)
        remaining = deadline - anyio.current_time()
        if remaining <= 0:
            outputs.append(Output(step, error=f"not started: the plan's {seconds:g} s are over"))
        else:
            outputs.append(await _output(step, call, min(step_seconds, remaining)))
    await report(len(steps), len(steps), "done")
    return outputs


async def _output(step: PlannedCall, call: Call, seconds: float) -> Output:
    with anyio.move_on_after(seconds):
        try:
            return Output(step, (await call(step)).data)
        except CodeIntelError as error:
            return Output(step, error=error.message)
        except Exception as error:
            logger.exception("%s failed", step.tool)
            return Output(step, error=f"failed: {type(error).__name__}")
    return Output(step, error=f"took longer than {seconds:.3g} s")
