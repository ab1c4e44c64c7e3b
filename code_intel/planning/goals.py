"""Make the queries of a plan from its goal and its results (seed 003 §1 and §2.1).

Each of their words comes from the goal, the expectations, a rule of the caller, or the names of the
definitions that the best results contain. The goal is always used whole, and no two queries of a
plan are equivalent (docs/decisions/0042). No model and no index is needed.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from code_intel.chunking.lexicon import terms, unread
from code_intel.chunking.words import STOP_WORDS, query_words, split_identifier
from code_intel.forest.text.globs import matches
from code_intel.planning import outcome
from code_intel.planning.records import (
    MAX_GOAL_CHARS_READ,
    MAX_KEYWORDS,
    QueryPlan,
    Result,
    Strategy,
)
from code_intel.records import Language

BROAD = 2
"""Keywords of a broad query."""
BEST_RESULTS = 3
"""Results whose definitions are used."""

_PLACE = re.compile(
    r"\b(?:search\s+)?in\s+(?:the\s+)?([\w./-]+)\s*(?:folder|directory)?\s*$", re.IGNORECASE
)
_GLOB = re.compile(r"[^\s,;()]*\*[^\s,;()]*")
_FILLERS = frozenset(  # of rules: what is to be done, not what is to be asked for
    "add best file files filter filters include please related search type types".split()  # noqa: SIM905
)

_JAPANESE = re.compile("[\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff]")
_SPOKEN = re.compile(r"[\w$]+(?:(?:\.|::|->|#|-|/)[\w$]+)*")
_ENDINGS = re.compile("[\u3041-\u3096ー]+$")
# What people do with an answer is not what the answer speaks of.
_ASKING = frozenset(
    """check comprehend comprehensive complete completely describe detail details detailed discover
    examine explain explore figure full fully grasp identify inspect investigate know learn locate
    look overview question see study tell thorough thoroughly understand want works
    理解 把握 解説 精査 網羅""".split()  # noqa: SIM905 - a text is easier to read and edit
)


def language_of(goal: str) -> Language:
    """Return the language of a goal: Japanese, or English for all others."""
    return "ja" if _JAPANESE.search(unicodedata.normalize("NFKC", goal)) else "en"


def keywords(goal: str) -> tuple[str, ...]:
    """Return the keywords of a goal, each once, the most significant first.

    For a Japanese goal the English words of its terms come first, then the terms: code has the
    former, comments and documents may have the latter. At most MAX_KEYWORDS; never empty for a goal
    with a word or a number.
    """
    text = unicodedata.normalize("NFKC", goal[:MAX_GOAL_CHARS_READ])
    every = _japanese(text) if _JAPANESE.search(text) else _SPOKEN.findall(text)
    telling = [word for word in every if not _says_nothing(word)]
    return tuple(distinct(telling or every or _SPOKEN.findall(text)))[:MAX_KEYWORDS]


def first_queries(
    goal: str, strategy: Strategy, initial: Sequence[str] = (), expected: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the first queries of a plan: the caller's in order, then ours.

    Ours is the goal with the expected words or, by `strategy.initial`, the first two keywords of
    the goal (`broad`) or all of them (`specific`). Equivalent queries are left out.
    """
    words = keywords(goal)
    ours = {"broad": " ".join(words[:BROAD]), "specific": " ".join(words)}
    made = ours.get(strategy.initial or "") or well_formed(goal, expected)
    return tuple(distinct(" ".join(query.split()) for query in (*initial, made)))


def well_formed(goal: str, words: Sequence[str]) -> str:
    """Return a goal with the words that it does not contain yet."""
    return " ".join((goal, *(word for word in distinct(words) if not says(goal, word))))


def folded(query: str) -> frozenset[str]:
    """Return the terms of a query without order, case and endings; equal terms are one query."""
    return frozenset(query_words(query)) or frozenset({query.strip().casefold()})


def distinct(queries: Iterable[str]) -> list[str]:
    """Return those that are about something new, in order."""
    found: dict[frozenset[str], str] = {}
    for query in queries:
        if query.strip():
            found.setdefault(folded(query), query)
    return list(found.values())


def says(query: str, word: str) -> bool:
    """Return whether a query has a word: literally, with another ending, or in English."""
    query = unicodedata.normalize("NFKC", query)
    return word.casefold() in query.casefold() or folded(word) <= asked_for(query)


def asked_for(query: str) -> frozenset[str]:
    """Return the index tokens that a query looks up; of a Japanese one, the English ones, too."""
    read = terms(query[:MAX_GOAL_CHARS_READ])
    english = " ".join(said[0] for _, said in read if not _says_nothing(said[0]))
    return frozenset((*query_words(query), *query_words(english)))


def _japanese(text: str) -> list[str]:
    read = terms(text)
    own = [term for term, said in read if not _says_nothing(said[0])]
    # Without single kanji, which are stems of verbs, as in 移り方.
    unknown = [run for run in unread(text) if len(run) > 1 and run[0] != "何"]
    return [*(said[0] for _, said in read), *own, *unknown] or _SPOKEN.findall(text)


def _says_nothing(word: str) -> bool:
    plain = word.casefold()
    alone = len(word) == 1 and word.isascii() and not word.isdigit()
    return alone or plain in STOP_WORDS or plain in _ASKING or bool(_ENDINGS.fullmatch(word))


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
    globs = _GLOB.findall(rule)
    rest = _GLOB.sub(" ", rule)
    place = _PLACE.search(rest)
    folder = place[1].strip("./") if place else ""
    rest = rest[: place.start()] if place else rest
    words = [word for word in keywords(rest) if word.casefold() not in _FILLERS]
    where = split_identifier(re.sub(r"[*.{}/\[\]?]+", " ", " ".join((*globs, folder)))).split()
    return ExpansionRule(tuple(distinct([*words, *where])), globs[0] if globs else "", folder)


def arranged(rules: Sequence[str], query: str, results: Sequence[Result]) -> tuple[Result, ...]:
    """Return the results of a query, those in the places of its rules first.

    A query follows a rule if it has all of the rule's words.
    """
    asked = folded(query)
    parsed = [rule for rule in map(rule_terms, rules) if rule.terms]
    places = [rule for rule in parsed if folded(" ".join(rule.terms)) <= asked]
    return tuple(
        sorted(results, key=lambda each: -sum(_there(rule, each.document) for rule in places))
    )


def next_query(plan: QueryPlan) -> str | None:
    """Return the next query; None if everything that the method suggests was tried."""
    tried = {folded(each.query) for each in plan.iterations}
    return next((each for each in _candidates(plan) if each and folded(each) not in tried), None)


def _candidates(plan: QueryPlan) -> Iterator[str]:
    """Yield the next rule's query, then those of the method, in the order to try them."""
    asked = [folded(each.query) for each in plan.iterations]
    for rule in map(rule_terms, plan.strategy.rules):
        if rule.terms and not any(folded(" ".join(rule.terms)) <= query for query in asked):
            yield well_formed(plan.goal, rule.terms)
            break
    words = plan.expected.keywords
    # The words of the goal may be what led astray.
    by_words = (well_formed(plan.goal, words), " ".join(distinct(words)))
    best = outcome.best(plan)
    names = defined_names(best.results, " ".join((plan.goal, *words))) if best else []
    by_names = (well_formed(plan.goal, names),) if names else ()
    methods = {"keywords": by_words, "semantic": by_names, "hybrid": (*by_words, *by_names)}
    yield from methods[plan.strategy.refinement]


def defined_names(results: Sequence[Result], known: str) -> list[str]:
    """Return the names that the best results define and that a text does not say.

    Names in their texts do not count: licences and imports are texts, too.
    """
    names = dict.fromkeys(each.symbol.rpartition(".")[2] for each in results[:BEST_RESULTS])
    return [name for name in names if name and not says(known, name)]


def _there(rule: ExpansionRule, document: str) -> bool:
    name = document.rpartition("/")[2]
    glob = bool(rule.glob) and matches(document if "/" in rule.glob else name, rule.glob)
    return glob or (bool(rule.folder) and f"/{rule.folder}/" in f"/{document}")
