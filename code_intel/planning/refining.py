"""The next query, made from what the last ones found (resolution of seed 003 §2.1; docs/decisions/0042).

Every word of it has evidence: it was expected and not found yet, or the best hits have it in common, or
a rule of the caller says it. What was asked and is in no hit is dropped. Nothing is made up, and no two
queries of a plan ask the same.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from code_intel.chunking.card import salient
from code_intel.chunking.words import query_words, split_identifier, words
from code_intel.forest.globs import matches
from code_intel.planning.goals import distinct, english_of, folded, keywords, language_of
from code_intel.planning.records import Plan, Refinement, Result

BEST = 3
"""Hits whose common words are taken up."""
ADDED = 5
"""Words of each kind that a query is given."""

SHORTEST = 3
"""Letters of a word that is taken up from a hit."""

_INTRODUCED = re.compile(r"^\s*(?:please\s+)?(?:add|include|search(?:\s+for)?)\s+", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:search\s+)?in\s+(?:the\s+)?([\w./-]+)\s*(?:folder|directory)?\s*$", re.IGNORECASE
)
_GLOB = re.compile(r"[^\s,;()]*\*[^\s,;()]*")
_FILLERS = frozenset("file files filter filters type types related search add include best".split())  # noqa: SIM905
_LITERAL = re.compile(r"[^\W\d_]\w{2,}")
_ESCAPED = re.compile(r"\\.")


@dataclass(frozen=True, slots=True)
class Rule:
    """One of the caller's rules, read: words to add, and where results shall rather come from."""

    terms: tuple[str, ...]
    glob: str = ""
    folder: str = ""


def rule_terms(rule: str) -> Rule:
    """Read a rule: `add X`, `include X`, `search in X`; anything else is words to add.

    A glob (`*.test.ts`) or, behind `in`, a folder (`docs`) says where results shall come from; its words
    are asked for, too, since that is how a search is told of tests, documents and settings.
    """
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
    return Rule(
        tuple(distinct([*spoken, *" ".join(where).split()])), globs[0] if globs else "", folder
    )


def arranged(rules: Sequence[str], query: str, results: Sequence[Result]) -> tuple[Result, ...]:
    """Return the results of a query with those first that are where its rules point; order kept else.

    A query follows a rule when it has all of the rule's words.
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


def next_query(plan: Plan) -> str | None:
    """Return the next query, or None when the evidence says nothing that was not asked yet."""
    tried = {folded(each.query) for each in plan.iterations}
    for query in _candidates(plan):
        if query and folded(query) not in tried:
            return query
    return None


def _candidates(plan: Plan) -> Iterator[str]:
    seen = _seen(plan)
    subject = _subject(plan, seen)
    made = [how(plan, seen) for how in METHODS[plan.strategy.refinement]]
    rule = _rule(plan)
    if rule:
        yield _joined([subject, *(word for words_ in made[:1] for word in words_), *rule.terms])
        yield _joined([subject, *rule.terms])
    for added in made:
        if added:
            yield _joined([subject, *added])
    yield subject


def _wanted(plan: Plan, seen: Counter[str]) -> list[str]:
    """Return what was expected, is in no hit, and was not asked for in vain."""
    asked = {word for each in plan.iterations for word in query_words(each.query)}
    literal = [
        word
        for pattern in plan.expected.patterns
        if "|" not in pattern  # of alternatives no one is expected for itself
        for word in _LITERAL.findall(_ESCAPED.sub(" ", pattern))
    ]
    missing = [
        word
        for word in (*plan.expected.keywords, *literal)
        if not (tokens := query_words(word))
        or not all(token in seen or token in asked for token in tokens)
    ]
    return distinct(missing)[:ADDED]


def _common(plan: Plan, seen: Counter[str]) -> list[str]:
    """Return what the best hits speak of and the others do not: by how rare it is among all that was found."""
    best = max(plan.iterations, key=lambda each: each.evaluation.score, default=None)
    if best is None:
        return []
    total = len({(hit.document, hit.position) for each in plan.iterations for hit in each.results})
    known = {word for text in (plan.goal, *plan.expected.keywords) for word in query_words(text)}
    worth: dict[str, float] = defaultdict(float)
    for place, hit in enumerate(best.results[:BEST]):
        names = dict.fromkeys((hit.symbol.rpartition(".")[2], *salient(hit.text, ())))
        for word in dict.fromkeys(" ".join(map(split_identifier, names)).lower().split()):
            (token, *_) = words(word) or [""]
            if token and token not in known and len(word) >= SHORTEST:
                worth[word] += math.log((total + 1) / (seen[token] + 0.5)) / (place + 1)
    ranked = sorted(worth.items(), key=lambda item: (-item[1], item[0]))
    return distinct(word for word, value in ranked if value > 0)[:ADDED]


def _both(plan: Plan, seen: Counter[str]) -> list[str]:
    return distinct([*_wanted(plan, seen), *_common(plan, seen)])[:ADDED]


METHODS: Mapping[Refinement, tuple[Callable[[Plan, Counter[str]], list[str]], ...]] = (
    MappingProxyType(
        {
            "keywords": (_wanted,),
            "semantic": (_common,),
            "hybrid": (_both, _wanted, _common),
        }
    )
)
"""What a query is given beside the goal, by method, in the order in which it is tried."""


def _subject(plan: Plan, seen: Mapping[str, int]) -> str:
    """Return the goal without the words that no hit has; all of it when that leaves nothing."""
    said = english_of(plan.goal) if language_of(plan.goal) == "ja" else plan.goal.split()
    kept = [
        word
        for word in said
        if not (tokens := query_words(word)) or any(token in seen for token in tokens)
    ]
    return " ".join(kept) if any(map(query_words, kept)) else plan.goal


def _seen(plan: Plan) -> Counter[str]:
    """Return in how many of the distinct hits each token is: in their text, symbol or path."""
    hits = {(hit.document, hit.position): hit for each in plan.iterations for hit in each.results}
    return Counter(
        token
        for hit in hits.values()
        for token in set(words(f"{hit.document} {hit.symbol} {hit.text}"))
    )


def _rule(plan: Plan) -> Rule | None:
    """Return the first rule whose words no query had yet."""
    asked = [folded(each.query) for each in plan.iterations]
    for rule in map(rule_terms, plan.strategy.rules):
        if rule.terms and not any(folded(" ".join(rule.terms)) <= query for query in asked):
            return rule
    return None


def _joined(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)


def _there(rule: Rule, document: str) -> bool:
    name = document.rpartition("/")[2]
    glob = bool(rule.glob) and matches(document if "/" in rule.glob else name, rule.glob)
    return glob or (bool(rule.folder) and f"/{rule.folder}/" in f"/{document}")
