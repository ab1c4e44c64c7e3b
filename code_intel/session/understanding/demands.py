"""State what READY demands, by risk, as one table; judge each claim by it (docs/decisions/0054).

No demand exceeds what the index shows: a symbol without callers or tests has none to list. Who uses
a symbol and what tests it need not be looked up: the answer lists what was not printed yet.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from code_intel.session.risk import Risk, at_least
from code_intel.session.understanding.claims import Claim
from code_intel.session.understanding.reading import unread_lines

MAX_CALLERS = 5
"""Callers of a symbol that must have been printed at HIGH risk."""
MAX_TESTS = 5
FEATURE_SLOTS = frozenset({"target_feature", "desired_action", "query"})
"""Slots of which the code of each symbol must speak from MEDIUM on, and its quote at HIGH; one is
enough."""


class UseFacts(NamedTuple):
    """A line that uses a symbol.

    Attributes:
        file: Its file.
        line: The line, counted from 1.
        printed: Whether the session has printed it; for a test, whether an answer listed its file.
        symbol: The symbol around it; empty at the top level.
        text: The line as an answer shows it; cut if it is long.
    """

    file: str
    line: int
    printed: bool = False
    symbol: str = ""
    text: str = ""

    @property
    def row(self) -> str:
        """The use as a line of an answer."""
        symbol = f"{self.symbol}: " if self.symbol else ""
        return f"{self.file}:{self.line} {symbol}{self.text}"


class ClaimFacts(NamedTuple):
    """What the index, the files and the session's prints say about one claimed symbol.

    Attributes:
        name: Its name.
        file: The file that defines it; empty if it is not defined or not certain which one is
            meant.
        first: The first line of its definition.
        last: The last line.
        places: All definitions as `file:line`, if it is not certain which one is meant.
        printed: The current lines of its file that the session has printed.
        was_printed: Whether lines of it were printed that have changed since.
        quote_stands: Whether the quote stands in its printed lines.
        quote_is_unread: Whether the quote stands in lines of it that were not printed.
        is_new: Whether it was added since the session began.
        readable: Whether the index can read symbols of its language.
        plausible: Whether it is a plausible place for the request.
        missing_link: Why it is not.
        first_hits: What the search ranks first.
        speaks_of: The slots of which quote, name or documentation speak.
        slot_lines: For each slot, a line of its code that speaks of it; a printed one, if any does.
        uses: Number of lines that use it.
        references_seen: Whether its uses were looked up or printed.
        callers: The nearest uses, at most `MAX_CALLERS`.
        tests: Uses in tests, at most `MAX_TESTS`.
        users: The files with a use that the session has printed, tests included.
    """

    name: str
    file: str = ""
    first: int = 0
    last: int = 0
    places: tuple[str, ...] = ()
    printed: frozenset[int] = frozenset()
    was_printed: bool = False
    quote_stands: bool = False
    quote_is_unread: bool = False
    is_new: bool = False
    readable: bool = True
    plausible: bool = True
    missing_link: str = ""
    first_hits: tuple[str, ...] = ()
    speaks_of: frozenset[str] = frozenset()
    slot_lines: Mapping[str, int] = MappingProxyType({})
    uses: int = 0
    references_seen: bool = False
    callers: tuple[UseFacts, ...] = ()
    tests: tuple[UseFacts, ...] = ()
    users: tuple[str, ...] = ()

    @property
    def is_defined(self) -> bool:
        """Whether it is certain which code is meant."""
        return bool(self.file)


IN_FIRST_HITS = "first_hits names it"


class Lack(NamedTuple):
    """A demand that is not met, and the remedy with its call filled in.

    `first_hits` are names from files, so they belong in data and not in messages.
    """

    demand: str
    symbol: str
    why: str
    then: str
    first_hits: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The lack as one line."""
        return f"{self.demand}: {self.symbol} {self.why}"


class Demand(NamedTuple):
    """A row of `DEMANDS`: what is demanded of each symbol from a risk on.

    Attributes:
        name: Its name.
        since: The lowest risk that demands it.
        lacks: Yields what a claim lacks, and the remedy.
        is_supplied: Whether the answer lists what is missing, so that it never leads to a refusal.
    """

    name: str
    since: Risk
    lacks: Callable[[Claim, ClaimFacts], Iterator[tuple[str, str]]]
    is_supplied: bool = False


def read_call(file: str, first: int, last: int) -> str:
    """Return the call that prints lines of a file."""
    return f'snippets_get(path="{file}", start_line={first}, end_line={last})'


def _undefined(claim: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    if facts.is_defined:
        return
    if facts.places:
        yield (
            f"is defined in {', '.join(facts.places)}",
            "Say in its file which one you mean",
        )
        return
    yield (
        "is not defined in the index",
        f'Look it up with find_definitions(symbol="{claim.key}"), or leave it out',
    )


def _added(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    if facts.is_new:
        yield "was added during this session", "Name the existing code that the change rests on"


def _unread(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    if facts.was_printed:
        yield from _unread_lines(facts, "has changed since it was printed")
    elif not _is_begun(facts):
        yield from _unread_lines(facts, "was never printed in this session")


def _partly_read(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    if _is_begun(facts) and not facts.was_printed:
        yield from _unread_lines(facts, "was printed only in part")


def _is_begun(facts: ClaimFacts) -> bool:
    return not facts.printed.isdisjoint(range(facts.first, facts.last + 1))


def _unread_lines(facts: ClaimFacts, why: str) -> Iterator[tuple[str, str]]:
    lines = unread_lines(facts.first, facts.last, facts.printed)
    if facts.readable and lines is not None:
        where = f"{facts.file}:{lines[0]}-{lines[1]}"
        yield why, f"Read {where}: {read_call(facts.file, *lines)}"


def _unquoted(claim: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    example = f'{{"symbol": "{claim.key}", "explanation": "…", "quote": "…"}}'
    if not claim.quote.strip():
        yield (
            "has no quote",
            f"Copy a line from {facts.file}:{facts.first}-{facts.last} as its quote: {example}",
        )
    elif not claim.explanation.strip():
        yield "has no explanation", f"Say in one sentence why the change rests on it: {example}"
    elif not facts.quote_stands:
        why = (
            "has a quote from lines that were not printed at their current content"
            if facts.quote_is_unread
            else "has a quote that does not stand in its printed code"
        )
        yield (
            why,
            f"Copy it verbatim from {read_call(facts.file, facts.first, facts.last)}",
        )


def _implausible(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    if not facts.plausible:
        yield (
            f"is not a plausible place. {facts.missing_link}".strip(" ."),
            f"Rest on code that the search ranks first; {IN_FIRST_HITS}",
        )


def _silent_code(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    line = _line_that_speaks(facts)
    if facts.speaks_of & FEATURE_SLOTS or line in facts.printed:
        return
    then = "Rest on a symbol whose code does"
    if line:
        then = f"Call {read_call(facts.file, line, line)}, where it does"
    yield "has printed code that speaks of neither the feature nor the action", then


def _silent_quote(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    line = _line_that_speaks(facts)
    if not facts.speaks_of & FEATURE_SLOTS and line in facts.printed:
        yield (
            "has a quote that speaks of neither the feature nor the action",
            f"Quote {facts.file}:{line}, too; a quote may have several lines",
        )


def _line_that_speaks(facts: ClaimFacts) -> int:
    """Return a line of the code that speaks of the feature, a printed one if there is any; or 0."""
    lines = [line for slot, line in facts.slot_lines.items() if slot in FEATURE_SLOTS]
    return min(lines, key=lambda line: (line not in facts.printed, line), default=0)


def _unlisted_uses(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    if facts.uses and not facts.references_seen:
        yield (
            "has uses that no answer listed",
            f'Call find_references(symbol="{facts.name}")',
        )


def _unlisted_callers(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    yield from _unlisted("is called in", facts.name, facts.callers[:MAX_CALLERS])


def _unlisted_tests(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    yield from _unlisted("is tested in", facts.name, facts.tests[:MAX_TESTS])


def _unlisted(verb: str, name: str, uses: Iterable[UseFacts]) -> Iterator[tuple[str, str]]:
    places = [f"{use.file}:{use.line}" for use in uses if not use.printed]
    if places:
        yield (
            f"{verb} {', '.join(places)}, which no answer listed",
            f'Call find_references(symbol="{name}")',
        )


DEMANDS: tuple[Demand, ...] = (
    Demand("defined", Risk.LOW, _undefined),
    Demand("made_since", Risk.LOW, _added),
    Demand("read", Risk.LOW, _unread),
    Demand("read_enough", Risk.LOW, _partly_read),
    Demand("quote", Risk.LOW, _unquoted),
    Demand("plausible", Risk.LOW, _implausible),
    Demand("feature_code", Risk.MEDIUM, _silent_code),
    Demand("feature_quote", Risk.HIGH, _silent_quote),
    Demand("references", Risk.MEDIUM, _unlisted_uses, is_supplied=True),
    Demand("callers", Risk.HIGH, _unlisted_callers, is_supplied=True),
    Demand("tests", Risk.HIGH, _unlisted_tests, is_supplied=True),
)
"""What is demanded of each symbol, in the order in which an agent can supply it."""

_COMES_FIRST = frozenset({"defined", "made_since", "read", "read_enough"})
"""Demands without which the next ones cannot be judged."""
NEIGHBOUR_DEMANDS = frozenset({"defined", "made_since", "read", "read_enough", "plausible"})
"""What is demanded of a symbol that new code will stand beside."""


def lacks(claim: Claim, facts: ClaimFacts, risk: Risk) -> Iterator[Lack]:
    """Yield what a claim lacks at a risk, except what the answer supplies.

    >>> list(lacks(Claim("login"), ClaimFacts("login"), Risk.LOW))[0].demand
    'defined'
    """
    for demand in DEMANDS:
        if demand.is_supplied or not at_least(risk, demand.since):
            continue
        found = list(demand.lacks(claim, facts))
        first = facts.first_hits if demand.name == "plausible" else ()
        yield from (Lack(demand.name, facts.name, *item, first) for item in found)
        if found and demand.name in _COMES_FIRST:
            return


def uses_to_list(claim: Claim, facts: ClaimFacts, risk: Risk) -> tuple[UseFacts, ...]:
    """Return the uses that the answer must list, so that the session has seen them in READY."""
    lacking = {
        demand.name
        for demand in DEMANDS
        if demand.is_supplied and at_least(risk, demand.since) and list(demand.lacks(claim, facts))
    }
    callers = facts.callers[:MAX_CALLERS] if lacking & {"references", "callers"} else ()
    tests = facts.tests[:MAX_TESTS] if "tests" in lacking else ()
    return tuple(use for use in (*callers, *tests) if not use.printed)


def neighbour_lacks(facts: ClaimFacts, *, must_be_plausible: bool) -> Iterator[Lack]:
    """Yield what is missing to place new code beside a symbol."""
    omitted = frozenset[str]() if must_be_plausible else {"plausible"}
    for demand in DEMANDS:
        if demand.name in NEIGHBOUR_DEMANDS - omitted:
            found = list(demand.lacks(Claim(facts.name), facts))
            yield from (Lack(demand.name, facts.name, *item) for item in found)
            if found:
                return
