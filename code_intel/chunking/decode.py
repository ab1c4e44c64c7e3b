"""Decode the bytes of a file and mask the secrets in it."""

import codecs
import re

from code_intel.foundation.redaction import mask

# UTF-32 first: its little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY_CHECK_BYTES = 8192
_HALF_WIDTH = re.compile("[｡-ﾟ]")
# Western 8-bit text may be valid cp932, but then has single ideographs between letters.
_JAPANESE = re.compile("[぀-ヿ一-鿿]{2}")


def decode(data: bytes) -> str | None:
    """Return the text of a file with its own line ends, or None for a binary file.

    A byte order mark decides and is removed. Without one a NUL in the first 8 KiB means a binary
    file. Else UTF-8 is tried, then Shift_JIS (cp932) and EUC-JP if the result has Japanese text.
    Secret values are masked (docs/decisions/0020).
    """
    found = decode_counting(data)
    return None if found is None else found[0]


def decode_counting(data: bytes) -> tuple[str, int] | None:
    """Return the text of `decode` and the number of masked secrets."""
    text = _text(data)
    return None if text is None else mask(text)


def _text(data: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strict(data[len(mark) :], encoding)
    if b"\0" in data[:_BINARY_CHECK_BYTES]:
        return None
    text = _strict(data, "utf-8")
    return text if text is not None else _japanese(data)


def _japanese(data: bytes) -> str | None:
    """Decode as cp932 or EUC-JP, choosing the text with fewer half-width katakana.

    EUC-JP bytes are nearly always valid cp932 as well, and decode to half-width katakana.
    """
    readings = [
        text
        for encoding in ("cp932", "euc-jp")
        if (text := _strict(data, encoding)) is not None and _JAPANESE.search(text)
    ]
    return min(readings, key=lambda text: len(_HALF_WIDTH.findall(text)), default=None)


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
