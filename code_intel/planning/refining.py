"""Make the next query of a plan (seed 003 §2.1; docs/decisions/0042).

Each of its words comes from the goal, the expectations, a rule of the caller, or the names of the
definitions that the best results contain. The goal is always used whole. No two queries of a plan
are equivalent.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from code_intel.chunking.words import split_identifier
from code_intel.forest.text.globs import matches
from code_intel.planning import outcome
from code_intel.planning.goals import asked_for, distinct, folded, keywords, well_formed
from code_intel.planning.records import QueryPlan, Refinement, Result

BEST_RESULTS = 3
"""Results whose definitions are used."""
MAX_NAMES = 5
"""Words of these definitions that a query gets."""
MAX_RULE_CHARS = 500
"""Characters of a rule that are read."""
MIN_NAME_CHARS = 3

_INTRODUCED = re.compile(r"^\s*(?:please\s+)?(?:add|include|search(?:\s+for)?)\s+", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:search\s+)?in\s+(?:the\s+)?([\w./-]+)\s*(?:folder|directory)?\s*$", re.IGNORECASE
)
_GLOB = re.compile(r"[^\s,;()]*\*[^\s,;()]*")
_FILLERS = frozenset(  # of rules: what is to be done, not what is to be asked for
    "add best file files filter filters include related search type types".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class ExpansionRule:
    """One of the caller's rules: words to add, and where results shall rather come from."""

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
    told = [word for word in keywords(_INTRODUCED.sub("", rest)) if word.casefold() not in _FILLERS]
    where = [
        *(split_identifier(re.sub(r"[*.{}/\[\]?]+", " ", glob)) for glob in globs),
        folder.replace("/", " "),
    ]
    return ExpansionRule(
        tuple(distinct([*told, *" ".join(where).split()])), globs[0] if globs else "", folder
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
    """Return the next query; None if everything that the method suggests was tried."""
    tried = {folded(each.query) for each in plan.iterations}
    return next(
        (query for query in _candidates(plan) if query and folded(query) not in tried), None
    )


def _candidates(plan: QueryPlan) -> Iterator[str]:
    asked = [folded(each.query) for each in plan.iterations]
    for rule in map(rule_terms, plan.strategy.rules):
        if rule.terms and not any(folded(" ".join(rule.terms)) <= query for query in asked):
            yield well_formed(plan.goal, rule.terms)
            break
    for method in METHODS[plan.strategy.refinement]:
        yield method(plan)


def _with_expectations(plan: QueryPlan) -> str:
    return well_formed(plan.goal, plan.expected.keywords)


def _expectations_alone(plan: QueryPlan) -> str:
    """Leave out the goal, whose words may be what led astray."""
    return " ".join(distinct(plan.expected.keywords))


def _with_names(plan: QueryPlan) -> str:
    """Add the names of the definitions in the best results."""
    names = names_of(plan)
    return well_formed(plan.goal, names) if names else ""


METHODS: Mapping[Refinement, tuple[Callable[[QueryPlan], str], ...]] = MappingProxyType(
    {
        "keywords": (_with_expectations, _expectations_alone),
        "semantic": (_with_names,),
        "hybrid": (_with_expectations, _expectations_alone, _with_names),
    }
)
"""The queries of each method, in the order in which they are tried."""


def names_of(plan: QueryPlan) -> list[str]:
    """Return words of the names that the best results define and no query had.

    Only names of definitions are used: texts contain licences and imports.
    """
    best = outcome.best(plan)
    results = best.results[:BEST_RESULTS] if best else ()
    symbols = [result.symbol.rpartition(".")[2] for result in results]
    known = asked_for(" ".join((plan.goal, *plan.expected.keywords)))
    parts = split_identifier(" ".join(symbols)).lower().split()
    words = [word for word in parts if len(word) >= MIN_NAME_CHARS or not word.isascii()]
    return [word for word in distinct(words) if not folded(word) <= known][:MAX_NAMES]


def _there(rule: ExpansionRule, document: str) -> bool:
    name = document.rpartition("/")[2]
    glob = bool(rule.glob) and matches(document if "/" in rule.glob else name, rule.glob)
    return glob or (bool(rule.folder) and f"/{rule.folder}/" in f"/{document}")
