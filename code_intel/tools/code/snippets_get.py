"""Implement the tool `snippets_get`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from code_intel.errors import CodeIntelError
from code_intel.forest.snippets import Snippet
from code_intel.foundation.text import visible
from code_intel.session import steps
from code_intel.session.state import Step
from code_intel.tools.code.read_places import (
    OpenedPlace,
    PlaceRequest,
    cost_of_line,
    open_place,
    parse_place,
    shared_budgets,
)
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.packages import Scope
from code_intel.tools.context.prints import Passage, prints_in, split_lines
from code_intel.tools.declaration import Answer, SessionId, from_json
from code_intel.tools.wire.answers import MAX_ROW_TOKENS, MAX_SEARCH_TOKENS
from code_intel.tools.wire.next_calls import call_text, reading_call
from code_intel.tools.wire.reader import advice, file_name, is_terminal
from code_intel.tools.wire.suspicion import flags_of, note_of

MAX_PLACES = 30
PLACES_TOKENS = 6000
"""Default budget of several places."""
FIELD_TOKENS = 60
"""Tokens of a place beside its lines: names, numbers and how to continue."""
LineNumber = Annotated[int, Field(ge=0, le=1_000_000_000)]


class ShownPlaces(NamedTuple):
    """Places that were read, each with the lines that fit, and the errors of the others."""

    requests: Sequence[PlaceRequest]
    shown: Mapping[int, tuple[OpenedPlace, Snippet]]
    errors: Mapping[int, CodeIntelError]


async def snippets_get(
    context: GatewayContext,
    path: Annotated[str, Field(max_length=1000, description="A file.")] = "",
    start_line: Annotated[LineNumber, Field(description="From 1.")] = 0,
    end_line: Annotated[LineNumber, Field(description="0: as much as fits.")] = 0,
    symbol: Annotated[
        str,
        Field(max_length=300, description="Such as `Auth.login`."),
    ] = "",
    places: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=1000)]],
        Field(max_length=MAX_PLACES, description="Several: `a.py:3-9`, a file or a symbol each."),
        BeforeValidator(from_json),
    ] = [],
    exact_lines: Annotated[bool, Field(description="Not whole symbols.")] = False,
    token_budget: Annotated[
        Annotated[int, Field(ge=50, le=MAX_ROW_TOKENS)] | None,
        Field(description="Default 2000; 6000 for places."),
    ] = None,
    scope: Scope = "project",
    session_id: SessionId = None,
) -> Answer:
    """Read code as it is on disk now, several places in one call; secret values are masked.

    Lines are extended to whole symbols if they fit; `next_line` says where to continue.
    """
    requests = [await run_in_thread(parse_place, context.root, place) for place in places]
    if path or symbol or not places:
        given = PlaceRequest(symbol or path, path, start_line, end_line, symbol, exact_lines)
        requests.insert(0, given)
    async with context.optional_session(session_id, "snippets_get") as locked:
        if places:
            found = await _several(context, requests, scope, token_budget or PLACES_TOKENS)
        else:
            opened = await open_place(context, requests[0], scope)
            budget = token_budget or MAX_SEARCH_TOKENS
            left = max(budget - FIELD_TOKENS, budget // 2)
            one = opened, opened.within(left, cost_of_line)
            found = ShownPlaces(requests, {0: one}, {})
        if locked is not None and scope == "project" and found.shown:
            await locked.append(await run_in_thread(_step, context, found))
    return _answer_several(found, scope) if places else _answer(*found.shown[0])


async def _several(
    context: GatewayContext, requests: Sequence[PlaceRequest], scope: Scope, budget: int
) -> ShownPlaces:
    """Read several places within one budget; a place that cannot be read is an error."""
    opened: dict[int, OpenedPlace] = {}
    errors: dict[int, CodeIntelError] = {}
    for number, request in enumerate(requests):
        try:
            opened[number] = await open_place(context, request, scope)
        except CodeIntelError as error:
            errors[number] = error
    alone = [place.within(budget, cost_of_line) for place in opened.values()]
    costs = [sum(map(cost_of_line, split_lines(found.text))) for found in alone]
    shown = {
        number: (place, found if share == cost else place.within(share, cost_of_line))
        for (number, place), found, cost, share in zip(
            opened.items(), alone, costs, shared_budgets(costs, budget), strict=True
        )
    }
    return ShownPlaces(requests, shown, errors)


def _step(context: GatewayContext, found: ShownPlaces) -> Step:
    """Return the journal's record of the places that an answer shows; this blocks."""
    passages = [
        Passage(opened.file.path, snippet.start_line, snippet.text)
        for opened, snippet in found.shown.values()
    ]
    return steps.called(
        "snippets_get",
        "; ".join(found.requests[number].given for number in found.shown),
        found=len(found.shown),
        files=[opened.file.path for opened, _ in found.shown.values()],
        symbols=[snippet.symbol for _, snippet in found.shown.values() if snippet.symbol],
        printed=prints_in(context, passages),
    )


def _data(opened: OpenedPlace, found: Snippet) -> dict[str, Any]:
    file = opened.file
    data: dict[str, Any] = {
        "path": file.path,
        "start_line": found.start_line,
        "end_line": found.end_line,
        "symbol": found.symbol,
        "language": file.language,
        "text": found.text,
        "truncated": bool(found.next_line),
        **flags_of(found.text, file.path, found.symbol),
    }
    if found.next_line:
        data["next_line"] = found.next_line
    if opened.others:
        data["also_defined"] = list(opened.others)
    if file.warnings:
        data["warnings"] = list(file.warnings)
    return data


def _lines(data: Mapping[str, Any]) -> list[str]:
    """Return a place as lines of text."""
    name = f"  {visible(data['symbol'])}" if data["symbol"] else ""
    lines = [f"{file_name(data['path'])}:{data['start_line']}-{data['end_line']}{name}"]
    lines.append(visible(data["text"].rstrip("\r\n"), keep="\n\r\t"))
    if others := data.get("also_defined"):
        lines.append(f"Also defined: {', '.join(map(file_name, others))}")
    return [*lines, *data.get("warnings", ())]


def _answer(opened: OpenedPlace, found: Snippet) -> Answer:
    data = _data(opened, found)
    lines = [note_of([data])] if note_of([data]) else []
    lines += _lines(data)
    if found.next_line:
        here = f"{file_name(data['path'])}:" if is_terminal() else "start_line="
        lines.append(f"Continue with {here}{found.next_line}, or {advice('raise token_budget')}.")
    return Answer(data, "\n".join(lines))


def _answer_several(found: ShownPlaces, scope: Scope) -> Answer:
    """Return the places in the order of the call, and the call that reads the rest."""
    rows, lines, rest = [], [], []
    for number, request in enumerate(found.requests):
        if error := found.errors.get(number):
            row: dict[str, Any] = {"place": request.given, **error.as_dict()}
            lines.append(visible(f"{request.given}: {error.message} {error.hint}"))
        else:
            opened, snippet = found.shown[number]
            row = _data(opened, snippet)
            del row["language"]
            if not row["truncated"]:
                del row["truncated"]
            lines += _lines(row)
            rest += _rest(opened, snippet)
        rows.append(row)
    flagged = [note_of(rows)] if note_of(rows) else []
    after = reading_call(rest, **({} if scope == "project" else {"scope": scope}))
    text = "\n".join(filter(None, (*flagged, *lines, call_text(after))))
    return Answer({"places": rows, **after}, text)


def _rest(opened: OpenedPlace, found: Snippet) -> list[str]:
    """Return the lines of a place that did not fit, as a place to read next."""
    if not found.next_line:
        return []
    return [f"{opened.file.path}:{found.next_line}-{max(opened.last, found.next_line)}"]
