"""Judge a quote of printed code as evidence for a hypothesis."""

from typing import NamedTuple

from code_intel.session.understanding.denials import denial
from code_intel.session.wording import content_words, fold, symbol_parts


class QuotedCode(NamedTuple):
    """Code that this session has printed and that an answer quotes.

    Attributes:
        file: Its file, relative to the root.
        symbol: The innermost symbol around it, or an empty text.
        plausible: Whether it is a plausible place for the request.
        missing_link: Why it is not.
        first_hits: What the search ranks first.
        words: Number of rare words of the request in the quote or in the names around it.
        speaks: Whether quote, name or documentation speaks of the feature or the action.
        is_new: Whether it was added since the session began.
    """

    file: str
    symbol: str = ""
    plausible: bool = True
    missing_link: str = ""
    words: int = 0
    speaks: bool = True
    first_hits: tuple[str, ...] = ()
    is_new: bool = False


class QuotedAnswer(NamedTuple):
    """A confirmation by a quote.

    Attributes:
        hypothesis: The hypothesis.
        symbol: The symbol of the agreement that it comes from; empty if the agent stated it.
        agreed: Whether that agreement is confirmed.
        quote: The quote.
        sentence: What the agent says about it.
        code: The code that it quotes; None if this session has not printed it.
        must_speak: Whether the code of the agent's own hypothesis must speak of the feature or the
            action, as in submit_understanding.
    """

    hypothesis: str
    symbol: str
    agreed: bool
    quote: str
    sentence: str
    code: QuotedCode | None
    must_speak: bool = False


def quote_problem(answer: QuotedAnswer) -> str:
    """Return why a quote does not confirm a hypothesis, or the empty string."""
    code = answer.code
    if words := denial(answer.sentence) or denial(answer.hypothesis):
        return f"it denies itself (“{words}”)"
    if code is None or code.is_new:
        return (
            f"{code.symbol or code.file} was added during this session; quote existing code"
            if code
            else "its quote stands in no code that this session has printed at its current content"
        )
    if answer.symbol and not _is_part_of(code.symbol, answer.symbol):
        return f"quote the code of {answer.symbol} itself"
    return _misfit(answer, code)


def _misfit(answer: QuotedAnswer, code: QuotedCode) -> str:
    """Return why the code does not fit the hypothesis and the request, or the empty string."""
    said = content_words(f"{answer.quote} {code.symbol} {code.file}")
    if not answer.symbol and not said & content_words(answer.hypothesis):
        return "its quote shares no word with the hypothesis"
    if not answer.agreed and not code.plausible:
        problem = code.missing_link.rstrip(".") or "its quote is not from a plausible place"
        return f"{problem}; the search ranks other code first" if code.first_hits else problem
    if answer.must_speak and not answer.symbol and not code.speaks:
        return "its quote speaks of neither the feature nor the action"
    return ""


def _is_part_of(symbol: str, whole: str) -> bool:
    """Return whether a symbol is `whole`, spelled with or without scopes, or a part of it."""
    inner, outer = (list(map(fold, symbol_parts(name))) for name in (symbol, whole))
    size = len(outer)
    return any(inner[start : start + size] == outer for start in range(len(inner) - size + 1))
