"""Decide whether a prompt is likely to be about the code of the project (docs/decisions/0061).

Most prompts of a conversation ask for nothing in the code: thanks, consent, chores, questions about
anything. Context for them would be useless. The decision needs no model, so it is the same with and
without vectors. `benchmarks/hook_context` measures it.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from code_intel.chunking.lexicon import terms, unread
from code_intel.chunking.words import STOP_WORDS, words
from code_intel.forest.ranking.closeness import MAX_COMMON_SHARE
from code_intel.forest.ranking.question import MAX_QUERY_CHARS, MAX_TERMS, read
from code_intel.index.store import Store
from code_intel.records import Hit
from code_intel.tools.hooks.idle_words import IDLE_WORDS

MIN_CONCEPTS = 4
"""Number of specific words in a prompt from which it is about the code."""
MIN_TOGETHER = 2
"""Number of specific words that suffice if one passage of the first hits holds them."""
MIN_TOGETHER_IN_QUESTION = 3
"""The same for a question that could be about anything. Any number elsewhere does not suffice."""
FIRST_HITS = 5
_QUESTION = re.compile(
    r"""\W{0,9}(?:(?:hey|ok|please|can\ you|could\ you|so)\W{1,9}){0,3}
    (?:what(?:'s|\ is|\ are|\ does|\ do)\b | which\ (?:is|are|of)\b | who\b | when\ should\b
      | how\ (?:do|does|to|many|much|long|expensive|can)\b
      | (?:is|are|was)\ (?:it|there|\w+\ (?:is\ )?better)\b
      | explain\b | describe\b | teach\b | recommend\b | translate\b | convert\b | proofread\b
      | give\ me\b | draft\b )
    | .*\bdifference\ between\b
    | .*(?:とは(?:何|なに|$|[??、。])|違い|仕組み|意味|ですか|方法|(?:教え|説明し|訳し|考え)て)""",
    re.IGNORECASE | re.VERBOSE,
)
"""The form of a question, which is as often about programming as about this project."""
_WORD = re.compile(r"[^\W\d_]\w*")
_JAPANESE = re.compile(r"[ぁ-ヿ㐀-鿿]")
_UNKNOWN_WORD = re.compile(r"[ァ-ヺー㐀-鿿々]{2,}")
"""A word in katakana or kanji; hiragana are endings and grammar."""
_NAME_BOUNDARY = re.compile(r"[^\w.-]+", re.ASCII)
_FILE_NAME = re.compile(r"[\w.-]{1,99}\.[A-Za-z]\w{0,7}", re.ASCII)
_NOT_TYPED = re.compile(
    r"\s*(?:/[\w:-]+(?:\s|$)|<(?:task-notification|system-reminder|command-|local-command|bash-)"
    r"|Record the outcome of this work:)"
)
"""A slash command, or a text that the client sends as a prompt, such as what our own hook asks for
when the agent has answered."""


class Concept(NamedTuple):
    """A word of a prompt that is not idle.

    Attributes:
        spellings: The word and its parts, or its translations, each as index tokens.
    """

    spellings: tuple[tuple[str, ...], ...]

    def is_in(self, tokens: Container[str]) -> bool:
        """Return whether a text with these tokens holds the word in any spelling."""
        return any(all(token in tokens for token in spelling) for spelling in self.spellings)


def is_typed(prompt: str) -> bool:
    """Return whether a prompt has words of the user, not of the client or a command."""
    return bool(prompt.strip()) and _NOT_TYPED.match(prompt) is None


def concepts(prompt: str) -> tuple[Concept, ...]:
    """Return the words of a prompt that are not idle, each once.

    >>> concepts("Thanks, please commit this and push it.")
    ()
    >>> [concept.spellings[0] for concept in concepts("The parser drops comments.")]
    [('parser',), ('drop',), ('comment',)]
    """
    text = unicodedata.normalize("NFKC", prompt[:MAX_QUERY_CHARS])
    found = _japanese(text) if _JAPANESE.search(text) else _english(text)
    return tuple(dict.fromkeys(concept for concept in found if concept.spellings))[:MAX_TERMS]


def names_code(store: Store, prompt: str) -> bool:
    """Return whether a prompt names a symbol or a file of the project."""
    names = (name for name in read(prompt).names if name.bare.casefold() not in IDLE_WORDS)
    if any(store.definitions(name.bare, exact=True, limit=1) for name in names):
        return True
    parts = (part.rstrip(".") for part in _NAME_BOUNDARY.split(prompt))
    files = {part for part in parts if _FILE_NAME.fullmatch(part)}
    return bool(files) and any(PurePosixPath(row.path).name in files for row in store.documents())


def specific(store: Store, found: Iterable[Concept]) -> tuple[Concept, ...]:
    """Return the concepts that the source holds, with the spellings that are not common in it."""
    limit = max(1, MAX_COMMON_SHARE * store.source_count())

    def is_specific(spelling: Sequence[str]) -> bool:
        return 0 < min((store.files_with(token) for token in spelling), default=0) <= limit

    rare = (Concept(tuple(filter(is_specific, concept.spellings))) for concept in found)
    return tuple(concept for concept in rare if concept.spellings)


def is_likely(prompt: str, found: Sequence[Concept], hits: Sequence[Hit]) -> bool:
    """Return whether a prompt is about the code, by its words alone.

    Args:
        prompt: The prompt.
        found: Its specific concepts.
        hits: The first hits of the forest.
    """
    together = max((_count_held(found, hit) for hit in hits[:FIRST_HITS]), default=0)
    if _QUESTION.match(prompt):
        return together >= MIN_TOGETHER_IN_QUESTION
    return len(found) >= MIN_CONCEPTS or together >= MIN_TOGETHER


def _count_held(found: Iterable[Concept], hit: Hit) -> int:
    """Return how many of the concepts a hit holds."""
    tokens = frozenset(words(f"{hit.document} {hit.symbol} {hit.chunk}"))
    return sum(concept.is_in(tokens) for concept in found)


def _english(text: str) -> Iterator[Concept]:
    for word in _WORD.findall(text):
        if _is_specific_word(word):
            tokens = tuple(words(word))  # the whole word, then its parts
            yield Concept(tuple(filter(None, (tokens[:1], tokens[1:]))))


def _japanese(text: str) -> Iterator[Concept]:
    """Yield the terms of a Japanese text in English, and its unknown words as they are."""
    for term, translations in terms(text):
        if term.isascii():
            yield from _english(term)
        elif all(map(_is_specific_word, translations)):
            yield Concept(tuple(tuple(words(each)) for each in translations))
    for run in _UNKNOWN_WORD.findall(" ".join(unread(text))):
        yield Concept((tuple(words(run)),))


def _is_specific_word(word: str) -> bool:
    folded = word.casefold()
    return len(folded) > 1 and folded not in IDLE_WORDS and folded not in STOP_WORDS
