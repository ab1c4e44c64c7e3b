"""An answer of an upstream is read within bounds, whatever it contains."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import CallToolResult, TextContent

from code_intel.errors import UpstreamError
from code_intel.servers.upstream.answer import (
    MAX_CHUNK_CHARS,
    MAX_HIT_TEXT_CHARS,
    answer_of,
    content_of,
    project_name,
)

ANY_TEXT = st.text(st.characters(), max_size=12)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
NAMES = ("document", "chunk", "score", "similarity", "position", "agreement", "why", "start_line")
OLD = ("DocumentName", "ChunkContent", "Similarity", "Position")
HITS = st.dictionaries(st.sampled_from((*NAMES, *OLD)), JSON, max_size=6)
ANSWERS = st.fixed_dictionaries(
    {"results": st.lists(HITS | JSON, max_size=5) | JSON}, optional={"index": JSON}
)


@given(ANSWERS, st.integers(1, 5))
def test_read_answer_is_within_its_bounds(data: dict[str, Any], most: int) -> None:
    try:
        answer, _ = answer_of(data, top_k=most)
    except UpstreamError:
        assert not isinstance(data["results"], list)
        return
    assert len(answer.hits) <= most
    for hit in answer.hits:
        assert hit.document
        assert hit.score is None or 0 <= hit.score <= 1
        assert 0 <= hit.similarity <= 1
        assert min(hit.position, hit.start_line, hit.end_line) >= 0
        assert len(hit.chunk) <= MAX_CHUNK_CHARS
        assert len(hit.document) <= MAX_HIT_TEXT_CHARS
        assert "\0" not in hit.document + hit.chunk
    json.dumps([str(hit) for hit in answer.hits], ensure_ascii=False).encode()


@given(JSON, st.booleans())
def test_any_content_is_read_or_refused(value: Any, is_error: bool) -> None:  # noqa: FBT001 - drawn
    text = TextContent(type="text", text=json.dumps(value))
    try:
        content = content_of(CallToolResult(content=[text], is_error=is_error))
    except UpstreamError:
        assert is_error or not isinstance(value, dict | list)
    else:
        assert isinstance(content, dict)


@pytest.mark.parametrize("text", ["[" * 100_000, "", "not json", '{"results": ' + "[" * 50_000])
def test_malformed_texts_are_refused(text: str) -> None:
    with pytest.raises(UpstreamError):
        content_of(CallToolResult(content=[TextContent(type="text", text=text)]))


def test_deep_nesting_is_bounded() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    answer, _ = answer_of({"results": [{"document": "a", "why": deep}]})
    assert answer.hits[0].document == "a"


def test_documents_get_their_project_names(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside.md"
    (root / "docs" / "sub").mkdir(parents=True)
    outside.write_text("x", encoding="utf-8")
    for name in ("docs/a.md", "docs/sub/b.md", "top.md"):
        (root / name).write_text("x", encoding="utf-8")
    (root / "link.md").symlink_to(outside)
    cases = {
        "a.md": "docs/a.md",
        "./sub/b.md": "docs/sub/b.md",
        "sub\\b.md": "docs/sub/b.md",
        str(root / "docs" / "a.md"): "docs/a.md",
        "../top.md": "top.md",
        "top.md": "top.md",
        "docs/a.md": "docs/a.md",
        "gone.md": "gone.md",
        "../../outside.md": "../../outside.md",
        "../link.md": "../link.md",
        str(outside): str(outside),
        "": "",
        "x" * 5000: "x" * 5000,
    }
    assert {name: project_name(root, root / "docs", name) for name in cases} == cases
    assert project_name(root, root / "docs", os.sep) == os.sep
