"""Test changes of front matter in place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking.front_matter import load, parse
from code_intel.chunking.front_matter_in_place import has_block, merged, with_new_block


def values_of(text: str) -> dict[str, Any]:
    parts = parse(text.replace("\r\n", "\n").removeprefix("\ufeff"), load)
    assert parts is not None
    return parts[0]


OWN = """---
# who owns this
domain:   backend   # ours
"docType" : spec
zeta: {a: 1}
tags:
# the tags
- old
- "older"  # gone
nl_term: ログイン
notes: |
  several
  lines
---

# Body
"""


@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_given_values_change_and_other_bytes_stay(line: str, mark: str) -> None:
    text = mark + OWN.replace("\n", line)
    after = merged(text, {"domain": "frontend", "docType": "api", "project": "shop"})
    expected = (
        OWN.replace("backend ", "frontend ").replace(": spec", ": api")
        .replace("  lines\n", "  lines\nproject: shop\n")
    )  # fmt: skip
    assert after == mark + expected.replace("\n", line)


def test_a_list_over_several_lines_becomes_one_line() -> None:
    after = merged(OWN, {"tags": ["a", "b c"]})
    assert "tags: [a, b c]  # gone\nnl_term: ログイン\n" in after
    assert values_of(after) == values_of(OWN) | {"tags": ["a", "b c"]}


@pytest.mark.parametrize(
    ("block", "after"),
    [
        ("", "domain: api\n"),
        ("# only a comment\n", "# only a comment\ndomain: api\n"),
        ("domain:\n", "domain: api\n"),
        ("domain: # nothing yet\n", "domain: api # nothing yet\n"),
        ("domain: ''\nx: 1\n", "domain: api\nx: 1\n"),
        ("domain: null\n", "domain: api\n"),
        ("domain: >\n  a\n  b\nx: 1\n", "domain: api\nx: 1\n"),
        ("domain:\n  - a\n\n# c\nx: 1\n", "domain: api\n\n# c\nx: 1\n"),
    ],
)
def test_a_value_in_any_form_is_replaced(block: str, after: str) -> None:
    assert merged(f"---\n{block}---\ntext\n", {"domain": "api"}) == f"---\n{after}---\ntext\n"


@pytest.mark.parametrize(
    "block",
    [
        "- a\n",
        "a: &x 1\nb: *x\n",
        "a: !!python/name:os.system x\n",
        "{a: 1}\n",
        "a: 1\na: 2\n",
        "a: [\n",
        "{domain: web}\n",
    ],
)
def test_a_block_that_cannot_be_changed_safely_is_refused(block: str) -> None:
    with pytest.raises(ValueError, match="front matter"):
        merged(f"---\n{block}---\n", {"domain": "api"})


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("# Title\n", "---\ndomain: api\n---\n\n# Title\n"),
        ("", "---\ndomain: api\n---\n\n"),
        ("\ufeff# T\r\nx\r\n", "\ufeff---\r\ndomain: api\r\n---\r\n\r\n# T\r\nx\r\n"),
        ("---\nnever closed\n", "---\ndomain: api\n---\n\n---\nnever closed\n"),
    ],
)
def test_a_text_without_a_block_gets_one(text: str, after: str) -> None:
    assert not has_block(text)
    assert with_new_block(text, {"domain": "api"}) == merged(text, {"domain": "api"}) == after
    assert has_block(after)


TEXTS = st.text(min_size=1, max_size=20).filter(lambda text: "\r" not in text) | st.sampled_from(
    [
        "true",
        "null",
        "1.5",
        "2025-01-01",
        "- a",
        "a: b",
        "# c",
        "[x",
        "日本語 x",
        "---",
        "a, b",
        "~",
    ]
)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from([OWN, "# T\n", ""]))
def test_written_values_are_read_back_as_text(project: str, tags: list[str], text: str) -> None:
    after = merged(text, {"project": project, "tags": tags})
    values = values_of(after)
    assert (values["project"], values["tags"]) == (project, tags)
    assert all(scalar.value == scalar for scalar in [values["project"], *values["tags"]])
    assert after.endswith("# Body\n" if text == OWN else text)
