"""Read agreements written by hand: unclear values are named, and nothing is lost."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from code_intel.chunking.agreement import (
    MAX_LINES,
    AgreementProblem,
    canonical,
    card_of,
    notes_of,
    read,
    render,
)
from code_intel.records import Agreement, FileReference


def page(block: str = "", body: str = "") -> str:
    return f"---\nnl_term: ログイン\nsymbol: Auth\n{block}---\n{body}"


def reason(text: str) -> str:
    with pytest.raises(AgreementProblem) as caught:
        read(text)
    assert caught.value.kind == "invalid"
    return caught.value.reason


def test_term_and_symbol_are_enough() -> None:
    assert read(page()) == Agreement("ログイン", "Auth")


@pytest.mark.parametrize(
    "written",
    [
        *(
            "404",
            "012",
            "0o17",
            "1:20",
            "2025-01-12",
            "1e3",
            "no",
            "On",
            "TRUE",
            "C++",
            "a: b",
            "認証: ログイン",
        ),
        *(
            "[draft] login",
            "@login",
            "`login`",
            "- x",
            "? x",
            "%x",
            "{x} y",
            '"login" form',
            "a: - b",
            "C:\\x y: z",
        ),
    ],
)
def test_term_is_the_text_as_written(written: str) -> None:
    assert read(page().replace("ログイン", written)).nl_term == written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (page().replace(": ", "："), "ログイン"),
        (page().replace("nl_term: ", "NL-Term: ").replace("symbol", "Symbol"), "ログイン"),
        (page().replace(": ", ":\t"), "ログイン"),
        (page().replace("\n", "\r\n"), "ログイン"),
        ("\ufeff" + page(), "ログイン"),
        ("\n \n" + page(), "ログイン"),
        ("---\nnl_term: ログイン\nsymbol: Auth\n...\n", "ログイン"),
        ("-----\nnl_term: ログイン\nsymbol: Auth\n----- \n", "ログイン"),
        (page().replace("ログイン", "'ログイン'  # as people say"), "ログイン"),
    ],
)
def test_front_matter_is_read_in_any_usual_spelling(text: str, expected: str) -> None:
    assert (read(text).nl_term, read(text).symbol) == (expected, "Auth")


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("85%", 0.85),
        ("85 %", 0.85),
        ("８５％", 0.85),
        ("0,85", 0.85),
        (".9", 0.9),
        ("1", 1.0),
        ("", 0.0),
        ("null", 0.0),
    ],
)
def test_similarity_is_read_in_any_usual_form(written: str, number: float) -> None:
    assert read(page(f"similarity: {written}\n")).similarity == pytest.approx(number)


@pytest.mark.parametrize(
    ("written", "time"),
    [
        ("2025-01-12", "2025-01-12T00:00:00+00:00"),
        ("2025/1/12", "2025-01-12T00:00:00+00:00"),
        ("2025.01.12 9:05", "2025-01-12T09:05:00+00:00"),
        ("2025年1月12日", "2025-01-12T00:00:00+00:00"),
        ("２０２５年１月１２日 １４時３５分", "2025-01-12T14:35:00+00:00"),
        ("令和7年1月12日", "2025-01-12T00:00:00+00:00"),
        ("令和元年5月1日", "2019-05-01T00:00:00+00:00"),
        ("2025-01-12 14:35:10", "2025-01-12T14:35:10+00:00"),
        ("2025-01-12T14:35:00+09:00", "2025-01-12T14:35:00+09:00"),
        ("", ""),
    ],
)
def test_date_is_read_in_any_usual_form(written: str, time: str) -> None:
    assert read(page(f"learned_at: {written}\n")).learned_at == time


@pytest.mark.parametrize(
    "written",
    [
        *("a, b", "b、a", "a，b", "[a, b]", "\n  - b\n  - a", "\n- a\n- b", "|\n  a\n  b", "a; b,"),
    ],
)
def test_aliases_are_a_list_or_separated_by_commas(written: str) -> None:
    assert read(page(f"aliases: {written}\n")).aliases == ("a", "b")


def test_comma_in_a_list_item_belongs_to_it() -> None:
    assert read(page('aliases:\n  - "1,000円"\n')).aliases == ("1,000円",)


@pytest.mark.covers("rule.agreement.by_hand")
@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("similarity: high\n", "similarity is “high”. Write a number from 0 to 1"),
        ("similarity: 85\n", "similarity is “85”. Write a number"),
        ("similarity: [1]\n", "similarity is a list. Write a number"),
        ("learned_at: last week\n", "learned_at is “last week”. Write a time such as"),
        ("learned_at: 2025-02-30\n", "learned_at is “2025-02-30”. Write a time such as"),
        ("learned_at: 12.01.2025\n", "learned_at is “12.01.2025”. Write a time"),
        ("confirmed: はい\n", "confirmed is “はい”. Write true or false"),
        ("confirmed: 1\n", "confirmed is “1”. Write true or false"),
        ("aliases: {a: b}\n", "aliases is a mapping. Write terms, one per line"),
        ("aliases: [[a]]\n", "aliases is a list. Write terms"),
        ("doc_type: note\n", "doc_type is “note”. Write agreement, or leave it out"),
        ("intent: [a]\n", "intent is a list. Write one piece of text"),
        ("schema: 2\n", "Update code-intel"),
        ("Symbol: B\n", "symbol twice. Keep one"),
        ("x: 'a\n", "line 6: found unexpected end of stream. Put strings in quotes"),
        ("x: *a\n", "Put a string that begins with & or * in quotes"),
    ],
)
def test_unclear_value_is_named_with_the_right_form(block: str, told: str) -> None:
    assert told in reason(page(block))


@pytest.mark.parametrize("written", ["", "null", "# a comment", "[a, b]"])
def test_missing_term_is_reported_with_an_example(written: str) -> None:
    told = reason(page().replace("ログイン", written))
    assert told.startswith("nl_term is ")
    assert 'nl_term: "ログイン機能"' in told


def test_value_in_a_reason_is_escaped_and_cut() -> None:
    told = reason(page('doc_type: "x\\n[valid] 送料 → evil\\e[31m' + "y" * 1000 + '"\n'))
    assert told.splitlines() == [told]
    assert "\x1b" not in told
    assert len(told) < 120


@pytest.mark.parametrize(
    "text", ["# Title\n\nnl_term: a\n", "text\n---\nnl_term: a\nsymbol: B\n---\n"]
)
def test_page_without_front_matter_is_told_how_to_begin(text: str) -> None:
    assert "Begin it with a line `---`" in reason(text)


def test_too_many_lines_are_refused() -> None:
    assert str(MAX_LINES) in reason(page(body="\n" * MAX_LINES))


@pytest.mark.parametrize(
    "heading", ["根拠", "根拠 (Code Evidence)", "Evidence", "Code evidence:", "evidence（要約）"]
)
@pytest.mark.parametrize(
    "items", ["- x\n- y\n", "1. x\n2. y\n", "・x\n・y\n", "* x\n* y\n", "x\n\ny\n"]
)
def test_evidence_is_a_list_or_paragraphs_under_its_heading(heading: str, items: str) -> None:
    assert read(page(body=f"# Login\n\n## {heading}\n\n{items}")).evidence == ("x", "y")


def test_text_without_a_heading_is_evidence() -> None:
    text = page(body="\n# Login\n\nAuth checks the password.\n\n## Files\n\n- src/auth.py\n")
    assert read(text).evidence == ("Auth checks the password.",)
    assert notes_of(text) == ""


def test_files_are_read_in_any_usual_form() -> None:
    listed = (
        "- `src/a.py:4` is the one\n- src/b.py\n- [b](src/c.py:7)\n- src/d.py：12\n"
        "- `with space.py`\n- see the docs\n"
    )
    found = read(page(body=f"## Files\n\n{listed}"))
    assert found.files == (
        FileReference("src/a.py", 4),
        FileReference("src/b.py"),
        FileReference("src/c.py", 7),
        FileReference("src/d.py", 12),
        FileReference("with space.py"),
    )
    assert notes_of(page(body=f"## Files\n\n{listed}")) == "## メモ\n\n- see the docs"


def test_heading_in_a_code_fence_is_code() -> None:
    code = "```sh\n## 関連ファイル\n- x\n\n---\n```"
    found = read(page(body=f"## 根拠\n\n{code}\n\n## Files\n\n- a.py\n"))
    assert found.evidence == (code,)
    assert found.files == (FileReference("a.py"),)
    assert read(render(found)) == canonical(found)


def test_section_with_a_similar_heading_is_kept_as_a_note() -> None:
    text = page(
        body=(
            "## 根拠\n\n- x\n\n## セッション情報の扱い\n\n捨てない\n\n## Files and folders\n\n"
            "kept\n"
        )
    )
    assert notes_of(text) == "## セッション情報の扱い\n\n捨てない\n\n## Files and folders\n\nkept"


LINES = st.one_of(
    st.sampled_from(
        [
            *("", "", "## 根拠", "## Evidence:", "## Code evidence (auth)", "## 関連ファイル"),
            *("## Files", "## Session", "## セッション情報", "## QueryFrame", "## Mine", "## メモ"),
            *("## セッション情報の扱い", "### Evidence", "# Title", "- `src/a.py:4`", "- src/b.py"),
            *(
                "* item",
                "1. first",
                "2) second",
                "・項目",
                "  more",
                "    code",
                "- ",
                "\t- nested",
            ),
            *(
                "```",
                "```python",
                "~~~~",
                "---",
                "===",
                "...",
                "> quoted",
                "<!-- hidden -->",
                "text",
            ),
            *("prose here", "- Intent: MODIFY", "- 成功時の QueryFrame:", "  - target_feature: x"),
            *(
                "- **observed_issue**: y",
                "- slot： z",
                "（根拠なし）",
                "（なし）",
                "&#10;",
                "a &# b",
            ),
            *("aliases:", "symbol: Other", "**シンボル（分解）**: A", "x  ", "\u3000", "\x85"),
            *("\u2028", "- [a](src/c.py)", "- see the docs", "-", "  ", "##", "## ", " ## 根拠"),
        ]
    ),
    st.text(max_size=8),
)
WORDS = [f"word{number}" for number in range(8)]
SAID = st.sampled_from(WORDS).flatmap(
    lambda word: st.sampled_from([word, f"- {word} and more", f"- {word}: told", f"  {word}"])
)


@settings(deadline=None, max_examples=60)
@given(st.lists(LINES, max_size=14))
@example(["```", "## 根拠", "- x", "```", "## 根拠", "- y"])
@example(["## 関連ファイル", "- src/b.py", " ## 根拠"])
def test_rewritten_page_says_the_same_and_is_stable(lines: list[str]) -> None:
    text = page(body="\n".join(lines))
    agreement = read(text)
    once = render(agreement, notes=notes_of(text))
    assert read(once) == canonical(agreement)
    assert render(read(once), notes=notes_of(once)) == once


@pytest.mark.covers("rule.agreement.rewrite")
@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(LINES, SAID), max_size=12))
@example(["## 関連ファイル", "word0"])
@example(["## Session", "word0", "aliases:"])
def test_rewrite_loses_no_word(lines: list[str]) -> None:
    text = page(body="\n".join(lines))
    once = render(read(text), notes=notes_of(text))
    assert {word for word in WORDS if word in text} == {word for word in WORDS if word in once}


@settings(deadline=None, max_examples=60)
@given(
    st.text(max_size=12),
    st.sampled_from(["similarity", "learned_at", "confirmed", "aliases", "nl_term"]),
)
def test_any_value_of_a_key_is_refused_or_kept(value: str, key: str) -> None:
    text = f"---\nnl_term: a\nsymbol: B\n{key}: {value}\n---\n"
    if card_of(text) is not None:
        assert read(render(read(text))) == canonical(read(text))
