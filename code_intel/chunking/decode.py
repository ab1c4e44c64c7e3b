"""Decode the bytes of a file and mask the secrets in it."""

import codecs
import re

from code_intel.foundation.redaction import mask_file

# UTF-32 comes first, because its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY_CHECK_BYTES = 8192
_HALF_WIDTH = re.compile("[｡-ﾟ]")
# Western 8-bit text may be valid cp932, but then contains mostly single ideographs.
_JAPANESE = re.compile("[぀-ヿ一-鿿]{2,}")
_SINGLE = re.compile("(?<![぀-ヿ一-鿿])[一-鿿](?![぀-ヿ一-鿿])")
_NOT_TEXT = re.compile(
    "[\\0-\\x08\\x0e-\\x1a\\x1c-\\x1f\\x7f-\\x84\\x86-\\x9f\\ud800-\\udfff\\ue000-\\uf8ff\\ufffe\\uffff]"
)
"""Characters that no text has: controls, private ones, and halves of pairs."""
_HIGH = re.compile(rb"[\x80-\xff]+")
MAX_RUN, MAX_RUN_SHARE = 2, 0.5
"""Bytes above ASCII that stand together in Western text, and the share of them in longer runs."""
MIN_NUL_RATIO = 4
"""How many more NULs UTF-16 has at even than at odd places, or the reverse."""


def decode(data: bytes) -> str | None:
    """Return the text of a file, with its line endings, or None for a binary file.

    A byte order mark determines the encoding and is removed. Otherwise a NUL in the first 8 KiB
    means UTF-16 if every second byte can be one, else a binary file. Then UTF-8 is tried, Shift_JIS
    (cp932) and EUC-JP, which must give Japanese text, and cp1252, which contains ISO-8859-1
    (docs/decisions/0076). Secret values are masked (docs/decisions/0020).
    """
    result = decode_counting(data)
    return None if result is None else result[0]


def decode_counting(data: bytes) -> tuple[str, int] | None:
    """Return the text of `decode` and the number of masked secrets."""
    text = _decode_any(data)
    return None if text is None else mask_file(text)


def _decode_any(data: bytes) -> str | None:
    for byte_order_mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(byte_order_mark):
            return _decode_as(data[len(byte_order_mark) :], encoding)
    if b"\0" in data[:_BINARY_CHECK_BYTES]:
        return _decode_wide(data)
    for decode_as in (_decode_utf8, _decode_japanese, _decode_western):
        if (text := decode_as(data)) is not None:
            return text
    return None


def _decode_utf8(data: bytes) -> str | None:
    return _decode_as(data, "utf-8")


def _decode_wide(data: bytes) -> str | None:
    """Decode as UTF-16 without a byte order mark: the NULs of ASCII are mostly even or mostly odd.

    The characters U+4E00 (一), U+3000 and a few more have the other byte zero.
    """
    head = data[:_BINARY_CHECK_BYTES]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if MIN_NUL_RATIO * min(even, odd) > max(even, odd):
        return None
    text = _decode_as(data, "utf-16-be" if even > odd else "utf-16-le")
    return None if text is None or _NOT_TEXT.search(text) else text


def _decode_western(data: bytes) -> str | None:
    """Decode as cp1252, if the letters above ASCII stand mostly alone, as accented ones do."""
    runs = [len(run) for run in _HIGH.findall(data)]
    if sum(length for length in runs if length > MAX_RUN) > MAX_RUN_SHARE * sum(runs):
        return None
    text = _decode_as(data, "cp1252")
    return None if text is None or _NOT_TEXT.search(text) else text


def _decode_japanese(data: bytes) -> str | None:
    """Decode as cp932 or EUC-JP, choosing the text with fewer half-width katakana.

    EUC-JP bytes are nearly always valid cp932 as well, and decode to half-width katakana.
    """
    readings = [
        text
        for encoding in ("cp932", "euc-jp")
        if (text := _decode_as(data, encoding)) is not None
        and _is_japanese(text)
        and not _NOT_TEXT.search(text)
    ]
    return min(readings, key=lambda text: len(_HALF_WIDTH.findall(text)), default=None)


def _is_japanese(text: str) -> bool:
    """Return whether more characters are in runs of Japanese than single ideographs."""
    runs = sum(map(len, _JAPANESE.findall(text)))
    return runs > len(_SINGLE.findall(text))


def _decode_as(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
