"""Search in several steps: state what you expect, search, compare, and refine the query.

The plan is stored. Exits with 0 if the expectations are met at least in part, with 1 if they are
not, and with 130 on Ctrl-C, which keeps what was found so far. `--continue ID` continues a plan;
with `--max-iterations 1` you choose each query yourself. See docs/plans.md.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from code_intel.cli.columns import cut
from code_intel.cli.output import emit, progress
from code_intel.cli.plans.list import SHORT
from code_intel.cli.plans.show import expectations
from code_intel.cli.project import add_project, as_project_path, project_of, terminal_of
from code_intel.cli.tool_call import (
    ToolOption,
    add_options,
    call,
    tool_inputs,
    with_option_names,
    words_of,
)
from code_intel.config import Settings
from code_intel.errors import UsageError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible
from code_intel.operations.plans import resolve_plan
from code_intel.planning import goals, keeping, place
from code_intel.planning.evaluation import hundredths
from code_intel.planning.records import QueryPlan, as_json
from code_intel.records import Freshness
from code_intel.tools.declaration import Tool
from code_intel.tools.plans.gistdex_query_plan import gistdex_query_plan
from code_intel.tools.plans.plan_answers import STOPS
from code_intel.tools.plans.plan_inputs import PlanArguments, initial_plan
from code_intel.tools.progress import Report
from code_intel.tools.wire.answers import index_text
from code_intel.tools.wire.reader import file_name, in_terminal

PLAN_OPTIONS = (
    ToolOption("--query", "initialQueries", "QUERY", "a query to try first"),
    ToolOption(
        "--keyword",
        "expectedResults.keywords",
        "WORD",
        "a word that results should contain (default: the goal's)",
    ),
    ToolOption(
        "--pattern",
        "expectedResults.contentPatterns",
        "RE2",
        "an RE2 expression that results should match",
    ),
    ToolOption("--min-matches", "expectedResults.minMatches", "N"),
    ToolOption("--confidence", "expectedResults.confidence", "X"),
    ToolOption("--mode", "evaluationMode"),
    ToolOption("--initial", "strategy.initialMode"),
    ToolOption("--refine", "strategy.refinementMethod"),
    ToolOption("--rule", "strategy.expansionRules", "RULE"),
    ToolOption("--max-iterations", "maxIterations", "N"),
    ToolOption("--timeout", "timeoutSeconds", "S"),
    ToolOption("--provider", "provider", "NAME"),
    ToolOption("--db", "db", "PATH"),
    ToolOption(
        "--preset",
        "preset",
        "NAME",
        "name of a preset; `code-intel plans presets` lists them",
    ),
    ToolOption(
        "--continue", "planId", "ID", "the plan to continue: its id, the beginning of it, or `last`"
    ),
)
_COLUMNS, _NAME_COLUMNS = 76, 50


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("goal", nargs="*", help="what to find out, in any language")
    add_options(parser, gistdex_query_plan, PLAN_OPTIONS)
    parser.add_argument(
        "--no-intermediate", action="store_true", help="store the texts of final results only"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="show the expectations and the first queries without searching",
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Run the plan; return 1 if it failed."""
    settings = replace(project_of(args), upstreams=MappingProxyType({}))
    root = place.root_of(settings)
    inputs = _plan_inputs(args, settings, root)
    if args.dry_run:
        with with_option_names(gistdex_query_plan, PLAN_OPTIONS):
            given, _ = Tool(gistdex_query_plan).arguments(inputs)
            plan = initial_plan(settings, PlanArguments.of(**given)).plan
        emit(args, _preview_data(plan), "\n".join(_preview_lines(plan)))
        return 0
    started = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        with with_option_names(gistdex_query_plan, PLAN_OPTIONS), _progress() as report:
            words = words_of(PLAN_OPTIONS)
            answer = call(settings, gistdex_query_plan, inputs, report, words=words)
    except KeyboardInterrupt:
        _print_stored_plan(root, inputs, started)
        raise
    with in_terminal(terminal_of(settings, {})):
        text = _answer_text(answer.data)
    emit(args, answer.data, text)
    return 1 if answer.data["status"] == "failed" else 0


def _plan_inputs(args: argparse.Namespace, settings: Settings, root: Path) -> dict[str, Any]:
    """Return the inputs of the tool; to continue a plan, no goal is needed.

    Raises:
        UsageError: There is no goal.
    """
    inputs = tool_inputs(args, PLAN_OPTIONS)
    if args.no_intermediate:
        inputs["saveIntermediateResults"] = False
    if "db" in inputs:
        inputs["db"] = as_project_path(settings.root, inputs["db"])
    if "planId" in inputs:
        inputs["planId"] = resolve_plan(root, inputs["planId"])
    inputs["goal"] = " ".join(args.goal) or _goal_of(root, inputs.get("planId"))
    return inputs


def _goal_of(root: Path, plan_id: str | None) -> str:
    if plan_id:
        return keeping.load(root, plan_id).goal
    raise UsageError(
        "Say what to find out.",
        code="missing_argument",
        hint='As in `code-intel plan "how are sessions ended"`.',
        details={"field": "goal"},
    )


def _preview_data(plan: QueryPlan) -> dict[str, Any]:
    """Return the preview, with the field names of the tool."""
    return {
        "goal": plan.goal,
        "expectedResults": as_json(plan.expected),
        "evaluationMode": plan.mode,
        "strategy": as_json(plan.strategy),
        "queries": _queries(plan),
        "dry_run": True,
    }


def _queries(plan: QueryPlan) -> list[str]:
    """Return the first queries of the plan."""
    return list(plan.waiting) or list(filter(None, [goals.next_query(plan)]))


def _preview_lines(plan: QueryPlan) -> Iterator[str]:
    yield from expectations(plan)
    first, *others = _queries(plan) or ["none; all of them were tried already"]
    yield f"First query: {visible(first)}"
    yield from (f"  then: {visible(query)}" for query in others)


@contextmanager
def _progress() -> Iterator[Report]:
    """Show each query when it begins: as a bar on a terminal, otherwise as a line."""
    with progress() as advance:

        async def report(done: float, total: float | None, message: str) -> None:
            if sys.stderr.isatty():
                advance(int(done), int(total or 0), "queries")
            else:
                of = f"/{total:.0f}" if total else ""
                print(visible(masked(f"{done:.0f}{of} {message}")), file=sys.stderr, flush=True)

        yield report


def _print_stored_plan(root: Path, inputs: Mapping[str, Any], started: str) -> None:
    """Print how to continue the interrupted plan, whether it was named or new."""
    goal = masked(inputs["goal"])
    interrupted = (
        kept.content.id
        for kept in keeping.PLANS.listing(root).latest()
        if kept.content.stop == "stopped" and kept.used >= started and kept.content.goal == goal
    )
    if plan_id := inputs.get("planId") or next(interrupted, ""):
        print(f"To continue: code-intel plan --continue {plan_id[:SHORT]}", file=sys.stderr)


def _how_to_continue(data: Mapping[str, Any]) -> str:
    """Return how to continue a plan that did not succeed, with a new query if it needs one."""
    if data["status"] == "success":
        return ""
    query = ' --query "…"' if data["stopReason"] == "no_new_query" else ""
    return f". To continue: code-intel plan --continue {data['planId'][:SHORT]}{query}"


def _answer_text(data: Mapping[str, Any]) -> str:
    """Return the answer as text: the result, the queries, the findings and where it is stored."""
    lines = [f"{data['message'].partition('. ')[0]}. {STOPS[data['stopReason']]}"]
    for each in data["iterations"]:
        note = each.get("error") or each["feedback"]
        confidence = f"{hundredths(each['confidence']):.2f}"
        head = f"{each['iterationNumber']}. {confidence}  “{visible(each['query'])}”"
        lines.append(f"{head}  {cut(' '.join(note.split()), _COLUMNS)}")
    findings = data["finalResults"]["data"]
    lines.append("Found:" if findings else "Nothing found.")
    for each in findings:
        line_range = f":{each['start_line']}-{each['end_line']}" if each["start_line"] else ""
        location = f"{file_name(each['document'])}{line_range}"
        lines.append(f"  {location}  {visible(each['symbol'])}".rstrip())
    if missing := data["finalResults"]["unmatchedExpectations"]:
        names = ", ".join(cut(visible(name), _NAME_COLUMNS) for name in missing)
        lines.append(f"Not found: {names}")
    if page := data.get("structuredKnowledgePath"):
        lines.append(f"Summary in {page}")
    if saved := data["savedAt"]:
        lines.append(f"Saved as {saved}{_how_to_continue(data)}")
    lines += [f"Note: {visible(warning)}" for warning in data.get("warnings", ())]
    index = Freshness(**{**data["index"], "degraded": tuple(data["index"]["degraded"])})
    return "\n".join(lines) + index_text(index)
