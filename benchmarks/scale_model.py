"""Simulate a shared index for 10,000 developers, and write the tables of docs/scale.md.

    python -m benchmarks.scale_model [--only NAME] [--write | --check]

The times of questions, searches and pushes are drawn from the samples in `data/scale_rates.json`
(`scale_rates.py` measures them). Each simulated figure is beside what queueing theory predicts.
`--write` writes the tables into docs/scale.md, `--check` reports tables that are out of date.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.queueing import servers_for
from benchmarks.scale_data import COMMITS_PER_HOUR, UTILISATION, Rates, Table, rates
from benchmarks.scale_layers import layers_table, written
from benchmarks.scale_pushes import backlog_table, runners_table, traffic_table
from benchmarks.scale_questions import loss_table, peak, questions_table
from benchmarks.scale_sizes import cost_table, embedding_table, memory_table, parts_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"


def cost(known: Rates) -> Table:
    """Return the cost per developer with the instances of the busiest hour."""
    cores = servers_for(peak(), known.questions.mean, UTILISATION)
    cores += servers_for(
        COMMITS_PER_HOUR / 3600, known.mean(lambda push: push.server_ms) / 1000, UTILISATION
    )
    return cost_table(known, written(known, 10, by_size=True).per_push, cores)


TABLES: Mapping[str, Callable[[Rates], Table]] = {
    "memory": memory_table,
    "parts": parts_table,
    "embedding": embedding_table,
    "traffic": traffic_table,
    "layers": layers_table,
    "questions": questions_table,
    "loss": loss_table,
    "runners": runners_table,
    "backlog": backlog_table,
    "cost": cost,
}


def filled(page: str, tables: Mapping[str, str]) -> str:
    """Return the page with these tables between their comments."""
    for name, table in tables.items():
        begin, end = f"<!-- table {name} -->\n", "<!-- end -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        assert found, f"the page has no table {name}"
        assert closed, f"the table {name} has no end"
        page = f"{before}{begin}\n{table}\n{end}{after}"
    return page


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=TABLES, help="print this table")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/scale.md")
    parser.add_argument("--check", action="store_true", help="fail if docs/scale.md is old")
    args = parser.parse_args()
    names = [args.only] if args.only else [*TABLES]
    tables = {name: TABLES[name](rates()).markdown() for name in names}
    for name, table in tables.items():
        print(f"{name}\n{table}")
    if args.write or args.check:
        before = PAGE.read_text(encoding="utf-8")
        after = filled(before, tables)
        if args.write:
            PAGE.write_text(after, encoding="utf-8")
        elif before != after:
            sys.exit("docs/scale.md is old. Run: python -m benchmarks.scale_model --write")


if __name__ == "__main__":
    main()
