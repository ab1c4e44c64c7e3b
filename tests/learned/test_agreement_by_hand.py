"""Agreements that people wrote by hand: what is meant is served, what is not clear is named, nothing is lost."""


from hypothesis import example, given, settings
from hypothesis import strategies as st

from code_intel.chunking.agreement import (
    AgreementProblem,
    canonical,
    notes_of,
    read,
    render,
)

LINES = st.one_of(
    st.sampled_from([
        "", "", "## 根拠", "## Evidence:", "## Code evidence (auth)", "## 関連ファイル", "## Files", "## Session",
        "## セッション情報", "## QueryFrame", "## Mine", "## メモ", "## セッション情報の扱い", "### Evidence", "# Title",
        "- `src/a.py:4`", "- src/b.py", "* item", "1. first", "2) second", "・項目", "  more", "    code", "- ",
        "\t- nested", "```", "```python", "~~~~", "---", "===", "...", "> quoted", "<!-- hidden -->", "text", "prose here",
        "- Intent: MODIFY", "- 成功時の QueryFrame:", "  - target_feature: x", "- **observed_issue**: y", "- slot： z",
        "（根拠なし）", "（なし）", "&#10;", "a &# b", "aliases:", "symbol: Other", "**シンボル（分解）**: A", "x  ", "\u3000",
        "\x85", "\u2028", "- [a](src/c.py)", "- see the docs", "-", "  ", "##", "## ", " ## 根拠",
    ]),
    st.text(max_size=8),
)  # fmt: skip
BODIES = st.lists(LINES, max_size=14).map("\n".join)


def text_of(body: str, block: str = "nl_term: ログイン\nsymbol: Auth\n") -> str:
    return f"---\n{block}---\n{body}"


@settings(deadline=None, max_examples=300)
@given(BODIES)
@example("```\n## 根拠\n- x\n```\n## 根拠\n- y")
@example("## Files\n\nMostly these:\n\n- a.py\n")
def test_a_hand_written_file_says_the_same_after_it_was_rewritten_and_then_stays(body: str) -> None:
    text = text_of(body)
    agreement = read(text)
    once = render(agreement, notes=notes_of(text))
    assert read(once) == canonical(agreement)
    assert render(read(once), notes=notes_of(once)) == once


WORDS = [f"word{number}" for number in range(8)]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.one_of(
            LINES, st.sampled_from(WORDS), st.sampled_from(WORDS).map(lambda w: f"- {w} and more")
        ),
        max_size=12,
    )
)
def test_no_word_that_people_wrote_is_lost_by_a_rewrite(lines: list[str]) -> None:
    text = text_of("\n".join(lines))
    try:
        once = render(read(text), notes=notes_of(text))
    except AgreementProblem:
        return
    assert {word for word in WORDS if word in text} == {word for word in WORDS if word in once}
