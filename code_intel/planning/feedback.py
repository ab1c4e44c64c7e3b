"""Describe an evaluation in the language of the goal: what is missing, and what to try.

The sentences are tables with a column for each language. Names come from the caller and from files,
so they are quoted, on one line, with hidden characters visible, and only a few are shown.
"""

from collections.abc import Sequence
from typing import NamedTuple

from code_intel.foundation.text import visible
from code_intel.planning.evaluation import PARTIAL, hundredths
from code_intel.planning.goals import defined_names, says
from code_intel.planning.records import Evaluation, Expected, Result
from code_intel.records import Language

MAX_SUGGESTIONS = 5
"""Suggestions, and names in a sentence."""
MAX_NAME_CHARS = 60
"""Characters of a name."""
UNLIKE_SIMILARITY = 0.3
"""Mean similarity below which results are not similar to their query. Of our labelled questions one
in ten is below with vectors, two in five by words alone.
"""


class Phrase(NamedTuple):
    """A sentence in each language."""

    en: str
    ja: str

    def say(self, language: Language, **values: object) -> str:
        """Return the sentence with its values."""
        return (self.ja if language == "ja" else self.en).format(**values)


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

COMMA, STOP = Phrase(", ", "、"), Phrase(". ", "。")

ASK = Phrase(
    "Add {names}: expected, but in no result so far.",
    "{names} を加える: 期待した語がまだどの結果にもありません。",
)
PATTERN = Phrase(
    "Add words for {names}: no match so far.",
    "{names} に当たる語を加える: まだ一致がありません。",
)
NAMES = Phrase(
    "Add {names}: defined in the best results.",
    "{names} を加える: 上位の結果で定義されています。",
)
OTHER = Phrase(
    "Use other words, or name a symbol or file.",
    "言い換えるか、シンボル名やファイル名を挙げる。",
)


def described(
    query: str,
    evaluation: Evaluation,
    results: Sequence[Result],
    expected: Expected,
    language: Language,
) -> tuple[str, tuple[str, ...]]:
    """Return a line with the confidence and what is missing, and what to try next.

    Nothing is suggested if the confidence was reached. Each suggestion has its evidence.
    """
    reached = bool(results) and evaluation.confidence >= expected.confidence
    similarity, count = evaluation.metrics.semantic_similarity, len(results)
    is_unlike = similarity < UNLIKE_SIMILARITY
    missing = evaluation.unmatched
    clauses = {
        NO_RESULTS: not results,
        REACHED: reached,
        NOT_REACHED: bool(results) and not reached,
        NOT_FOUND: bool(missing),
        TOO_FEW_RESULTS: not reached and 0 < count < expected.min_matches,
        UNLIKE: not reached and count > 0 and is_unlike,
    }
    values = {
        "confidence": hundredths(evaluation.confidence),
        "requested": expected.confidence,
        "names": _quoted(missing, language),
        "count": count,
        "least": expected.min_matches,
        "value": similarity,
    }
    said = (phrase.say(language, **values) for phrase, holds in clauses.items() if holds)
    line = "".join(f"{clause}{STOP.say(language)}" for clause in said).rstrip()
    if reached:
        return line, ()
    named = {
        ASK: [each for each in missing if each not in expected.patterns and not says(query, each)],
        PATTERN: [each for each in missing if each in expected.patterns],
        NAMES: []
        if is_unlike or evaluation.confidence <= PARTIAL
        else defined_names(results, query),
        OTHER: [""] if is_unlike else [],
    }
    return line, tuple(
        phrase.say(language, names=_quoted(names, language))
        for phrase, names in named.items()
        if names
    )


def _quoted(names: Sequence[str], language: Language) -> str:
    shown = [f"`{_short(name)}`" for name in names[:MAX_SUGGESTIONS]]
    more = len(names) - len(shown)
    return COMMA.say(language).join(shown) + (MORE.say(language, count=more) if more else "")


def _short(name: str) -> str:
    name = visible(" ".join(name.split())).replace("`", "'")
    return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…"
