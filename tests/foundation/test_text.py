"""Texts that people read."""

from code_intel.foundation.text import counted


def test_counted_uses_singular_or_plural() -> None:
    assert [counted(n, "file") for n in (0, 1, 2, -1, 2000)] == [
        "0 files", "1 file", "2 files", "-1 file", "2,000 files",
    ]  # fmt: skip
    assert [counted(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]
