"""Limit the questions that a page puts to a search."""

from code_intel.errors import UsageError

MAX_QUESTION_CHARS = 1000
"""Limit of a question. The time of some steps grows with the square of a long word."""


def check_length(question: str) -> None:
    """Refuse a long question.

    Raises:
        UsageError: It is too long.
    """
    if len(question) > MAX_QUESTION_CHARS:
        raise UsageError(
            f"The question has {len(question):,} characters; the limit is {MAX_QUESTION_CHARS:,}.",
            hint="Ask with fewer words.",
            details={"field": "q"},
        )
