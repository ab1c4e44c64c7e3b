"""Describe an evaluation in the language of the goal: what is missing, and what to try.

The sentences are tables with a column for each language. Names come from the caller and from files,
so they are quoted, on one line, with hidden characters visible, and only a few are shown.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from code_intel.chunking.lexicon import terms
from code_intel.chunking.words import query_words, split_identifier, words
from code_intel.foundation.text import visible
from code_intel.planning.evaluation import hundredths
from code_intel.planning.records import Evaluation, Expected, Result

MAX_SUGGESTIONS = 5
"""Suggestions, and names in a sentence."""
MAX_NAME_CHARS = 60
"""Characters of a name."""
BEST = 3
"""Results whose definitions are suggested."""
UNLIKE_SIMILARITY = 0.3
"""Mean similarity below which results are not similar to their query. Of our labelled questions one
in ten is below with vectors, two in five by words alone.
"""

Language = Literal["en", "ja"]


class Phrase(NamedTuple):
    """A sentence in each language."""

    en: str
    ja: str


REACHED = Phrase(
    "Confidence {confidence:.2f}, {requested:.2f} was requested",
    "確信度 {confidence:.2f}(要求 {requested:.2f}に到達)",
)
NOT_REACHED = Phrase(
    "Confidence {confidence:.2f} of {requested:.2f}",
    "確信度 {confidence:.2f}(要求 {requested:.2f})",
)
NO_RESULTS = Phrase("Nothing was found", "何も見つかりませんでした")
NOT_FOUND = Phrase("In no result so far: {names}", "まだどの結果にもないもの: {names}")
TOO_FEW_RESULTS = Phrase("{count} of {least} results", "結果は {count} 件({least} 件必要)")
UNLIKE = Phrase(
    "The results are not similar to the query ({value:.2f})",
    "結果がクエリにあまり似ていません({value:.2f})",
)
MORE = Phrase(" and {count} more", " ほか {count} 件")

SUGGESTED: Mapping[str, Phrase] = {
    "drop": Phrase(
        "Try without {names}: in no result so far.",
        "{names} を除いて試す: まだどの結果にもありません。",
    ),
    "ask": Phrase(
        "Add {names}: expected, but in no result so far.",
        "{names} を加える: 期待した語がまだどの結果にもありません。",
    ),
    "pattern": Phrase(
        "Add words for {names}: no match so far.",
        "{names} に当たる語を加える: まだ一致がありません。",
    ),
    "names": Phrase(
        "Add {names}: defined in the best results.",
        "{names} を加える: 上位の結果で定義されています。",
    ),
    "other": Phrase(
        "Use other words, or name a symbol or file.",
        "言い換えるか、シンボル名やファイル名を挙げる。",
    ),
}
"""What to try, by the evidence for it; in this order."""


def feedback(
    evaluation: Evaluation, results: Sequence[Result], expected: Expected, language: str
) -> str:
    """Return one line: the confidence, and what is missing.

    Args:
        evaluation: Of `results`.
        results: What the query found.
        expected: What they were compared with.
        language: `ja`, or English for any other.
    """
    tongue = _tongue(language)
    missing = [_say(NOT_FOUND, tongue, names=_quoted(evaluation.unmatched, tongue))]
    missing = missing if evaluation.unmatched else []
    if not results:
        return _sentences([_say(NO_RESULTS, tongue), *missing], tongue)
    is_reached = evaluation.confidence >= expected.confidence
    clauses = [
        _say(
            REACHED if is_reached else NOT_REACHED,
            tongue,
            confidence=hundredths(evaluation.confidence, expected.confidence),
            requested=expected.confidence,
        ),
        *missing,
    ]
    if is_reached:
        return _sentences(clauses, tongue)
    if len(results) < expected.min_matches:
        clauses.append(
            _say(TOO_FEW_RESULTS, tongue, count=len(results), least=expected.min_matches)
        )
    similarity = evaluation.metrics.semantic_similarity
    if similarity < UNLIKE_SIMILARITY:
        clauses.append(_say(UNLIKE, tongue, value=similarity))
    return _sentences(clauses, tongue)


def suggestions(
    query: str,
    evaluation: Evaluation,
    results: Sequence[Result],
    expected: Expected,
    language: str,
) -> tuple[str, ...]:
    """Return what to try next, each with its evidence; nothing if the confidence was reached.

    They are what an iteration answers as `refinements`; arguments as of `feedback`.
    """
    if results and evaluation.confidence >= expected.confidence:
        return ()
    tongue = _tongue(language)
    patterns = frozenset(expected.patterns)
    missing = [name for name in evaluation.unmatched if name not in patterns]
    named = {
        "drop": words_in_no_result(query, results) if results else [],
        "ask": [word for word in missing if not _asked(word, query)],
        "pattern": [name for name in evaluation.unmatched if name in patterns],
        "names": defined_names(query, results),
    }
    holds = {kind: bool(names) for kind, names in named.items()}
    holds["other"] = not results or evaluation.metrics.semantic_similarity < UNLIKE_SIMILARITY
    return tuple(
        _say(phrase, tongue, names=_quoted(named.get(kind, ()), tongue))
        for kind, phrase in SUGGESTED.items()
        if holds[kind]
    )


def words_in_no_result(query: str, results: Sequence[Result]) -> list[str]:
    """Return the words of a query that no result has; none if no result has any word.

    A Japanese word counts as missing only if its English words are missing, too.
    """
    seen = {token for each in results for token in _tokens(each)}
    telling = frozenset(query_words(query))
    read = terms(query) or [(word, ()) for word in query.split()]
    asked = {
        word: tokens
        for word, ways in read
        if (tokens := {token for way in (word, *ways) for token in query_words(way)})
        and (ways or not telling.isdisjoint(tokens))
    }
    absent = [word for word, tokens in asked.items() if seen.isdisjoint(tokens)]
    return absent if len(absent) < len(asked) else []


def defined_names(query: str, results: Sequence[Result]) -> list[str]:
    """Return the names that the best results define and the query does not have.

    Names in their texts do not count: licences and imports are texts, too.
    """
    names = dict.fromkeys(each.symbol.rpartition(".")[2] for each in results[:BEST] if each.symbol)
    return [name for name in names if not _asked(name, query)]


def _asked(word: str, query: str) -> bool:
    return set(query_words(word)) <= set(query_words(query))


def _tokens(result: Result) -> list[str]:
    return words(f"{result.document} {split_identifier(result.symbol)} {result.text}")


def _quoted(names: Sequence[str], tongue: Language) -> str:
    shown = [f"`{_short(name)}`" for name in names[:MAX_SUGGESTIONS]]
    more = (
        _say(MORE, tongue, count=len(names) - MAX_SUGGESTIONS)
        if len(names) > MAX_SUGGESTIONS
        else ""
    )
    return {"en": ", ", "ja": "、"}[tongue].join(shown) + more


def _short(name: str) -> str:
    name = visible(" ".join(name.split())).replace("`", "'")
    return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…"


def _sentences(clauses: Sequence[str], tongue: Language) -> str:
    return {"en": ". ", "ja": "。"}[tongue].join(clauses) + {"en": ".", "ja": "。"}[tongue]


def _say(said: Phrase, tongue: Language, **values: object) -> str:
    return (said.ja if tongue == "ja" else said.en).format(**values)


def _tongue(language: str) -> Language:
    return "ja" if language == "ja" else "en"
