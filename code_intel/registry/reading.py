"""Match commands and queries by stems, and Japanese by its English translation as well.

Seed 000's tokens are whole words between white space: `commits` is not `commit`, and a Japanese
sentence is one word. The tokens here are those of the forest (`chunking.words`), and Japanese texts
also get the English words of the dictionary (docs/decisions/0025, 0045).
"""

from collections.abc import Sequence

from code_intel.chunking.lexicon import ALTERNATIVES, english
from code_intel.chunking.words import STOP_WORDS, query_words, stem, words

MAX_COMMAND_QUERY_CHARS = 1_000
"""Characters of a query that are read."""
_STOPS = frozenset(map(stem, STOP_WORDS))


def description_terms(text: str) -> list[str]:
    """Return the terms of a command's text, repeats kept, stop words left out."""
    return [term for term in (*words(text), *words(_english(text, 1))) if term not in _STOPS]


def read_query(query: str) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return the terms of a query, each once, and its complete formulations: own words, English.

    A query without words has none; one formulation is enough for a match.
    """
    query = query[:MAX_COMMAND_QUERY_CHARS]
    own, said = query_words(query), query_words(_english(query, 1))
    terms = dict.fromkeys((*query_words(_english(query, ALTERNATIVES)), *own))
    return tuple(terms), [way for way in (own, said) if way]


def _english(text: str, alternatives: int) -> str:
    return " ".join(word for said in english(text) for word in said[:alternatives])
