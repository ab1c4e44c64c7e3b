"""Plan a search: say what is expected, search, compare, refine, until it is good enough; and keep it.

Exits 0 when the expectations are met at least in part, 1 when they are not, 130 on Ctrl-C: what was found until
then is kept. `--continue ID` goes on with a plan, `--max-iterations 1` lets you steer. docs/plans.md explains it.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from code_intel.cli.columns import cut
from code_intel.cli.output import emit, progress
from code_intel.cli.plans.plan_files import SHORT, resolve_plan
from code_intel.cli.plans.show import expectations
from code_intel.cli.project import add_project, as_project_says, project_of
from code_intel.cli.tool_call import call
from code_intel.config import Settings
from code_intel.errors import BusyError, UsageError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible
from code_intel.planning import keeping, place, refining
from code_intel.planning.records import (
    CONFIDENCE,
    ITERATIONS,
    LEAST_SECONDS,
    LONGEST_SECONDS,
    MIN_MATCHES,
    SECONDS,
    InitialMode,
    Mode,
    Plan,
    Refinement,
)
from code_intel.planning.stored import as_json
from code_intel.records import Freshness
from code_intel.tools.declaration import Report, Tool
from code_intel.tools.plans.gistdex_query_plan import gistdex_query_plan
from code_intel.tools.plans.plan_answers import STOPS
from code_intel.tools.plans.plan_inputs import preview
from code_intel.tools.wire.answers import index_text


class Option(NamedTuple):
    """An option of the command, and the input of the tool that it is, `expectedResults.minMatches`."""

    flag: str
    field: str
    about: str
    metavar: str = ""
    kind: Callable[[str], Any] = str
    many: bool = False
    choices: tuple[str, ...] = ()


_MANY = "; may be repeated"
OPTIONS = (
    Option("--query", "initialQueries", f"a query to try first{_MANY}", "QUERY", many=True),
    Option(
        "--keyword",
        "expectedResults.keywords",
        f"what results speak of (default: the goal's words){_MANY}",
        "WORD",
        many=True,
    ),
    Option(
        "--pattern",
        "expectedResults.contentPatterns",
        f"what results match{_MANY}",
        "RE2",
        many=True,
    ),
    Option(
        "--min-matches",
        "expectedResults.minMatches",
        f"results at the least (default {MIN_MATCHES})",
        "N",
        int,
    ),
    Option(
        "--confidence",
        "expectedResults.confidence",
        f"score that will do, 0 to 1 (default {CONFIDENCE})",
        "X",
        float,
    ),
    Option(
        "--mode", "evaluationMode", "how keywords match (default fuzzy)", choices=get_args(Mode)
    ),
    Option(
        "--initial",
        "strategy.initialMode",
        "first query: two keywords, or all (default: the goal)",
        choices=get_args(InitialMode),
    ),
    Option(
        "--refine",
        "strategy.refinementMethod",
        "what queries are refined by (default hybrid)",
        choices=get_args(Refinement),
    ),
    Option(
        "--rule",
        "strategy.expansionRules",
        f"add X, include X, search in X, or words{_MANY}",
        "RULE",
        many=True,
    ),
    Option(
        "--max-iterations", "maxIterations", f"queries at the most (default {ITERATIONS})", "N", int
    ),
    Option(
        "--timeout",
        "timeoutSeconds",
        f"seconds for all of it, {LEAST_SECONDS} to {LONGEST_SECONDS} (default {SECONDS})",
        "S",
        int,
    ),
    Option("--provider", "provider", "forest (default) or map", "NAME"),
    Option("--db", "db", "another index database inside the project", "PATH"),
    Option(
        "--preset",
        "preset",
        "expectations and strategy by name: `code-intel plans presets`",
        "NAME",
    ),
    Option("--continue", "planId", "go on with a plan: its id, its beginning, or `last`", "ID"),
)
"""Every input of the tool `gistdex_query_plan` but the goal, `saveIntermediateResults` and the session."""
_COLUMNS, _NAME = 76, 50


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("goal", nargs="*", help="what to find out, in any language")
    for row in OPTIONS:
        if row.choices:
            parser.add_argument(row.flag, dest=row.field, choices=row.choices, help=row.about)
        else:
            action = "append" if row.many else "store"
            parser.add_argument(
                row.flag,
                dest=row.field,
                action=action,
                type=row.kind,
                metavar=row.metavar,
                help=row.about,
            )
    parser.add_argument(
        "--no-intermediate", action="store_true", help="keep the texts of final results alone"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what would be expected and asked first, do nothing",
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Plan; 1 when it failed."""
    settings = replace(project_of(args), upstreams=MappingProxyType({}))
    root = place.root_of(settings)
    given = _given(args, settings, root)
    if args.dry_run:
        with _in_options():
            plan = preview(settings, Tool(gistdex_query_plan, "").arguments(given)[0])
        emit(args, _planned(plan), "\n".join(_plan_text(plan)))
        return 0
    began = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        with _in_options(), _told() as report:
            answer = call(settings, gistdex_query_plan, given, report)
    except KeyboardInterrupt:
        _name_what_is_kept(root, given, began)
        raise
    emit(args, answer.data, _text(answer.data))
    return 1 if answer.data["status"] == "failed" else 0


def _given(args: argparse.Namespace, settings: Settings, root: Path) -> dict[str, Any]:
    """Return the tool's arguments; the goal of a plan that goes on need not be said again.

    Raises:
        UsageError: There is no goal.
    """
    given: dict[str, Any] = {}
    for row in OPTIONS:
        value = getattr(args, row.field)
        part, _, name = row.field.rpartition(".")
        if value is not None:
            (given.setdefault(part, {}) if part else given)[name] = value
    if args.no_intermediate:
        given["saveIntermediateResults"] = False
    if "db" in given:
        given["db"] = as_project_says(settings.root, given["db"])
    if "planId" in given:
        given["planId"] = resolve_plan(root, given["planId"])
    given["goal"] = " ".join(args.goal) or _goal_of(root, given.get("planId"))
    return given


def _goal_of(root: Path, plan_id: str | None) -> str:
    if plan_id:
        return keeping.load(root, plan_id).goal
    raise UsageError(
        "Say what to find out.",
        code="missing_argument",
        hint='As in `code-intel plan "how are sessions ended"`.',
        details={"field": "goal"},
    )


@contextmanager
def _in_options() -> Iterator[None]:
    """Tell a tool's error in the words of the terminal: its options instead of the tool's inputs."""
    try:
        yield
    except (UsageError, BusyError) as error:
        said = [error.message.removeprefix("gistdex_query_plan: "), error.hint]
        for row in OPTIONS:
            if not row.field.islower():  # those are words of every sentence, too
                said = [re.sub(rf"\b{re.escape(row.field)}\b", row.flag, text) for text in said]
        message, hint = (text.replace(" and call gistdex_query_plan again", "") for text in said)
        raise type(error)(message, hint=hint, code=error.error, details=error.details) from error


def _planned(plan: Plan) -> dict[str, Any]:
    """Return what would be done, in the names of the tool."""
    return {
        "goal": plan.goal,
        "expectedResults": as_json(plan.expected),
        "evaluationMode": plan.mode,
        "strategy": as_json(plan.strategy),
        "queries": _queries(plan),
        "dry_run": True,
    }


def _queries(plan: Plan) -> list[str]:
    """Return what would be asked before anything is known of the answers."""
    return list(plan.waiting) or list(filter(None, [refining.next_query(plan)]))


def _plan_text(plan: Plan) -> Iterator[str]:
    yield from expectations(plan)
    first, *others = _queries(plan) or ["none that was not asked yet"]
    yield f"First query: {visible(first)}"
    yield from (f"  then: {visible(query)}" for query in others)


@contextmanager
def _told() -> Iterator[Report]:
    """Tell of each query as it begins: a bar on a terminal, else a line."""
    with progress() as advance:

        async def report(done: float, total: float | None, message: str) -> None:
            if sys.stderr.isatty():
                advance(int(done), int(total or 0), "queries")
            else:
                of = f"/{total:.0f}" if total else ""
                print(visible(masked(f"{done:.0f}{of} {message}")), file=sys.stderr, flush=True)

        yield report


def _name_what_is_kept(root: Path, given: Mapping[str, Any], began: str) -> None:
    """Say how a plan that was interrupted goes on: the one that was named, or the one made since."""
    made = (
        entry.id
        for entry in keeping.entries(root)
        if entry.stop == "stopped" and entry.used >= began and entry.goal == masked(given["goal"])
    )
    if kept := given.get("planId") or next(made, ""):
        print(f"Kept: code-intel plan --continue {kept[:SHORT]}", file=sys.stderr)


def _go_on(data: Mapping[str, Any]) -> str:
    """Return how a plan that has not succeeded goes on: with a query of one's own once it has none left."""
    if data["status"] == "success":
        return ""
    own = ' --query "…"' if data["stopReason"] in {"no_new_query", "no_improvement"} else ""
    return f"; go on: code-intel plan --continue {data['planId'][:SHORT]}{own}"


def _text(data: Mapping[str, Any]) -> str:
    """Return an answer for people: how it ended, a line a query, what was found, where it is."""
    lines = [f"{data['message'].partition('. ')[0]}. {STOPS[data['stopReason']]}"]
    for each in data["iterations"]:
        said = each.get("error") or each["feedback"]
        head = (
            f"{each['iterationNumber']}. {each['evaluationScore']:.2f}  “{visible(each['query'])}”"
        )
        lines.append(f"{head}  {cut(' '.join(said.split()), _COLUMNS)}")
    found = data["finalResults"]["data"]
    lines.append("Found:" if found else "Nothing found.")
    for each in found:
        where = f":{each['start_line']}-{each['end_line']}" if each["start_line"] else ""
        lines.append(f"  {visible(each['document'])}{where}  {visible(each['symbol'])}".rstrip())
    if missing := data["finalResults"]["unmatchedExpectations"]:
        lines.append(f"Not found: {', '.join(cut(visible(name), _NAME) for name in missing)}")
    if similar := data.get("similarPlans"):
        first = similar[0]
        lines.append(
            f"Planned before: {first['planId'][:SHORT]}  {cut(visible(first['goal']), _COLUMNS)}"
        )
    if page := data.get("structuredKnowledgePath"):
        lines.append(f"Written down in {page}")
    if saved := data["savedAt"]:
        lines.append(f"Kept as {saved}{_go_on(data)}")
    lines += [f"Note: {visible(warning)}" for warning in data.get("warnings", ())]
    index = Freshness(**{**data["index"], "degraded": tuple(data["index"]["degraded"])})
    return "\n".join(lines) + index_text(index)
