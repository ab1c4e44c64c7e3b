"""Make the next query from the results of the last ones (seed 003 §2.1; docs/decisions/0042).

Each of its words has a source: the goal, the expectations, the best hits, or a rule of the caller.
Words that no hit has are dropped. No two queries of a plan are equivalent.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from code_intel.chunking.card import salient_identifiers
from code_intel.chunking.words import query_words, split_identifier, words
from code_intel.forest.text.globs import matches
from code_intel.planning.goals import (
    asked_for,
    distinct,
    english_of,
    folded,
    keywords,
    language_of,
    says,
    spoken,
)
from code_intel.planning.records import QueryPlan, Refinement, Result

BEST_HITS = 3
"""Hits whose common words are taken up."""
MAX_COMMON_WORDS = 5
"""Words of the best hits that a query gets."""
MAX_EXPECTATIONS = 8
"""Expectations that a query is given."""

MAX_RULE_CHARS = 500
"""Characters of a rule that are read."""
MIN_TERM_LETTERS = 3
"""Letters of a word that is taken up from a hit; two kanji are one."""

_INTRODUCED = re.compile(r"^\s*(?:please\s+)?(?:add|include|search(?:\s+for)?)\s+", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:search\s+)?in\s+(?:the\s+)?([\w./-]+)\s*(?:folder|directory)?\s*$", re.IGNORECASE
)
_GLOB = re.compile(r"[^\s,;()]*\*[^\s,;()]*")
_FILLERS = frozenset(  # of rules: what is to be done, not what is to be asked for
    "add best file files filter filters include related search type types".split()  # noqa: SIM905
)
_LITERAL = re.compile(r"[^\W\d_]\w{2,}")
_ESCAPED = re.compile(r"\\.")


@dataclass(frozen=True, slots=True)
class ExpansionRule:
    """One of the caller's rules, read: words to add, and where results shall rather come from."""

    terms: tuple[str, ...]
    glob: str = ""
    folder: str = ""


def rule_terms(rule: str) -> ExpansionRule:
    """Parse a rule: `add X`, `include X`, `search in X`; anything else is words to add.

    A glob (`*.test.ts`) or, after `in`, a folder (`docs`) is a place that results should come from.
    Its words are searched, too, because names of tests and documents have them.
    """
    rule = rule[:MAX_RULE_CHARS]
    globs = _GLOB.findall(rule)
    rest = _GLOB.sub(" ", rule)
    place = _PLACE.search(rest)
    folder = place[1].strip("./") if place else ""
    rest = rest[: place.start()] if place else rest
    spoken = [
        word for word in keywords(_INTRODUCED.sub("", rest)) if word.casefold() not in _FILLERS
    ]
    where = [
        *(split_identifier(re.sub(r"[*.{}/\[\]?]+", " ", glob)) for glob in globs),
        folder.replace("/", " "),
    ]
    return ExpansionRule(
        tuple(distinct([*spoken, *" ".join(where).split()])), globs[0] if globs else "", folder
    )


def arranged(rules: Sequence[str], query: str, results: Sequence[Result]) -> tuple[Result, ...]:
    """Return the results of a query, those in the places of its rules first.

    A query follows a rule if it has all of the rule's words.
    """
    asked = folded(query)
    places = [
        rule
        for rule in map(rule_terms, rules)
        if rule.terms and folded(" ".join(rule.terms)) <= asked
    ]
    return tuple(
        sorted(results, key=lambda each: -sum(_there(rule, each.document) for rule in places))
    )


def next_query(plan: QueryPlan) -> str | None:
    """Return the next query, or None when the evidence says nothing that was not asked yet."""
    tried = {folded(each.query) for each in plan.iterations}
    for query in _candidates(plan, RefinementEvidence(plan)):
        if query and folded(query) not in tried:
            return query
    return None


def rule_waits(plan: QueryPlan) -> bool:
    """Whether a rule of the caller was not asked for yet."""
    return _rule(plan) is not None


class RefinementEvidence:
    """What the iterations of a plan show.

    Attributes:
        seen: In how many of the distinct hits each index token is: in their text, symbol or path.
        total: How many distinct hits there are.
        asked: Tokens that were looked up.
        best: What the iteration that came closest has found.
    """

    def __init__(self, plan: QueryPlan) -> None:
        hits = {
            (hit.document, hit.position): hit for each in plan.iterations for hit in each.results
        }
        texts = (f"{hit.document} {hit.symbol} {hit.text}" for hit in hits.values())
        self.seen = Counter(token for text in texts for token in set(words(text)))
        self.total = len(hits)
        self.asked = frozenset[str]().union(*(asked_for(each.query) for each in plan.iterations))
        closest = max(plan.iterations, key=lambda each: each.evaluation.score, default=None)
        self.best = closest.results[:BEST_HITS] if closest else ()

    def in_vain(self, word: str) -> bool:
        """Whether a word was asked for and is in no hit."""
        tokens = query_words(word)
        return bool(tokens) and all(
            token in self.asked and not self.seen[token] for token in tokens
        )

    def found(self, word: str) -> bool:
        """Whether all of a word is in some hit."""
        return all(self.seen[token] for token in query_words(word))


def _candidates(plan: QueryPlan, evidence: RefinementEvidence) -> Iterator[str]:
    subject = _subject(plan, evidence)
    moves = [move(plan, evidence, subject) for move in METHODS[plan.strategy.refinement]]
    rule = _rule(plan)
    if rule:
        yield _following(rule, _joined(moves[0]) or subject)
        yield _following(rule, subject)
    yield from map(_joined, moves)
    if not asked_for(plan.goal) <= evidence.asked:
        yield subject


def _expecting(plan: QueryPlan, evidence: RefinementEvidence, subject: str) -> list[str]:
    """Ask for the goal with what is expected: files that have both come first."""
    wanted = _wanted(plan, evidence)
    return [subject, *wanted] if wanted else []


def _expected_alone(plan: QueryPlan, evidence: RefinementEvidence, _subject: str) -> list[str]:
    """Ask for what is expected without the goal, whose words may be what led astray."""
    return _wanted(plan, evidence)


def _resembling(plan: QueryPlan, evidence: RefinementEvidence, subject: str) -> list[str]:
    """Ask for the goal with what the best hits speak of and the others do not."""
    common = _common(plan, evidence)
    return [subject, *common] if common else []


METHODS: Mapping[
    Refinement, tuple[Callable[[QueryPlan, RefinementEvidence, str], list[str]], ...]
] = MappingProxyType(
    {
        "keywords": (_expecting, _expected_alone),
        "semantic": (_resembling,),
        "hybrid": (_expecting, _expected_alone, _resembling),
    }
)
"""What is asked next, by method, in the order in which it is tried."""


def _wanted(plan: QueryPlan, evidence: RefinementEvidence) -> list[str]:
    """Return the expected words that are not in the goal, those that no hit has first."""
    literals = [
        word
        for pattern in plan.expected.patterns
        if "|" not in pattern  # of alternatives no one is expected for itself
        for word in _LITERAL.findall(_ESCAPED.sub(" ", pattern))
    ]
    wanted = [
        word
        for word in distinct([*plan.expected.keywords, *literals])
        if not says(plan.goal, word) and not evidence.in_vain(word)
    ]
    return sorted(wanted, key=evidence.found)[:MAX_EXPECTATIONS]


def _common(plan: QueryPlan, evidence: RefinementEvidence) -> list[str]:
    """Return words of the best hits' names, by rarity among all hits and quality."""
    known = asked_for(" ".join((plan.goal, *plan.expected.keywords)))
    worth: dict[str, float] = defaultdict(float)
    for place, hit in enumerate(evidence.best):
        names = dict.fromkeys((hit.symbol.rpartition(".")[2], *salient_identifiers(hit.text, ())))
        split = " ".join(map(split_identifier, names)).lower().split()
        for word in dict.fromkeys(part for each in split for part in spoken(each)):
            (token, *_) = words(word) or [""]
            short = word.isdigit() or (word.isascii() and len(word) < MIN_TERM_LETTERS)
            if token and token not in known and not short:
                rare = math.log((evidence.total + 1) / (evidence.seen[token] + 0.5))
                worth[word] += rare / (place + 1)
    ranked = sorted(worth.items(), key=lambda item: (-item[1], item[0]))
    return distinct(word for word, value in ranked if value > 0)[:MAX_COMMON_WORDS]


def _subject(plan: QueryPlan, evidence: RefinementEvidence) -> str:
    """Return the goal without the words that found nothing; the whole goal if no word remains.

    For a Japanese goal these are English words, once hits show which of them the project uses.
    """
    japanese = language_of(plan.goal) == "ja" and evidence.total
    said = english_of(plan.goal) if japanese else plan.goal.split()
    kept = [word for word in said if not evidence.in_vain(word)]
    return " ".join(kept) if any(map(query_words, kept)) else plan.goal


def _rule(plan: QueryPlan) -> ExpansionRule | None:
    """Return the first rule whose words no query had yet."""
    asked = [folded(each.query) for each in plan.iterations]
    for rule in map(rule_terms, plan.strategy.rules):
        if rule.terms and not any(folded(" ".join(rule.terms)) <= query for query in asked):
            return rule
    return None


def _following(rule: ExpansionRule, query: str) -> str:
    """Return a query with those words of a rule that it has not yet."""
    said = folded(query)
    return _joined([query, *(word for word in rule.terms if not folded(word) <= said)])


def _joined(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)


def _there(rule: ExpansionRule, document: str) -> bool:
    name = document.rpartition("/")[2]
    glob = bool(rule.glob) and matches(document if "/" in rule.glob else name, rule.glob)
    return glob or (bool(rule.folder) and f"/{rule.folder}/" in f"/{document}")
