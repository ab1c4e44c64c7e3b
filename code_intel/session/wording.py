"""When two texts say the same: folding, content words, and whether a quote covers a value.

Japanese and English mix within one sentence, so a text is cut into runs of one script, and each
script has its own idea of a word. Rules and examples: docs/decisions/0008 and the table of accepted
and refused pairs in tests/session.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from code_intel.session.patterns import least_said

# Patterns are strings: `re` compiles and keeps them at first use, and a hook never uses them.
_PLAIN = str.maketrans(dict.fromkeys("‘’‛′`´", "'") | dict.fromkeys("“”„″", '"'))
_DASHES = r"[‐‑‒–—―−]"
_CONTRACTION = r"\b(ca|wo)?n't\b|\bcannot\b|(?<=\w)n't\b"
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
_KATAKANA = r"\u30a1-\u30fa\u30fc-\u30ff"
_HIRAGANA = r"\u3041-\u309f"
_HAN = r"\u3005\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HANGUL = r"\uac00-\ud7a3"
_RUN = (
    rf"(?P<katakana>[{_KATAKANA}]+)|(?P<han>[{_HAN}]+)|(?P<hiragana>[{_HIRAGANA}]+)"
    rf"|(?P<hangul>[{_HANGUL}]+)|(?P<word>[^\W_{_KATAKANA}{_HAN}{_HIRAGANA}{_HANGUL}]+[+#]*)"
)
_CJK = rf"[{_KATAKANA}{_HAN}{_HIRAGANA}{_HANGUL}]"

_FILLER_WORDS = (
    "a an the of to in on at for from with by and or is are be been was were it its this that "
    "do does did can could will would should when while if i we my our please "
    "feature functionality function process issue problem 機能 処理 問題 場合 際 時 事 件"
)
_FILLERS = frozenset(_FILLER_WORDS.split())
"""Words that say no more than their neighbour does: a value may add them, and needs one more."""

_PARTICLES = (
    r"(?:から|まで|より|など|について|における|での|との|への|とき|こと|[をがにはでとものへや])+"
)
_GRAMMAR = (
    r"(?:から|まで|より|など|ので|のに|とき|こと|もの|ため|よう|しまう|しまっ|ほしい|でき|です|でし|"
    r"ます|まし|する|され|られ|ある|あっ|いる|だっ|[をがにはでとものへやかなしてただっるれいくうばら])+"
)
_NEGATION = r"ない|なく|なかっ|なけれ|ません|ずに|ず$|ぬ$|\b(?:not|no|never|without)\b"
_NEGATIVE_PREFIX = "不未非無"
_ROWS = (
    "あいうえおわ",
    "かきくけこ",
    "がぎぐげご",
    "さしすせそ",
    "たちつてと",
    "なにぬねの",
    "ばびぶべぼ",
    "まみむめも",
    "らりるれろ",
)
"""Kana with which the endings of one verb begin: 直す, 直して; 落ちる, 落ちた."""
_CONTRACTED = "いっん"
"""What stands for any of them before て and た: 書いて, 使って, 読んで."""
_SHORTEST_CUT = {"han": (2, 2), "katakana": (3, 3), "hangul": (2, 1)}
"""Where a compound may be cut: least characters before and after, so that both are words."""


_LEAST_SAID = 2  # word characters; what has fewer is found in every file


class Run(NamedTuple):
    """A stretch of one script; `start` is its place in the text with nothing between runs."""

    script: str
    text: str
    start: int

    @property
    def is_filler(self) -> bool:
        """Whether it adds nothing to its neighbours."""
        return self.text in _FILLERS or (
            self.script == "hiragana"
            and bool(re.fullmatch(_GRAMMAR, re.sub(_NEGATION, "", self.text) or "て"))
        )


def fold(text: str) -> str:
    """Return `text` in one spelling: NFKC, case, white space, quotes and dashes folded."""
    plain = re.sub(_DASHES, "-", unicodedata.normalize("NFKC", text.translate(_PLAIN)))
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


def fold_symbol(name: str) -> str:
    """Return a symbol's name without white space and call brackets; case is part of the name."""
    return unicodedata.normalize("NFKC", name).strip().split("(", 1)[0].strip()


def symbol_parts(name: str) -> list[str]:
    """Return a symbol's scopes and its own name, folded: `Auth::login()` and `Auth.login` are the same."""
    return re.split(r"[.:#]+", fold_symbol(name))


def says_something(text: str, *, pattern: bool = False) -> bool:
    """Whether `text` asks for something: it has two word characters.

    Of a regular expression whatever it matches must have them: `patterns.least_said`.
    """
    said = least_said(text) if pattern else len(re.findall(r"[^\W_]", text))
    return said >= _LEAST_SAID


def occurs(quote: str, text: str) -> bool:
    """Whether `quote` is a substring of `text`, whatever the spelling and the spaces."""
    return fold(quote).replace(" ", "") in fold(text).replace(" ", "")


def is_cjk(text: str) -> bool:
    """Whether `text` has Han, kana or Hangul in it."""
    return bool(re.search(_CJK, text))


@functools.lru_cache(1024)  # each call of a session is compared with each slot, again and again
def content_words(text: str) -> frozenset[str]:
    """Return the folded words of `text` that carry meaning.

    Latin words as stems, katakana and Hangul runs whole, Han runs as pairs of characters, so that
    two texts speak of the same thing when these overlap.
    """
    found: set[str] = set()
    for run in _runs(text):
        if run.is_filler or run.script == "hiragana":
            continue
        if run.script == "han" and len(run.text) > 1:
            found.update(run.text[at : at + 2] for at in range(len(run.text) - 1))
        else:
            found.add(_stem(run.text) if run.script == "word" else run.text)
    return frozenset(found)


def has_content(text: str) -> bool:
    """Whether `text` has a word that is more than grammar or a carrier noun."""
    return any(not run.is_filler for run in _runs(text))


def says_the_same(one: str, other: str) -> bool:
    """Whether two texts have the same content words, or are one text otherwise spelled."""
    words = content_words(one)
    same = fold(one).replace(" ", "") == fold(other).replace(" ", "")
    return same or (bool(words) and words == content_words(other))


def covers(quote: str, value: str) -> bool | None:
    """Whether `quote` says all that `value` says.

    Returns:
        True when the value is a stretch of whole words of the quote, False when it only rephrases
        it with the same content words, None when it says something else or more.
    """
    if fold(quote).replace(" ", "") == fold(value).replace(" ", ""):
        return True
    said, claimed = list(_runs(quote)), list(_runs(value))
    content = [run for run in claimed if not run.is_filler]
    if not content:
        return None
    if _is_stretch(said, claimed):
        return True
    covered = (
        _run_covered(said, run) or _is_inflection(said, before, run)
        for before, run in zip([None, *claimed], claimed, strict=False)
    )
    if not all(covered):
        return None
    return False if _same_polarity(quote, value, content, claimed) else None


def _runs(text: str) -> Iterator[Run]:
    """Cut `text` into runs, camelCase words apart."""
    plain = re.sub(_CAMEL, " ", unicodedata.normalize("NFKC", text))
    plain = re.sub(_CONTRACTION, " not", fold(plain))
    at = 0
    for match in re.finditer(_RUN, plain):
        script = match.lastgroup or ""
        # A trailing long vowel is spelling: サーバ and サーバー are one word.
        word = match.group().rstrip("ー") if script == "katakana" else match.group()
        if word:
            yield Run(script, word, at)
            at += len(word)


def _cuts(run: Run) -> frozenset[int]:
    """Return the offsets within a run at which a word may begin or end."""
    inside = range(0)
    if run.script in _SHORTEST_CUT:
        before, after = _SHORTEST_CUT[run.script]
        inside = range(before, len(run.text) - after + 1)
    return frozenset({0, len(run.text), *inside})


def _is_stretch(said: list[Run], claimed: list[Run]) -> bool:
    """Whether the claimed text stands in the said one, beginning and ending between words."""
    text = "".join(run.text for run in said)
    wanted = "".join(run.text for run in claimed)
    edges = {run.start + cut for run in said for cut in _cuts(run)}
    return any(at in edges and at + len(wanted) in edges for at in _places(text, wanted))


def _places(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        if at == 0 or text[at - 1] not in _NEGATIVE_PREFIX:
            yield at
        at = text.find(wanted, at + 1)


def _run_covered(said: list[Run], run: Run) -> bool:
    """Whether a run can be laid with words of the quote in the same script, and fillers."""
    if run.is_filler:
        return True
    same = [other for other in said if other.script == run.script]
    if run.script == "word" and _stem(run.text) in {_stem(other.text) for other in same}:
        return True
    reached = {0}
    for end in range(1, len(run.text) + 1):
        if any(_is_piece(same, run.text[start:end]) for start in reached):
            reached.add(end)
    return len(run.text) in reached


def _is_inflection(said: list[Run], before: Run | None, run: Run) -> bool:
    """Whether a run of kana, after the kanji of `before`, ends a word of the quote in another form."""
    if before is None or (before.script, run.script) != ("han", "hiragana"):
        return False
    rest = run._replace(text=run.text[1:])
    return (not rest.text or rest.is_filler) and any(
        (kanji.script, kana.script) == ("han", "hiragana")
        and kanji.text[-1] == before.text[-1]
        and _same_row(kana.text[0], run.text[0])
        for kanji, kana in pairwise(said)
    )


def _same_row(one: str, other: str) -> bool:
    either = {one, other}
    return (
        one == other or bool(either & set(_CONTRACTED)) or any(either <= set(row) for row in _ROWS)
    )


def _is_piece(same: list[Run], piece: str) -> bool:
    if piece in _FILLERS:
        return True
    return any(
        at in cuts and at + len(piece) in cuts
        for other in same
        for cuts in (_cuts(other),)
        for at in _places(other.text, piece)
    )


def _same_polarity(quote: str, value: str, content: list[Run], claimed: list[Run]) -> bool:
    """Whether a rephrasing keeps what the quote denies; naming one thing in it denies nothing."""
    denied, denies = (bool(re.search(_NEGATION, _spelled(text))) for text in (quote, value))
    if denied == denies:
        return True
    noun = len(content) == 1 and all(
        re.fullmatch(_PARTICLES, run.text) for run in claimed if run.script == "hiragana"
    )
    return denied and noun


def _spelled(text: str) -> str:
    return re.sub(_CONTRACTION, " not", fold(text))


def _stem(word: str) -> str:
    """Return a Latin word without its inflection: fix, fixes, fixed and fixing are one."""
    stem = re.sub(r"(?:ing|ed|es|s|e)$", "", word)
    if len(stem) < 3:  # noqa: PLR2004 - shorter than that, the ending was the word
        return word
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem  # noqa: PLR2004 - as above
