"""Bytes to text, or the verdict that they are none; from here on no text holds a secret's value."""

import codecs
import re

from code_intel.redaction import mask

# UTF-32 first: its little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SNIFF = 8192
_HALF_WIDTH = re.compile("[｡-ﾟ]")
# Western 8-bit text can be legal cp932, but gives lone ideographs between letters.
_JAPANESE = re.compile("[぀-ヿ一-鿿]{2}")


def decode(data: bytes) -> str | None:
    """Return a file's text with its line ends as they are, or None when it is binary.

    A byte order mark decides and is dropped; a NUL in the first 8 KiB without one means binary;
    then UTF-8; then Shift_JIS (cp932) or EUC-JP, if the result really reads as Japanese. Secret
    values are masked, at their length (docs/decisions/0020).
    """
    found = decode_counting(data)
    return None if found is None else found[0]


def decode_counting(data: bytes) -> tuple[str, int] | None:
    """Return what `decode` returns, and how many secret values were masked in it."""
    text = _text(data)
    return None if text is None else mask(text)


def _text(data: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strict(data[len(mark) :], encoding)
    if b"\0" in data[:_SNIFF]:
        return None
    text = _strict(data, "utf-8")
    return text if text is not None else _japanese(data)


def _japanese(data: bytes) -> str | None:
    """Decode as cp932 or EUC-JP, whichever gives fewer half-width katakana.

    EUC-JP bytes are nearly always legal cp932 too, and come out as half-width katakana.
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
