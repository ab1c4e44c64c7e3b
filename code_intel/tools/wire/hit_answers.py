"""Build the answer of a search: the hits as data and as text, cut to a token budget."""

from collections.abc import Iterable, Mapping
from typing import Any

from code_intel.records import SearchAnswer
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.answers import (
    MAX_SEARCH_TOKENS,
    cut_text,
    fit,
    hit_data,
    hits_text,
    index_data,
    index_text,
)


def hit_answer(
    found: SearchAnswer,
    fields: Mapping[str, Any],
    *,
    nothing: str,
    before: Iterable[str] = (),
    after: str = "",
    budget: int = MAX_SEARCH_TOKENS,
) -> Answer:
    """Return the answer of a search.

    Args:
        found: The hits to show, and the state of the index.
        fields: The other fields of the data.
        nothing: The text to show if there are no hits.
        before: Lines of text above the hits.
        after: A line of text below the hits.
        budget: Maximum tokens of the texts of all hits.
    """
    shown, cut = fit(found.hits, budget, cut=found.truncated)
    data = {
        **fields,
        "results": [hit_data(hit, text) for hit, text in shown],
        "truncated": cut,
        "index": index_data(found.index),
    }
    hits = (hits_text(shown) or nothing) + cut_text(cut=cut)
    lines = filter(None, (*before, hits, after))
    return Answer(data, "\n".join(lines) + index_text(found.index))
