"""Tell what each query of a plan added, for a terminal or a page."""

from code_intel.planning.records import QueryPlan


def added(plan: QueryPlan) -> tuple[tuple[str, ...], ...]:
    """Return, for each iteration, the files of the final results that it was the first to find."""
    final = dict.fromkeys(result.document for result in plan.final)
    seen: set[str] = set()
    rows = []
    for each in plan.iterations:
        new = {result.document for result in each.results} - seen
        seen |= new
        rows.append(tuple(document for document in final if document in new))
    return tuple(rows)
