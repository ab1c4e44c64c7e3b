"""Implement the tool `check_write_target`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from code_intel.config.client_files import CLIENT_FILES
from code_intel.session.state import Session
from code_intel.session.write_gate import WriteVerdict, check_write
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer, SessionId, from_json

MAX_TARGETS = 50
WriteTargets = Annotated[
    list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=MAX_TARGETS)
]


async def check_write_target(
    context: GatewayContext,
    file_path: Annotated[
        Annotated[str, Field(min_length=1)] | WriteTargets,
        Field(description="Relative to the project; one file or several."),
        BeforeValidator(from_json),
    ],
    allow_new_files: Annotated[bool, Field(description="Whether it may be created.")] = True,
    session_id: SessionId = None,
) -> Answer:
    """Check whether this session may write to a file. Call it before every edit.

    Writing is allowed only in READY, to explored files and to new files beside them.
    """
    files = [file_path] if isinstance(file_path, str) else file_path
    async with context.session(session_id, "check_write_target") as locked:
        verdicts = await run_in_thread(
            _check_all, locked.session, context.root, files, allow_new=allow_new_files
        )
    rows = [
        {
            "file_path": file,
            "allowed": verdict.allowed,
            "error": verdict.error or None,
            "hint": verdict.hint,
        }
        for file, verdict in zip(files, verdicts, strict=True)
    ]
    first = next((row for row in rows if not row["allowed"]), rows[0])
    data = {
        **first,
        "explored_files": [] if first["allowed"] else list(verdicts[0].explored_files),
        "current_phase": locked.session.phase.value,
        **({} if isinstance(file_path, str) else {"targets": rows}),
    }
    return Answer(data, "\n".join(map(_line, rows)))


def _check_all(
    session: Session, root: Path, files: Sequence[str], *, allow_new: bool
) -> list[WriteVerdict]:
    return [
        check_write(session, root, file, allow_new=allow_new, client_files=CLIENT_FILES.values())
        for file in files
    ]


def _line(row: Mapping[str, Any]) -> str:
    start = "Allowed" if row["allowed"] else f"Not allowed ({row['error']})"
    return f"{start}: {row['file_path']}. {row['hint']}".strip()
