"""Compare texts: fold them, extract content words, and check whether a quote covers a value.

Japanese and English mix within a sentence, so a text is cut into runs of one script, and each
script has its own word rules. Rules and examples are in docs/decisions/0008 and in
tests/session/test_frame.py.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from code_intel.session.patterns import least_word_chars

# Patterns are strings: `re` compiles them at first use, and hooks never use them.
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
"""Words without meaning of their own: a value may add them, but needs other words, too."""

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
"""Kana with which the inflections of one verb begin: 直す, 直して; 落ちる, 落ちた."""
_CONTRACTED = "いっん"
"""Kana that replace any of `_ROWS` before て and た: 書いて, 使って, 読んで."""
_MIN_WORD_CHARS = {"han": (2, 2), "katakana": (3, 3), "hangul": (2, 1)}
"""Where a compound may be cut: the fewest characters before and after the cut."""
_MIN_DISTINCTIVE_CHARS = 2
"""Word characters; a text with fewer occurs in every file."""


class WordRun(NamedTuple):
    """A part of a text in one script; `start` is its offset among all runs joined."""

    script: str
    text: str
    start: int

    @property
    def is_filler(self) -> bool:
        """Whether it has no meaning of its own."""
        return self.text in _FILLERS or (
            self.script == "hiragana"
            and bool(re.fullmatch(_GRAMMAR, re.sub(_NEGATION, "", self.text) or "て"))
        )


def fold(text: str) -> str:
    """Return `text` with Unicode form, case, white space, quotes and dashes folded.

    >>> fold("  Ｌｏｇｉｎ  “Form” ")
    'login "form"'
    """
    plain = re.sub(_DASHES, "-", unicodedata.normalize("NFKC", text.translate(_PLAIN)))
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


def fold_symbol(name: str) -> str:
    """Return a symbol's name without white space and call brackets; case is kept.

    >>> fold_symbol(" AuthService.login(user) ")
    'AuthService.login'
    """
    return unicodedata.normalize("NFKC", name).strip().split("(", 1)[0].strip()


def symbol_parts(name: str) -> list[str]:
    """Return the scopes of a symbol and its name.

    >>> symbol_parts("Auth::login()")
    ['Auth', 'login']
    """
    return re.split(r"[.:#]+", fold_symbol(name))


def says_something(text: str, *, pattern: bool = False) -> bool:
    """Return whether `text` has at least two word characters.

    With `pattern` each match of the regular expression must have them.
    """
    count = least_word_chars(text) if pattern else len(re.findall(r"[^\W_]", text))
    return count >= _MIN_DISTINCTIVE_CHARS


def occurs(quote: str, text: str) -> bool:
    """Return whether `quote` is a substring of `text`, both folded and without spaces."""
    return fold(quote).replace(" ", "") in fold(text).replace(" ", "")


def is_cjk(text: str) -> bool:
    """Return whether `text` has Han, kana or Hangul characters."""
    return bool(re.search(_CJK, text))


@functools.lru_cache(1024)  # each call of a session is compared with each slot repeatedly
def content_words(text: str) -> frozenset[str]:
    """Return the folded words of `text` that carry meaning; two texts are related if they overlap.

    Latin words are stemmed, katakana and Hangul runs are kept whole, Han runs become character
    pairs.

    >>> sorted(content_words("the loginForm fixes ログイン処理"))
    ['fix', 'form', 'login', 'ログイン']
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
    """Return whether `text` has a word besides grammar and filler nouns."""
    return any(not run.is_filler for run in _runs(text))


def says_the_same(one: str, other: str) -> bool:
    """Return whether two texts have the same content words or are spellings of one text."""
    words = content_words(one)
    same = fold(one).replace(" ", "") == fold(other).replace(" ", "")
    return same or (bool(words) and words == content_words(other))


def covers(quote: str, value: str) -> bool | None:
    """Return how `quote` covers `value`.

    Returns:
        True if the value is a sequence of whole words of the quote, False if it rephrases the quote
        with the same content words, None if it says something else or more.

    >>> covers("ログインボタンが効かない", "ログイン")
    True
    >>> covers("password reset", "reset password")
    False
    >>> covers("ログイン", "ログアウト") is None
    True
    """
    if fold(quote).replace(" ", "") == fold(value).replace(" ", ""):
        return True
    quote_runs, value_runs = list(_runs(quote)), list(_runs(value))
    content = [run for run in value_runs if not run.is_filler]
    if not content:
        return None
    if _is_stretch(quote_runs, value_runs):
        return True
    covered = (
        _run_covered(quote_runs, run) or _is_inflection(quote_runs, before, run)
        for before, run in zip([None, *value_runs], value_runs, strict=False)
    )
    if not all(covered):
        return None
    return False if _same_polarity(quote, value, content, value_runs) else None


def _runs(text: str) -> Iterator[WordRun]:
    """Cut `text` into runs; camelCase words are separated."""
    plain = re.sub(_CAMEL, " ", unicodedata.normalize("NFKC", text))
    plain = re.sub(_CONTRACTION, " not", fold(plain))
    at = 0
    for match in re.finditer(_RUN, plain):
        script = match.lastgroup or ""
        # A trailing long vowel is only spelling: サーバ and サーバー are the same word.
        word = match.group().rstrip("ー") if script == "katakana" else match.group()
        if word:
            yield WordRun(script, word, at)
            at += len(word)


def _cuts(run: WordRun) -> frozenset[int]:
    """Return the offsets within a run at which a word may begin or end."""
    inside = range(0)
    if run.script in _MIN_WORD_CHARS:
        before, after = _MIN_WORD_CHARS[run.script]
        inside = range(before, len(run.text) - after + 1)
    return frozenset({0, len(run.text), *inside})


def _is_stretch(quote_runs: list[WordRun], value_runs: list[WordRun]) -> bool:
    """Return whether the value occurs in the quote, on word boundaries."""
    text = "".join(run.text for run in quote_runs)
    wanted = "".join(run.text for run in value_runs)
    edges = {run.start + cut for run in quote_runs for cut in _cuts(run)}
    return any(at in edges and at + len(wanted) in edges for at in _places(text, wanted))


def _places(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        if at == 0 or text[at - 1] not in _NEGATIVE_PREFIX:
            yield at
        at = text.find(wanted, at + 1)


def _run_covered(quote_runs: list[WordRun], run: WordRun) -> bool:
    """Return whether a run can be composed of fillers and words of the quote in the same script."""
    if run.is_filler:
        return True
    same = [other for other in quote_runs if other.script == run.script]
    if run.script == "word" and _stem(run.text) in {_stem(other.text) for other in same}:
        return True
    reached = {0}
    for end in range(1, len(run.text) + 1):
        if any(_is_piece(same, run.text[start:end]) for start in reached):
            reached.add(end)
    return len(run.text) in reached


def _is_inflection(quote_runs: list[WordRun], before: WordRun | None, run: WordRun) -> bool:
    """Return whether a kana run after the kanji of `before` inflects a word of the quote."""
    if before is None or (before.script, run.script) != ("han", "hiragana"):
        return False
    rest = run._replace(text=run.text[1:])
    return (not rest.text or rest.is_filler) and any(
        (kanji.script, kana.script) == ("han", "hiragana")
        and kanji.text[-1] == before.text[-1]
        and _same_row(kana.text[0], run.text[0])
        for kanji, kana in pairwise(quote_runs)
    )


def _same_row(one: str, other: str) -> bool:
    either = {one, other}
    return (
        one == other or bool(either & set(_CONTRACTED)) or any(either <= set(row) for row in _ROWS)
    )


def _is_piece(same: list[WordRun], piece: str) -> bool:
    if piece in _FILLERS:
        return True
    return any(
        at in cuts and at + len(piece) in cuts
        for other in same
        for cuts in (_cuts(other),)
        for at in _places(other.text, piece)
    )


def _same_polarity(
    quote: str, value: str, content: list[WordRun], value_runs: list[WordRun]
) -> bool:
    """Return whether a rephrasing keeps the negation of the quote; a single noun has none."""
    denied, denies = (bool(re.search(_NEGATION, _spelled(text))) for text in (quote, value))
    if denied == denies:
        return True
    noun = len(content) == 1 and all(
        re.fullmatch(_PARTICLES, run.text) for run in value_runs if run.script == "hiragana"
    )
    return denied and noun


def _spelled(text: str) -> str:
    return re.sub(_CONTRACTION, " not", fold(text))


def _stem(word: str) -> str:
    """Return a Latin word without its inflection: fix for fix, fixes, fixed and fixing."""
    stem = re.sub(r"(?:ing|ed|es|s|e)$", "", word)
    if len(stem) < 3:  # noqa: PLR2004 - shorter than that, the ending was the word
        return word
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem  # noqa: PLR2004 - as above
