"""Compose proposals from texts: headings of documents, decisions, tests, and documented symbols.

A section, a decision or a test counts if it names exactly one symbol of the project. It then says
under its title, or in its name, what the symbol is for.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from code_intel.chunking import split_identifier
from code_intel.chunking.markdown import heading_path
from code_intel.foundation.redaction import masked
from code_intel.learned.proposals.changes import IsSource
from code_intel.learned.proposals.composing import Proposal, reference, statements
from code_intel.learned.proposals.current import CurrentCode, Place
from code_intel.learned.proposals.purpose import MAX_TERM_CHARS, MIN_CONTENT_WORDS
from code_intel.learned.recall.glossary import content_words
from code_intel.records import Agreement, FileReference, Symbol

MIN_NAME_CHARS = 4
"""Shorter names are words of other texts, too."""
MAX_OTHER_SOURCES = 3
"""Further titles that a proposal gives as evidence."""

_DECISIONS = re.compile(r"(?:^|/)(?:adrs?|decisions)/", re.IGNORECASE)
_DOCUMENT = re.compile(r"(?:^|/)docs?/|(?:^|/)readme\.", re.IGNORECASE)
_NOT_A_PLACE = re.compile(r"change|history|release|migrat|contribut|licen|news", re.IGNORECASE)
_NUMBER = re.compile(r"^\W*\d+(?:[.:)\s-]+|$)")
_QUOTED = re.compile(r"`+([\w.:#$]+?)(?:\([^`]*\))?`+", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_TEST_NAME = re.compile(r"^_*tests?_?|_?tests?$", re.IGNORECASE)
_NO_MEMBERS = frozenset({"constant", "variable", "selector", "property"})


class Statement(NamedTuple):
    """A text that says what a symbol is for: its title, and where it is."""

    place: Place
    title: str
    source: FileReference


class Names:
    """The public symbols of the source, by name."""

    def __init__(self, current: CurrentCode, paths: Iterable[str]) -> None:
        self._places: dict[str, set[Place]] = defaultdict(set)
        self.symbols: dict[Place, Symbol] = {}
        for path in paths:
            for symbol in current.symbols(path):
                if not symbol.name.startswith("_") and symbol.kind not in _NO_MEMBERS:
                    place = Place(path, symbol.qualified)
                    self.symbols[place] = symbol
                    for name in {symbol.name, symbol.qualified}:
                        self._places[name].add(place)

    def only(self, names: Iterable[str]) -> Place | None:
        """Return the symbol that names stand for, if it is a single one; others do not count."""
        found = {
            place
            for name in names
            if len(name) >= MIN_NAME_CHARS and len(places := self._places.get(name, ())) == 1
            for place in places
        }
        return next(iter(found)) if len(found) == 1 else None


def text_proposals(
    current: CurrentCode, paths: Sequence[str], is_source: IsSource, known: Iterable[Place]
) -> list[Proposal]:
    """Return the proposals that texts support.

    Tests and the documentation of a symbol count only if the symbol has no other proposal.

    Args:
        current: The current code.
        paths: The files of the project.
        is_source: Returns whether a path is code of the project itself.
        known: The symbols of the proposals that the history supports.
    """
    names = Names(current, filter(is_source, paths))
    documents = [path for path in paths if path.lower().endswith((".md", ".markdown"))]
    found = _composed(
        current, (item for path in documents for item in _sections(current, names, path))
    )
    known = {*known, *(each.place for each in found)}
    tests = [path for path in paths if not is_source(path) and _is_test(path)]
    said = (item for path in tests for item in _tests(current, names, path))
    found += _composed(current, (item for item in said if item.place not in known))
    known |= {each.place for each in found}
    found += [
        _documented(place, symbol)
        for place, symbol in names.symbols.items()
        if place not in known and "." not in place.symbol and _says_enough(symbol.doc)
    ]
    return found


def _is_test(path: str) -> bool:
    return "test" in path.lower() or "spec" in path.lower()


def _says_enough(text: str) -> bool:
    return len(content_words(text)) >= MIN_CONTENT_WORDS


def _sections(current: CurrentCode, names: Names, path: str) -> Iterator[Statement]:
    """Yield what the sections of a document, or the whole of a decision, say about one symbol."""
    is_decision = bool(_DECISIONS.search(path))
    if not (is_decision or _DOCUMENT.search(path)) or _NOT_A_PLACE.search(PurePosixPath(path).name):
        return
    text = current.text(path)
    headings = heading_path(text)[: 1 if is_decision else None]
    if not headings:
        return
    ends = [*(start for start, _ in headings[1:]), len(text)]
    for (start, title_path), end in zip(headings, ends, strict=True):
        title = _NUMBER.sub("", title_path.rsplit(" > ", 1)[-1]).replace("`", "").strip()
        body = text[start:end].partition("\n")[2]
        place = names.only(name.replace("::", ".") for name in _QUOTED.findall(body))
        if place and _says_enough(title):
            line = text.count("\n", 0, start) + 1
            yield Statement(place, masked(title), FileReference(path, line))


def _tests(current: CurrentCode, names: Names, path: str) -> Iterator[Statement]:
    """Yield what the tests of a file say about the one symbol that each of them names."""
    lines = current.text(path).splitlines()
    for symbol in current.symbols(path):
        if symbol.kind not in {"function", "method"} or not _TEST_NAME.search(symbol.name):
            continue
        body = "\n".join(lines[symbol.start_line : symbol.end_line])
        place = names.only(dict.fromkeys(_IDENTIFIER.findall(body)))
        title = symbol.doc or split_identifier(_TEST_NAME.sub("", symbol.name))
        if place and _says_enough(title):
            yield Statement(place, masked(title), FileReference(path, symbol.start_line))


def _composed(current: CurrentCode, said: Iterable[Statement]) -> list[Proposal]:
    """Return one proposal for each symbol that some texts are about."""
    by_place: dict[Place, list[Statement]] = defaultdict(list)
    for item in said:
        by_place[item.place].append(item)
    return [
        _proposal(place, symbol, items)
        for place, items in by_place.items()
        if (symbol := current.symbol(place))
    ]


def _proposal(place: Place, symbol: Symbol, items: Sequence[Statement]) -> Proposal:
    first, *others = items[: 1 + MAX_OTHER_SOURCES]
    titles = (each.title for each in others)
    agreement = Agreement(
        nl_term=_shortened(first.title),
        symbol=place.symbol,
        evidence=(*statements(symbol), *dict.fromkeys(titles)) or (first.title,),
        files=(reference(place, symbol),),
        digest=symbol.digest,
    )
    sources = tuple(f"{each.source.path}:{each.source.line}" for each in (first, *others))
    return Proposal(place, agreement, sources=sources, said=statements(symbol))


def _documented(place: Place, symbol: Symbol) -> Proposal:
    """Return the proposal that a symbol's own documentation supports."""
    agreement = Agreement(
        nl_term=_shortened(masked(symbol.doc).strip(" .")),
        symbol=place.symbol,
        evidence=statements(symbol)[:1] or (symbol.doc,),
        files=(reference(place, symbol),),
        digest=symbol.digest,
    )
    source = f"{place.path}:{symbol.start_line}"
    return Proposal(place, agreement, sources=(source,), said=statements(symbol))


def _shortened(text: str) -> str:
    """Return a text within `MAX_TERM_CHARS`, cut between words."""
    text = " ".join(text.split())
    return text if len(text) <= MAX_TERM_CHARS else text[:MAX_TERM_CHARS].rsplit(" ", 1)[0]
