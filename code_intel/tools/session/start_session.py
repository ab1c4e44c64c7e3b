"""Implement the tool `start_session`."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.foundation.git import head
from code_intel.session import journal, phases
from code_intel.session.frame import SLOTS
from code_intel.session.phases import Intent, Phase
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.project_files import baseline
from code_intel.tools.declaration import UNLISTED, Answer

EXTRACTION_PROMPT = (
    "From the query, fill the slots target_feature, trigger_condition, observed_issue and "
    "desired_action. Each is {value, quote}; copy the quote from the query word for word. "
    "Leave out slots that the query does not mention."
)


async def start_session(
    context: GatewayContext,
    intent: Annotated[
        Literal["IMPLEMENT", "MODIFY", "DELETE", "INVESTIGATE", "QUESTION", "EXPLORE"],
        Field(description="Purpose of the work; MODIFY if unsure. Only the first three can write."),
    ],
    query: Annotated[
        str,
        Field(min_length=1, max_length=4000, description="The user's request, word for word."),
    ],
    repo_path: Annotated[
        str,
        Field(
            description="The project folder; it must be the project of this server.",
            json_schema_extra=UNLISTED,
        ),
    ] = ".",
) -> Answer:
    """Start a session. Call this first, before exploring or changing code.

    Returns `session_id` for the other tools, the phase, and the tools that the phase allows. Files
    may be written only in the phase READY. A session expires a day after its last use.
    """
    await run_in_thread(_check_project, context.root, repo_path)
    before = await run_in_thread(baseline, context.root)
    commit = await run_in_thread(head, context.root)
    session, handle = await run_in_thread(
        partial(
            journal.create,
            context.sessions,
            Intent(intent),
            query,
            baseline=before,
            commit=commit,
            demands=context.settings.demands,
        )
    )
    context.remember(handle)
    allowed = list(phases.allowed_tools(session, context.offered or None))
    read_only = session.phase is Phase.READY
    step = (
        "Answer from search_smart and search_text." if read_only else "Call set_query_frame next."
    )
    message = f"Session {session.name} is in {session.phase}. {step}"
    data = {
        "success": True,
        "session_id": handle,
        "intent": session.intent.value,
        "current_phase": session.phase.value,
        "allowed_tools": allowed,
        "repo_path": str(context.root),
        "message": message,
        "query_frame": {
            "status": "pending",
            "slots": list(SLOTS),
            "extraction_prompt": EXTRACTION_PROMPT,
            "next_step": "set_query_frame",
        },
        "v38_features": {
            "map_search": True,
            "forest_search": True,
            "agreements_path": str(context.settings.agreements.relative_to(context.root))
            if context.settings.agreements.is_relative_to(context.root)
            else str(context.settings.agreements),
        },
        "exploration_hint": (
            "search_smart searches the map first (agreements on which symbol a term means; these "
            "are facts), then the forest (the project's source; its hits are hypotheses)."
        ),
    }
    # Some clients show the model only the text, so the text contains the handle.
    return Answer(data, f"{message} session_id: {handle}\n{EXTRACTION_PROMPT}")


def _check_project(root: Path, repo_path: str) -> None:
    given = os.path.realpath(root / repo_path)
    if not os.path.isdir(given):  # noqa: PTH112 - Path.is_dir raises if the name is too long
        raise UsageError(
            f"repo_path {repo_path[:200]} is not a folder.", details={"field": "repo_path"}
        )
    if given != os.path.realpath(root):
        raise UsageError(
            f"repo_path {repo_path[:200]} is not the project of this server.",
            hint=f"Omit repo_path, because this server serves {root}. Start another server for "
            "another project.",
            details={"field": "repo_path"},
        )
