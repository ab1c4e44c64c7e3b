"""Whether evidence is what it says it is, and speaks of what it is evidence for (docs/decisions/0032)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from code_intel.session.frame import SlotSource
from code_intel.session.relevance import carriers
from code_intel.session.requirements import REQUIRED_TOOLS
from code_intel.session.state import CORROBORATING, Call, Session
from code_intel.session.wording import content_words, fold, fold_symbol, symbol_parts


class Evidence(NamedTuple):
    """What an answer rests on."""

    tool: str
    target: str
    result: str
    files: tuple[str, ...] = ()


class Answer(NamedTuple):
    """One answer of submit_verification; `status` is `confirmed` or `rejected`."""

    hypothesis: str
    status: str
    evidence: Evidence


class VerificationFacts(NamedTuple):
    """What index, map and model say about the symbols of a session.

    Attributes:
        symbols_readable: As in `submission.UnderstandingFacts`.
        learned: Symbols that a valid agreement pairs with the target feature.
        scores: Calibrated likeness of target feature and symbol, 0 to 1, where known.
        made: Symbols that are there only since the session began.
    """

    symbols_readable: bool = True
    learned: frozenset[str] = frozenset()
    scores: Mapping[str, float] = MappingProxyType({})
    made: frozenset[str] = frozenset()


def corroborate(evidence: Evidence, calls: Iterable[Call], *, greenfield: bool = False) -> bool:
    """Whether one of `calls` is the evidence: same tool and target, succeeded, found something.

    With `greenfield` a search_text that found nothing is one, too: nothing is what there is.
    """
    return any(is_call(evidence, call, greenfield=greenfield) for call in calls)


def is_call(evidence: Evidence, call: Call, *, greenfield: bool = False) -> bool:
    """Whether a call is the evidence; `greenfield` as in `corroborate`."""
    same = call.tool == evidence.tool and fold(call.target) == fold(evidence.target)
    empty = greenfield and call.tool == "search_text" and call.asks
    return same and (call.counts or empty)


def map_symbol(session: Session, hypothesis: str) -> str:
    """Return the map's symbol that a hypothesis is about, or the empty string."""
    key = fold(hypothesis)
    return next((known.symbol for known in session.hypotheses if fold(known.text) == key), "")


def beside_the_point(
    session: Session, answers: Sequence[Answer], calls: Sequence[Call]
) -> list[str]:
    """Return confirmations whose evidence was asked about something else.

    That of a map hit is about its symbol. Any other speaks of the hypothesis: `_speaks_of`.
    """
    supposed = {fold(item.text): item.text for item in session.hypotheses}
    problems: list[str] = []
    for item in answers:
        said, symbol = f"{item.hypothesis[:80]!r}", map_symbol(session, item.hypothesis)
        text = supposed.get(fold(item.hypothesis), "")
        if item.status != "confirmed" or not text:
            continue
        if symbol and not _asks_for(item.evidence, symbol, calls):
            problems.append(f"evidence of {said}: ask about {symbol} itself")
        elif not (symbol or session.greenfield or _speaks_of(session, text, item.evidence, calls)):
            target = item.evidence.target[:80]
            problems.append(f"evidence of {said}: {target!r} is nothing that it speaks of")
    return problems


def _speaks_of(
    session: Session, hypothesis: str, evidence: Evidence, calls: Sequence[Call]
) -> bool:
    """Whether a word of a hypothesis stands in what was asked for, or in the name of a symbol found.

    Of a regular expression in each alternative: any of them may have been what was found. Of a question
    only what it found counts: it may ask for anything beside that. Where the hypothesis speaks of the
    target feature a symbol mapped to it will do: in another language than the code's its name has none of
    the words.
    """
    words = _words(hypothesis)
    if words & _words(" ".join(_shown(evidence, calls))):
        return True
    if evidence.tool != "query" and all(words & _words(part) for part in _parts(evidence)):
        return True
    slot = session.frame and session.frame.slot("target_feature")
    if not slot or not words & (content_words(slot.value) | content_words(slot.quote)):
        return False
    return any(
        symbol.source is SlotSource.FACT and _asks_for(evidence, symbol.name, calls)
        for symbol in session.symbols
    )


def _shown(evidence: Evidence, calls: Sequence[Call]) -> list[str]:
    """Return the symbols that the evidence's own calls were about."""
    return [name for call in calls if is_call(evidence, call) for name in call.shows]


def _asks_for(evidence: Evidence, symbol: str, calls: Sequence[Call]) -> bool:
    """Whether each alternative of a target has the symbol's own name as a whole identifier.

    A question asks for it when it has found it.
    """
    if evidence.tool == "query":
        return bare_name(symbol) in map(bare_name, _shown(evidence, calls))
    name = re.escape(bare_name(symbol))
    found = (
        re.search(rf"(?<![a-z0-9_]){name}(?![a-z0-9_])", fold(part)) for part in _parts(evidence)
    )
    return all(found)


def _parts(evidence: Evidence) -> list[str]:
    """Return the alternatives of a target; of a regular expression without classes and boundaries."""
    if evidence.tool != "search_text":
        return [evidence.target]
    return re.sub(r"\\[A-Za-z]", " ", evidence.target).split("|")


def _words(text: str) -> frozenset[str]:
    """Return the words and the whole identifiers of a text; one letter is neither."""
    words = content_words(text) | set(re.findall(r"[a-z0-9_]+", fold(text)))
    return frozenset(word for word in words if len(word) > 1 or not word.isascii())


def unmapped(
    session: Session, answers: Sequence[Answer], calls: Sequence[Call], facts: VerificationFacts
) -> Iterator[tuple[str, str]]:
    """Yield what a session that writes does not know about its target feature, and what to do.

    What a confirmed agreement says is known. Of any other the map's word is worth no more than a
    hypothesis: whoever may write one into a file would be led to READY by it.
    """
    confirmed = [item for item in answers if item.status == "confirmed"]
    if not (session.intent.writes and confirmed) or session.greenfield:
        return
    agreed = {fold(item.text) for item in session.hypotheses if item.agreed}
    if any(fold(item.hypothesis) in agreed for item in confirmed):
        return
    slot = session.frame and session.frame.slot("target_feature")
    if not slot:
        yield (
            "nl_symbol_mapping: the query frame names no target_feature",
            "Call start_session, then set_query_frame before search_smart: the map has answered these words."
            if any(item.symbol for item in session.hypotheses)
            else "Call set_query_frame with one; or start_session, where the map has answered already.",
        )
        return
    if not facts.symbols_readable:
        words = content_words(slot.value) | content_words(slot.quote)
        if not any(words & content_words(item.hypothesis) for item in confirmed):
            yield (
                f"nl_symbol_mapping: no confirmed hypothesis speaks of {slot.value!r}",
                "Call revert_to_exploration, and say in a hypothesis what carries out the feature.",
            )
        return
    if unused := [tool for tool in REQUIRED_TOOLS if not session.used(tool)]:
        yield (
            f"required_tools: missing {', '.join(unused)}",
            f"Ask {unused[0]} about the symbol, then call submit_verification again.",
        )
    known = [symbol.name for symbol in session.symbols if symbol.source is SlotSource.FACT]
    known += [
        symbol
        for item in confirmed
        for call in calls
        if is_call(item.evidence, call) and call.tool in CORROBORATING
        for symbol in map(fold_symbol, call.symbols)
        if bare_name(symbol) == bare_name(call.target)
    ]
    made = set(map(fold_symbol, facts.made))
    known = [name for name in known if name not in made]
    if not carriers(session, known, learned=facts.learned, scores=facts.scores):
        yield (
            f"nl_symbol_mapping: no symbol is known to carry out {slot.value!r}",
            "Call confirm_symbol_relevance with the symbol that does, then submit_verification again.",
        )


def bare_name(symbol: str) -> str:
    """Return a symbol's own name, folded, without its scopes."""
    return fold(symbol_parts(symbol)[-1])
