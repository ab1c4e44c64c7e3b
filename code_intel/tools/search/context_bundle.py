"""Implement the tool `context_bundle`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from code_intel.config.reading import unknown_key_warnings
from code_intel.forest.bundles import artifacts as task
from code_intel.forest.bundles.bundle import Bundle, BundleRequest, gather_bundle
from code_intel.forest.bundles.profiles import ChosenProfile, choose
from code_intel.foundation.text import visible
from code_intel.index.walk import bases
from code_intel.records import Freshness
from code_intel.session import steps
from code_intel.session.paths import plain_path
from code_intel.tools.context.corpus_service import check_query
from code_intel.tools.context.forest_service import document_name, forest_service
from code_intel.tools.context.freshness import ask_fresh_index
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, prints_in
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.declaration import Answer, SessionId, from_json
from code_intel.tools.search.files_search import Boost
from code_intel.tools.wire.answers import (
    MAX_ROW_TOKENS,
    MAX_SEARCH_TOKENS,
    NO_HITS_YET,
    index_data,
    index_text,
)
from code_intel.tools.wire.packing import PackedBundle, pack
from code_intel.tools.wire.reader import advice, file_name
from code_intel.tools.wire.suspicion import note_of

CHECK_FIRST = "Check what you rely on with find_definitions or find_references."
MAX_FURTHER_FILES = 20
"""Maximum number of files in `further`."""

Words = Annotated[
    list[Annotated[str, Field(max_length=2000)]],
    Field(max_length=20),
    BeforeValidator(from_json),
]


class TaskArtifacts(BaseModel):
    """What is already known about the task."""

    model_config = ConfigDict(extra="allow")  # unknown keys are reported as warnings

    failing_tests: Annotated[Words, Field(description="Names or files of tests that fail.")] = []
    last_diff: Annotated[
        str, Field(max_length=200_000, description="A unified diff of the last change.")
    ] = ""
    editing_path: Annotated[
        str | list[str], Field(max_length=2000, description="The file (or files) being edited.")
    ] = ""
    hints: Annotated[Words, Field(description="Other symbols, words or files to look for.")] = []

    @model_validator(mode="before")
    @classmethod
    def _given(cls, values: Any) -> Any:
        """Drop null values, as for top-level arguments."""
        if not isinstance(values, Mapping):
            return values
        return {key: value for key, value in values.items() if value is not None}


async def context_bundle(
    context: GatewayContext,
    goal: Annotated[
        str,
        Field(min_length=1, max_length=4000, description="What you want to do, in any language."),
    ],
    artifacts: Annotated[
        TaskArtifacts | None,
        Field(description="failing_tests, last_diff, editing_path, hints; all optional."),
    ] = None,
    profile: Annotated[
        str,
        Field(
            max_length=100, description="default, bugfix, testfail, typeerror, feature, refactor."
        ),
    ] = "default",
    boost_profile: Boost = "default",
    limit: Annotated[int, Field(ge=1, le=20, description="Files with fragments.")] = 7,
    token_budget: Annotated[
        int, Field(ge=200, le=MAX_ROW_TOKENS, description="Maximum tokens for files.")
    ] = MAX_SEARCH_TOKENS,
    compact: Annotated[bool, Field(description="Omit the text of the fragments.")] = False,
    session_id: SessionId = None,
) -> Answer:
    """Collect what to read for a goal: short fragments of the relevant files, best first.

    Use it at the start of a task, with what you have: a failing test, a diff, the file being
    edited. Files that do not fit are listed in `further`. Tests, documentation and build output are
    excluded unless you name them or set boost_profile to none. Read more with snippets_get.
    """
    check_query(goal, "goal")
    artifacts = artifacts or TaskArtifacts()
    given = _artifacts(context, artifacts)
    chosen = await run_in_thread(choose, profile, context.settings.state)
    request = BundleRequest(
        goal, given, chosen.weights, boost_profile, context.settings.tokenization_strategy
    )
    async with context.optional_session(session_id, "context_bundle") as locked:
        bundle, index = await run_in_thread(_gathered, context, request, limit + MAX_FURTHER_FILES)
        packed = await run_in_thread(pack, bundle, limit, token_budget, compact=compact)
        if locked is not None:
            symbols = (part.get("symbol") for file in packed.files for part in file["fragments"])
            passages = [
                Passage(project_path_of(context, file["file"]), part["start_line"], part["text"])
                for file in packed.files
                for part in file["fragments"]
                if "text" in part
            ]
            step = steps.called(
                "context_bundle",
                goal,
                found=len(packed.files),
                files=[file["file"] for file in packed.files],
                symbols=filter(None, symbols),
                printed=await run_in_thread(prints_in, context, passages),
            )
            await locked.append(step)
    ignored = unknown_key_warnings(
        "artifacts", artifacts.model_extra or (), list(TaskArtifacts.model_fields)
    )
    warnings = [
        *chosen.warnings,
        *ignored,
        *await run_in_thread(_not_indexed_warnings, context, given),
    ]
    return _answer(goal, chosen, bundle, packed, index, warnings)


def _artifacts(context: GatewayContext, given: TaskArtifacts) -> task.GivenArtifacts:
    """Return the artifacts, with edited files named as in the index.

    Raises:
        UsageError: An edited file is outside the project.
    """
    paths = [given.editing_path] if isinstance(given.editing_path, str) else given.editing_path
    field = "artifacts.editing_path"
    editing = [document_name(context, plain_path(path), field) for path in paths if path.strip()]
    return task.GivenArtifacts(
        tuple(given.failing_tests), given.last_diff, tuple(editing), tuple(given.hints)
    )


def _gathered(
    context: GatewayContext, request: BundleRequest, most: int
) -> tuple[Bundle, Freshness]:
    """Gather the bundle; if files in it have changed, index them and gather it again."""
    service = forest_service(context)
    context.forest.request_scan()
    question = service.question(request.goal)

    def gathered() -> tuple[Bundle, tuple[str, ...]]:
        store = context.forest.store
        with store.snapshot():  # the active vectors may be replaced at any time
            comparable = service.comparable(question)
            bundle = gather_bundle(
                store, request, comparable.vector, limit=most, bases=bases(context.forest.config)
            )
        return bundle, comparable.degraded

    bundle, degraded = ask_fresh_index(
        context, gathered, lambda found: (file.path for file in found[0].files[:most])
    )
    return bundle, service.freshness(degraded)


def _not_indexed_warnings(context: GatewayContext, given: task.GivenArtifacts) -> list[str]:
    """Return a warning for each edited file that is not in the index."""
    store = context.forest.store
    return [
        f"artifacts.editing_path: {visible(path)[:200]} is not in the index."
        for path in given.editing_path
        if store.document(path) is None
    ]


def _answer(
    goal: str,
    chosen: ChosenProfile,
    bundle: Bundle,
    packed: PackedBundle,
    index: Freshness,
    warnings: Sequence[str],
) -> Answer:
    others = ", or set boost_profile to none" if bundle.left_out else ""
    no_hits = (
        NO_HITS_YET if index.state == "building" else f"Nothing found. Try other words{others}."
    )
    data: dict[str, Any] = {
        "goal": goal,
        "profile": chosen.name,
        "files": packed.files,
        "further": packed.further,
        "tokens_estimate": packed.tokens,
        "truncated": packed.truncated,
        "left_out": dict(bundle.left_out),
        "message": advice(CHECK_FIRST if packed.files else no_hits),
        "index": index_data(index),
    }
    if warnings:
        data["warnings"] = list(warnings)
    parts = [note_of(packed.files)] if note_of(packed.files) else []
    parts += [_file_text(number, file) for number, file in enumerate(packed.files, 1)]
    if packed.further:
        parts.append(
            "Other files:\n" + "\n".join(f"  {file_name(line)}" for line in packed.further)
        )
    if packed.truncated:
        parts.append(advice("Some files did not fit. Raise token_budget, or narrow the goal."))
    if bundle.left_out:
        folders = ", ".join(
            f"{visible(name)}/ ({count})" for name, count in bundle.left_out.items()
        )
        include = advice("Set boost_profile to none to include them.")
        parts.append(f"Excluded: {folders}. {include}")
    parts += [*warnings, data["message"]]
    return Answer(data, "\n".join(parts) + index_text(index))


def _file_text(number: int, file: Mapping[str, Any]) -> str:
    lines = [f"{number}. {file_name(file['file'])}  [{visible(', '.join(file['why']))}]"]
    for part in file["fragments"]:
        symbol = f"  {visible(part['symbol'])}" if part.get("symbol") else ""
        lines.append(f"   {part['start_line']}-{part['end_line']}{symbol}")
        lines += [f"     {line}" for line in part.get("text", "").split("\n") if line.strip()]
    return "\n".join(lines)
