"""State what READY demands, by risk, as one table; judge each claim by it (docs/decisions/0054).

No demand exceeds what the index shows: a symbol without callers or tests has none to read.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from code_intel.session.risk import Risk, at_least
from code_intel.session.understanding.claims import Claim
from code_intel.session.understanding.reading import unread_lines

MAX_CALLERS = 5
"""Callers of a symbol that must have been printed at HIGH risk."""
MAX_TESTS = 5
_FEATURE_SLOTS = frozenset({"target_feature", "desired_action", "query"})
"""Slots of which the quote of each symbol must speak from MEDIUM on; one is enough."""


class UseFacts(NamedTuple):
    """A line that uses a symbol, and whether the session has printed it."""

    file: str
    line: int
    printed: bool = False


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
        missing_link: Why it is not, and what the search ranks first.
        speaks_of: The slots of which quote, name or documentation speak.
        could_speak_of: The slots of whose words its code has any.
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
    speaks_of: frozenset[str] = frozenset()
    could_speak_of: frozenset[str] = frozenset()
    uses: int = 0
    references_seen: bool = False
    callers: tuple[UseFacts, ...] = ()
    tests: tuple[UseFacts, ...] = ()
    users: tuple[str, ...] = ()

    @property
    def is_defined(self) -> bool:
        """Whether it is certain which code is meant."""
        return bool(self.file)


class Lack(NamedTuple):
    """A demand that is not met, and the remedy with its call filled in."""

    demand: str
    symbol: str
    why: str
    then: str

    @property
    def line(self) -> str:
        """The lack as one line."""
        return f"{self.demand}: {self.symbol} {self.why}"


class Demand(NamedTuple):
    """A row of `DEMANDS`: what is demanded of each symbol from a risk on."""

    name: str
    since: Risk
    lacks: Callable[[Claim, ClaimFacts], Iterator[tuple[str, str]]]


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
    lines = unread_lines(facts.first, facts.last, facts.printed)
    if not facts.readable or lines is None:
        return
    first, last = lines
    span = frozenset(range(facts.first, facts.last + 1))
    if facts.was_printed:
        why = "has changed since it was printed"
    elif span & facts.printed:
        why = "was printed only in part"
    else:
        why = "was never printed in this session"
    where = f"{facts.file}:{first}-{last}"
    yield why, f"Read {where}: {read_call(facts.file, first, last)}"


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
            "Rest on code that the search ranks first, or quote a line with words of the request",
        )


def _silent(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    if not facts.speaks_of & _FEATURE_SLOTS:
        yield (
            "has a quote that speaks of neither the feature nor the action",
            "Quote a line of it that does, or rest on a symbol whose code does",
        )


def _unreferenced(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    if facts.uses and not facts.references_seen:
        yield (
            "has uses that were not looked up",
            f'Call find_references(symbol="{facts.name}")',
        )


def _unread_callers(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    unread = [use for use in facts.callers[:MAX_CALLERS] if not use.printed]
    if unread:
        places = ", ".join(f"{use.file}:{use.line}" for use in unread)
        yield (
            "has callers that were not printed",
            f"Read {places}: {read_call(unread[0].file, unread[0].line, unread[0].line)}",
        )


def _unread_tests(_: Claim, facts: ClaimFacts) -> Iterator[tuple[str, str]]:
    unread = [use for use in facts.tests[:MAX_TESTS] if not use.printed]
    if unread:
        places = ", ".join(f"{use.file}:{use.line}" for use in unread)
        yield (
            "is used by tests that no answer listed",
            f'Read {places}: find_references(symbol="{facts.name}", path="{unread[0].file}")',
        )


DEMANDS: tuple[Demand, ...] = (
    Demand("defined", Risk.LOW, _undefined),
    Demand("made_since", Risk.LOW, _added),
    Demand("read", Risk.LOW, _unread),
    Demand("quote", Risk.LOW, _unquoted),
    Demand("plausible", Risk.LOW, _implausible),
    Demand("feature_quote", Risk.MEDIUM, _silent),
    Demand("references", Risk.MEDIUM, _unreferenced),
    Demand("callers", Risk.HIGH, _unread_callers),
    Demand("tests", Risk.HIGH, _unread_tests),
)
"""What is demanded of each symbol, in the order in which an agent can supply it."""

_COMES_FIRST = frozenset({"defined", "made_since", "read", "references"})
"""Demands without which the next ones cannot be judged, or are met by the way."""
NEIGHBOUR_DEMANDS = frozenset({"defined", "made_since", "read", "plausible"})
"""What is demanded of a symbol that new code will stand beside."""


def lacks(claim: Claim, facts: ClaimFacts, risk: Risk) -> Iterator[Lack]:
    """Yield what a claim lacks at a risk.

    >>> list(lacks(Claim("login"), ClaimFacts("login"), Risk.LOW))[0].demand
    'defined'
    """
    for demand in DEMANDS:
        if not at_least(risk, demand.since):
            continue
        found = list(demand.lacks(claim, facts))
        yield from (Lack(demand.name, facts.name, *item) for item in found)
        if found and demand.name in _COMES_FIRST:
            return


def neighbour_lacks(facts: ClaimFacts) -> Iterator[Lack]:
    """Yield what is missing to place new code beside a symbol."""
    for demand in DEMANDS:
        if demand.name in NEIGHBOUR_DEMANDS:
            found = list(demand.lacks(Claim(facts.name), facts))
            yield from (Lack(demand.name, facts.name, *item) for item in found)
            if found:
                return
