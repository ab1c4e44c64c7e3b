"""Test that no text occupies the parser for long, however short it is."""

from time import thread_time

import pytest

from code_intel.chunking import parse_file, tree


def test_a_short_text_that_is_never_parsed_is_chunked_by_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each line end doubles the time of the parser, and its memory grows."""
    monkeypatch.setattr(tree, "PARSE_TIMEOUT_S", 0.2)
    started = thread_time()
    found = parse_file("a.tsx", "(" + "\n" * 200 + "}\n")
    assert "takes too long" in found.problem
    assert found.chunks
    assert thread_time() - started < 3
