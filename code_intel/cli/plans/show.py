"""Show a plan: its expectations, each query with its six metrics, and the results.

`--plot` draws the confidence and the metrics of each query as bars, with the files that it added
to the results.

--json prints the stored plan (docs/plans.md) with `savedAt`, and `added` in each iteration: the
files of the final results that it was the first to find.
"""

import argparse
from collections.abc import Iterator

from code_intel.cli.columns import cut, wrapped
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of, terminal_of
from code_intel.foundation.text import counted
from code_intel.operations.plans import load_plan, plan_data
from code_intel.planning import outcome
from code_intel.planning.evaluation import hundredths
from code_intel.planning.records import Expected, Iteration, QueryPlan, Result
from code_intel.session.story import plain
from code_intel.tools.wire.reader import file_name, in_terminal

MAX_RESULTS_SHOWN = 10
CONFIDENCE_CELLS, METRIC_CELLS = 40, 4
_COLUMNS = 96
METRICS = ("keywords", "patterns", "meaning", "coverage", "precision", "recall")
"""The names of the six metrics, in the order of `records.Metrics`."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", help="the plan's id, the beginning of it, or `last`")
    parser.add_argument(
        "--all", action="store_true", help=f"show all results (default: {MAX_RESULTS_SHOWN})"
    )
    parser.add_argument(
        "--plot", action="store_true", help="draw confidence and metrics, and what each query added"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the plan."""
    settings = project_of(args)
    plan = load_plan(settings, args.id)
    data = plan_data(settings, plan)
    with in_terminal(terminal_of(settings, {})):
        drawn = _plot(plan) if args.plot else _lines(plan, show_all=args.all)
        lines = [*drawn, f"Saved as {data['savedAt']}"]
    emit(args, data, "\n".join(lines))
    return 0


def _lines(plan: QueryPlan, *, show_all: bool) -> Iterator[str]:
    yield from wrapped(plain(plan.goal), _COLUMNS)
    best = hundredths(outcome.confidence(plan))
    seconds = plan.milliseconds / 1000
    yield f"{plan.id}: {outcome.status(plan)}, {best:.2f}, {seconds:.1f} s, {plan.stop}"
    yield from expectations(plan)
    yield f"Searched: {plain(plan.source)}"
    for each in plan.iterations:
        yield from _iteration_lines(each)
    shown = plan.final if show_all else plan.final[:MAX_RESULTS_SHOWN]
    yield f"Found {len(plan.final)}:" if plan.final else "Found nothing."
    yield from (_result_line(each) for each in shown)
    if len(plan.final) > len(shown):
        yield f"… {len(plan.final) - len(shown)} more; --all shows them"
    notes = dict.fromkeys(note for each in plan.iterations for note in each.degraded)
    yield from (f"Note: {plain(note)}" for note in notes)
    if plan.knowledge:
        yield f"Summary in {plain(plan.knowledge)}"


def _plot(plan: QueryPlan) -> Iterator[str]:
    """Yield the course of a plan as bars of plain characters, two or three lines a query."""
    yield from wrapped(plain(plan.goal), _COLUMNS)
    wanted = plan.expected.confidence
    best = hundredths(outcome.confidence(plan))
    yield f"{outcome.status(plan)}, {best:.2f}, | = requested {wanted:.2f}"
    for each, files in zip(plan.iterations, outcome.added(plan), strict=True):
        confidence = hundredths(each.evaluation.confidence)
        bar = _bar(confidence, CONFIDENCE_CELLS, wanted)
        yield cut(f"{each.number:>2} {bar} {confidence:.2f}  {plain(each.query)}", _COLUMNS)
        named = zip(METRICS, each.evaluation.metrics, strict=True)
        metrics = (f"{name} {_bar(value, METRIC_CELLS)}" for name, value in named)
        yield f"   score {each.evaluation.score:.2f}: {' '.join(metrics)}"
        if files:
            yield cut(f"   + {len(files)}: {', '.join(map(plain, files))}", _COLUMNS)


def _bar(share: float, cells: int, mark: float | None = None) -> str:
    """Return a share as a bar of `#` and `.`, with `|` after the cells of a mark."""
    full = round(share * cells)
    bar = "#" * full + "." * (cells - full)
    at = cells if mark is None else round(mark * cells)
    return bar if mark is None else f"{bar[:at]}|{bar[at:]}"


def expectations(plan: QueryPlan) -> Iterator[str]:
    """Yield lines about the expectations and the strategy of a plan."""
    expected: Expected = plan.expected
    words = [plain(word) for word in expected.keywords]
    yield from wrapped(f"Expected: {', '.join(words)}", _COLUMNS)
    yield from (f"  pattern {plain(pattern)}" for pattern in expected.patterns)
    strategy = plan.strategy
    yield (
        f"  at least {expected.min_matches}, confidence {expected.confidence:.2f}, {plan.mode}; "
        f"{strategy.initial or 'goal'} first, refined by {strategy.refinement}"
    )
    yield from (f"  rule {plain(rule)}" for rule in strategy.rules)


def _iteration_lines(each: Iteration) -> Iterator[str]:
    cached_note = ", cached" if each.cached else ""
    outcome_text = (
        f"{counted(len(each.results), 'result')}, {each.milliseconds:.0f} ms{cached_note}"
    )
    confidence = f"{hundredths(each.evaluation.confidence):.2f}"
    yield f"{each.number}. {confidence}  “{plain(each.query)}”: {outcome_text}"
    if each.error:
        yield f"     {plain(each.error)}"
        return
    metrics = zip(METRICS, each.evaluation.metrics, strict=True)
    yield "     " + "  ".join(f"{name} {value:.2f}" for name, value in metrics)
    yield from (f"     {line}" for line in wrapped(plain(each.feedback), _COLUMNS - 5, limit=3))
    yield from (f"     - {plain(each)}" for each in each.refinements[:3])


def _result_line(each: Result) -> str:
    lines = f":{each.start_line}-{each.end_line}" if each.start_line else ""
    return f"  {file_name(plain(each.document))}{lines}  {plain(each.symbol)}".rstrip()
