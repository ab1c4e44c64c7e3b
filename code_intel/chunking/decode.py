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
# Western 8-bit text may be valid cp932, but then contains only single ideographs.
_JAPANESE = re.compile("[぀-ヿ一-鿿]{2}")


def decode(data: bytes) -> str | None:
    """Return the text of a file, with its line endings, or None for a binary file.

    A byte order mark determines the encoding and is removed. Otherwise a NUL in the first 8 KiB
    means a binary file, and UTF-8 is tried, then Shift_JIS (cp932) and EUC-JP, which must give
    Japanese text. Secret values are masked (docs/decisions/0020).
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
        return None
    text = _decode_as(data, "utf-8")
    return text if text is not None else _decode_japanese(data)


def _decode_japanese(data: bytes) -> str | None:
    """Decode as cp932 or EUC-JP, choosing the text with fewer half-width katakana.

    EUC-JP bytes are nearly always valid cp932 as well, and decode to half-width katakana.
    """
    readings = [
        text
        for encoding in ("cp932", "euc-jp")
        if (text := _decode_as(data, encoding)) is not None and _JAPANESE.search(text)
    ]
    return min(readings, key=lambda text: len(_HALF_WIDTH.findall(text)), default=None)


def _decode_as(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
