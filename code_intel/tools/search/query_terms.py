"""Extract search terms from a question in any language: symbols, and words, rarest first.

A word is rarer if fewer chunks of the index contain it; words that no chunk contains come last.
Japanese words are translated to the English words that code uses, unless only the Japanese word
occurs in the index.
"""

import re
from collections.abc import Mapping, Sequence

from code_intel.chunking.languages import language_of
from code_intel.chunking.lexicon import english, terms, unread
from code_intel.chunking.words import MAX_WORD_CHARS, STOP_WORDS, query_words, stem
from code_intel.forest.files import search_files
from code_intel.forest.ranking.question import read
from code_intel.index.store import MAX_HITS, Store
from code_intel.session.router import SearchTerms

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
MIN_WORD_CHARS = 3
"""Shorter words are too frequent. Untranslated Japanese words need only two characters."""
MAX_ENDING_CHARS = 2
"""Maximum length of an inflectional ending other than -ing: -s, -es, -ed, -e."""
MAX_CHUNKS = 500
"""Maximum number of chunks to count; more frequent words count as equally common."""


def search_terms(store: Store, text: str, *, symbol: str = "", slot: str = "") -> SearchTerms:
    """Return the search terms of a text.

    Args:
        store: The source index.
        text: A text in any language.
        symbol: Another symbol to search for.
        slot: The slot of the query frame that the text comes from; empty if from the question.
    """
    read_terms = read_words(text, symbol)
    japanese = {words: term for term, words in terms(text)}
    words = [
        row if row not in japanese or _chunk_count(store, row) <= MAX_CHUNKS else (japanese[row],)
        for row in read_terms.words
    ]
    words.sort(key=lambda row: _chunk_count(store, row))
    return SearchTerms(read_terms.names, tuple(words), slot)


def file_ranks(store: Store, question: str, bases: Sequence[str]) -> Mapping[str, int]:
    """Return the rank of each file that contains words of the question, as in files_search.

    For a Japanese question, files with its English words come before files with its Japanese words,
    so code comes before documents.
    """
    found_terms = read_words(question)
    english_words = " ".join((*found_terms.names, *(w for row in found_terms.words for w in row)))
    found = (
        hit.path
        for words in (english_words, question)
        for hit in search_files(store, words, top_k=MAX_HITS, bases=bases)
    )
    return {path: rank for rank, path in enumerate(dict.fromkeys(found))}


def _chunk_count(store: Store, spellings: tuple[str, ...]) -> int:
    """Count the chunks that contain a word, up to MAX_CHUNKS; return MAX_CHUNKS + 1 if none do."""
    hits = store.word_hits(query_words(" ".join(spellings)), "body", MAX_CHUNKS)
    return len(hits) or MAX_CHUNKS + 1


def read_words(text: str, symbol: str = "") -> SearchTerms:
    """Return the search terms of a text, in the order of the text."""
    rows = english(text)
    named = [
        name.spelled
        for name in read(text).names
        if len(name.spelled) <= MAX_WORD_CHARS and (not rows or name.spelled.isascii())
    ]
    files = {name for name in named if language_of(name) != "text"}
    names = dict.fromkeys(name for name in (symbol.strip(), *named) if name and name not in files)
    in_names = {part.casefold() for name in (*names, *files) for part in _WORD.findall(name)}
    words = dict.fromkeys(
        tuple(map(_stemmed, row)) if not rows else row
        for row in rows or [(word,) for word in _WORD.findall(text)]
        if in_names.isdisjoint(part.casefold() for word in row for part in _WORD.findall(word))
        and all(
            MIN_WORD_CHARS <= len(word) <= MAX_WORD_CHARS and word.casefold() not in STOP_WORDS
            for word in row
        )
    )
    untranslated = (
        [(run,) for run in unread(text) if 1 < len(run) <= MAX_WORD_CHARS] if rows else []
    )
    return SearchTerms(tuple(names), (*words, *untranslated))


def _stemmed(word: str) -> str:
    """Return an English word without its inflectional ending: `password` for `passwords`.

    Other endings are kept: `session` does not become `sess`.
    """
    root = stem(word.casefold())
    ending = word.casefold().removeprefix(root)
    is_inflection = len(ending) <= MAX_ENDING_CHARS or ending == "ing"
    return root if is_inflection and len(root) >= MIN_WORD_CHARS else word
