"""Check the description of each query of a plan."""

from code_intel.planning.outcome import added
from kept_plans import iteration, plan, result


def test_a_file_counts_for_the_first_query_that_found_it() -> None:
    a, b, c = (result(f"{name}.py") for name in "abc")
    found = plan(
        iterations=(
            iteration(1, results=(a, c)),
            iteration(2, results=()),
            iteration(3, results=(b, a, b)),
        ),
        final=(b, a),
    )
    assert added(found) == (("a.py",), (), ("b.py",))
    assert added(plan(iterations=(), final=())) == ()
