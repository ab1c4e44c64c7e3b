"""Read and write agreement files: every text that is written is read back."""

import hashlib
import os
import subprocess
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from code_intel.chunking.agreement import (
    AgreementProblem,
    canonical,
    card,
    card_of,
    file_name,
    notes_of,
    read,
    render,
)
from code_intel.foundation.text import hidden_character, without_hidden
from code_intel.records import Agreement, FileReference

NASTY = st.sampled_from(
    [
        *("\n...\n", "````\n## x\n````", "? ", "<<: *a\n", "key: ", " #", "\x0b", "\x0c"),
        *("\u2029", "\u061c", "\u2066", "\U000e0041", "\ufffe", "\ud800", "аuth"),
        *("||||||| base\n", "\t\n", "&#x0a;", "&#1114112;", "&#0;", "1:20", "012", "no"),
        *("2025-01-12", "%", "@", "[x](y)", "\n1. ", "\n・", "（なし）", "：12"),
        *("## 関連ファイル", "\n## 根拠\n", "\n---\n", "---", "\n## 根拠\n", "```", "~~~\n"),
        *("<!-- x", "&#10;", "&#", "- ", "\n- a", "# ", "\r\n", "\r", "\t", " ", "\u3000"),
        *("\u2028", "\x85", "\x00", "\ufeff", "\u202e", "`", "**", ":", "<<<<<<< HEAD\n"),
        *("=======\n", ">>>>>>> b\n", "\n\n", "a:12", ":1-2", "null", "{}", "*a", "&a"),
        *("!!python/object", "</details>", '"', "\\", "'", "ログイン", "が", "か\u3099", "|"),
        *(">", "\x7f"),
    ]
)
TEXT = st.lists(st.one_of(NASTY, st.text(max_size=6)), max_size=6).map("".join)
NAME = TEXT.map(lambda text: without_hidden(text).replace("\n", "").replace("\t", "")).filter(
    str.strip
)
SCALARS = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False), st.none(), TEXT.map(str)
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(TEXT, SCALARS, max_size=3)
)
KEYS = TEXT.map(lambda text: f"x{text}")
AGREEMENTS = st.builds(
    Agreement,
    nl_term=NAME,
    symbol=NAME,
    evidence=st.lists(TEXT, max_size=3).map(tuple),
    files=st.lists(
        st.builds(FileReference, path=TEXT, line=st.integers(0, 10**9 - 1)), max_size=3
    ).map(tuple),
    similarity=st.floats(0, 1),
    intent=TEXT,
    session_id=TEXT,
    learned_at=st.one_of(st.just(""), st.datetimes().map(lambda t: f"{t.isoformat()}+09:00")),
    confirmed=st.booleans(),
    aliases=st.lists(NAME, max_size=3).map(tuple),
    digest=TEXT,
    body=TEXT,
    frame=st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
    extra=st.dictionaries(KEYS, VALUES, max_size=3).map(lambda d: tuple(d.items())),
)


@pytest.mark.covers("rule.agreement.round_trip")
@settings(deadline=None)
@given(AGREEMENTS)
@example(Agreement("--- symbol: Evil", "A", evidence=("\n---\n", "```\n## x")))
@example(Agreement("a", "B", intent="\r\n"))
def test_written_file_is_read_back_and_written_the_same(agreement: Agreement) -> None:
    text = render(agreement)
    assert read(text) == canonical(agreement)
    assert read("\ufeff" + text.replace("\n", "\r\n")) == canonical(agreement)
    assert render(read(text), notes=notes_of(text)) == text


SEED_FORM = """---
doc_type: agreement
nl_term: ログイン機能
symbol: AuthService
similarity: 0.85
session_id: session_20250112_143000
learned_at: 2025-01-12T14:35:00
---

# ログイン機能 → AuthService

## 根拠 (Code Evidence)

- `AuthService.login()` がユーザー認証を処理
- `AuthService` は `UserRepository` と連携

## 関連ファイル

- `src/auth/service.py:42`
- `src/controllers/login_controller.py:15`

## セッション情報

- Intent: MODIFY
- 成功時の QueryFrame:
  - target_feature: ログイン機能
  - trigger_condition: パスワードが空のとき
"""
SHORT_FORM = """---
doc_type: agreement
nl_term: ログイン機能
symbol: AuthService
symbol_normalized: Auth Service
---

# ログイン機能 → AuthService

**シンボル（分解）**: Auth Service

## 根拠 (Code Evidence)

AuthService.login() handles authentication
and tokens.
"""
CODE_FORM = """---
doc_type: agreement
nl_term: ログイン機能
symbol: AuthService
similarity: 0.850
intent: MODIFY
session_id: s1
learned_at: 2025-01-12T14:35:00.123456
---

# ログイン機能 → AuthService

## 根拠 (Code Evidence)

AuthService.login() handles authentication

## 関連ファイル

- src/auth/service.py

## QueryFrame

- **target_feature**: ログイン機能
- **observed_issue**: エラーが出ない
"""


def test_form_of_the_seed_is_read() -> None:
    assert read(SEED_FORM) == Agreement(
        nl_term="ログイン機能",
        symbol="AuthService",
        evidence=(
            "`AuthService.login()` がユーザー認証を処理",
            "`AuthService` は `UserRepository` と連携",
        ),
        files=(
            FileReference("src/auth/service.py", 42),
            FileReference("src/controllers/login_controller.py", 15),
        ),
        similarity=0.85,
        intent="MODIFY",
        session_id="session_20250112_143000",
        learned_at="2025-01-12T14:35:00+00:00",
        frame=(("target_feature", "ログイン機能"), ("trigger_condition", "パスワードが空のとき")),
    )


def test_paragraph_of_the_short_form_is_one_evidence() -> None:
    agreement = read(SHORT_FORM)
    assert agreement.evidence == ("AuthService.login() handles authentication\nand tokens.",)
    assert (agreement.similarity, agreement.learned_at, agreement.confirmed) == (0.0, "", False)


def test_form_of_the_earlier_program_is_read() -> None:
    agreement = read(CODE_FORM)
    assert agreement.frame == (
        ("target_feature", "ログイン機能"),
        ("observed_issue", "エラーが出ない"),
    )
    assert agreement.files == (FileReference("src/auth/service.py"),)
    assert agreement.intent == "MODIFY"


@pytest.mark.covers("rule.agreement.forms")
@pytest.mark.parametrize("form", [SEED_FORM, SHORT_FORM, CODE_FORM])
def test_every_form_is_rewritten_without_loss(form: str) -> None:
    assert read(render(read(form))) == canonical(read(form))


def test_list_with_other_bullets_is_read() -> None:
    text = SEED_FORM.replace("- `AuthService` は", "*   `AuthService` は").replace(
        "連携\n", "連携\n  - とくに DB\n"
    )
    assert read(text).evidence[1] == "`AuthService` は `UserRepository` と連携\n- とくに DB"


def test_own_sections_and_keys_survive_a_rewrite() -> None:
    text = (
        SEED_FORM.replace("similarity:", "owner: [team-a, 3]\nsimilarity:") + "\n## メモ\n\n大事\n"
    )
    again = render(read(text), notes=notes_of(text))
    assert again.endswith("\n## メモ\n\n大事\n")
    assert dict(read(again).extra) == {"owner": ["team-a", 3]}


def test_text_above_the_known_sections_survives_a_rewrite() -> None:
    text = SEED_FORM.replace("## 根拠", "注意書き\n\n## 根拠")
    assert notes_of(text) == "## メモ\n\n注意書き"
    again = render(read(text), notes=notes_of(text))
    assert notes_of(again) == notes_of(text)


def test_prose_among_the_files_is_ignored() -> None:
    text = SEED_FORM.replace(
        "- `src/auth/service.py:42`", "The main ones:\n\n- see the docs\n- src/a.py:7"
    )
    paths = [file.path for file in read(text).files]
    assert paths == ["src/a.py", "src/controllers/login_controller.py"]


def with_line(line: str, key: str = "similarity") -> str:
    return SEED_FORM.replace(f"\n{key}:", f"\n{line}\n{key}:", 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "front matter"),
        ("# Only a heading\n", "front matter"),
        ("---\ndoc_type: agreement\n", "front matter"),
        (SEED_FORM.replace("nl_term: ログイン機能\n", ""), "nl_term is missing"),
        (SEED_FORM.replace("symbol: AuthService", "symbol:"), "symbol is missing"),
        (SEED_FORM.replace("symbol: AuthService", "symbol: [a]"), "symbol is a list. Write"),
        (SEED_FORM.replace("0.85", ".nan"), "similarity"),
        (with_line("symbol: Other"), "twice"),
        (with_line("x: !!python/object/apply:os.system ['true']"), "tags"),
        (with_line("x: !custom y"), "tags"),
        (with_line("x: &a [1]\ny: *a"), "anchors"),
        (with_line("x: *nowhere"), "anchors"),
        (with_line("x: " + "[" * 50 + "]" * 50), "nested"),
        (with_line("x: " + "[" * 30_000), "nested"),
        (with_line("x: " + "y" * 70_000), "64 KiB"),
        (with_line("x: [unclosed"), "YAML"),
        (with_line("\tx: y"), "YAML"),
        (with_line("? [a, b]\n: c"), "key"),
        (SEED_FORM.replace("ログイン機能", '"a\\u202eb"', 1), "nl_term has an invisible character"),
        (SEED_FORM.replace("AuthService", '"A\\e[31m"', 1), "U+001B"),
        (SEED_FORM.replace("AuthService", '"A\\nIGNORE"', 1), "U+000A"),
        (with_line('aliases: [ok, "a\\u200bb"]'), "aliases has an invisible character"),
        ("---\n- a\n- b\n---\nbody\n", "keys and values"),
        ("---\n---\nbody\n", "keys and values"),
    ],
)
def test_invalid_file_is_a_problem_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(AgreementProblem) as caught:
        read(text)
    assert (caught.value.kind, caught.value.error) == ("invalid", "agreement_invalid")
    assert reason in caught.value.reason
    assert card_of(text) is None


@settings(deadline=None)
@given(st.text())
@example("---\n\ud800: x\n---\n")
def test_any_text_is_read_or_is_a_problem(text: str) -> None:
    for candidate in (text, f"---\n{text}\n---\n{text}", SEED_FORM.replace("0.85", text)):
        assert card_of(candidate) is None or read(candidate).symbol


def conflict(ours: str, theirs: str, base: str = "") -> str:
    middle = f"||||||| base\n{base}" if base else ""
    return f"<<<<<<< HEAD\n{ours}{middle}=======\n{theirs}>>>>>>> branch\n"


ALIASED = with_line('aliases:\n  - "サインイン"')


def test_conflict_that_begins_the_aliases_is_read_as_their_union() -> None:
    both = conflict('aliases:\n  - "b"\n', 'aliases:\n  - "a"\n')
    assert read(with_line(both.rstrip("\n"))).aliases == ("a", "b")
    one = conflict('aliases:\n  - "b"\n', "aliases:\n")
    assert read(with_line(one.rstrip("\n"))).aliases == ("b",)


@pytest.mark.parametrize(
    "text",
    [
        SEED_FORM.replace(
            "similarity: 0.85\n", conflict("similarity: 0.85\n", "similarity: 0.9\n")
        ),
        with_line(conflict('aliases:\n  - "a"\nsymbol: Evil\n', "").rstrip("\n")),
        SEED_FORM + conflict("- a\n", "- b\n"),
        SEED_FORM + "aliases:\n" + conflict("  - a\n", "  - b\n"),
        ALIASED.replace('  - "サインイン"\n', '<<<<<<< HEAD\n  - "a"\n'),
        SEED_FORM + ">>>>>>> branch\n",
    ],
)
def test_any_other_conflict_is_a_problem(text: str) -> None:
    with pytest.raises(AgreementProblem) as caught:
        read(text)
    assert caught.value.kind == "conflict"


def test_card_has_term_split_symbol_and_evidence() -> None:
    agreement = Agreement(
        "ログイン機能", "AuthService.login()", evidence=("パスワードを\n照合", "b")
    )
    assert card(agreement) == "ログイン機能 → Auth Service login. パスワードを 照合 b"
    assert card_of(SHORT_FORM) == (
        "ログイン機能 → Auth Service. AuthService.login() handles authentication and tokens."
    )


def test_invisible_characters_are_dropped_from_texts() -> None:
    text = SEED_FORM.replace("がユーザー認証を処理", "が\u202eユーザー\x1b[31m\u200b認証")
    text = text.replace("src/auth/service.py", "src/\u202eauth.py")
    text = text.replace("パスワードが空", "パス\u200bワードが空")
    found = read(text)
    assert found.evidence[0] == "`AuthService.login()` がユーザー[31m認証"
    assert [file.path for file in found.files] == ["src/controllers/login_controller.py"]
    assert dict(found.frame)["trigger_condition"] == "パスワードが空のとき"
    assert not hidden_character(render(found).replace("\n", ""))
    assert not hidden_character(card(found))


RUN_CHARS = 100_000


@pytest.mark.parametrize(
    "run", [" ", "\t", ":", "`", "*", "&#", "[", "(", "<", '"', "\\", "-", "#", "　"]
)
@pytest.mark.parametrize(
    "place",
    [
        "nl_term: a{}b\n---\n",
        "aliases:{}x\n---\n",
        "---\n## 根拠{}b\n",
        "---\n## Session\n\n- a{}b\n",
        "---\n## Files\n\n- a{}b\n",
        "---\n```{}b\n- x\n",
    ],
)
def test_long_run_of_one_character_is_read_in_linear_time(place: str, run: str) -> None:
    text = "---\nsymbol: B\nnl_term: a\n".removesuffix("nl_term: a\n" * place.startswith("nl_term"))
    text += place.format(run * (RUN_CHARS // len(run)))
    assert card_of(text) is None or canonical(read(text)) == read(text)


def test_too_many_aliases_are_refused() -> None:
    many = replace(read(SEED_FORM), aliases=tuple(f"alias {number}" for number in range(10_000)))
    with pytest.raises(AgreementProblem, match="64 KiB"):
        read(render(many))


@pytest.mark.parametrize("size", [64 * 1024 - 40, 64 * 1024 + 40])
def test_front_matter_is_limited_to_64_kib(size: int) -> None:
    head = "nl_term: a\nsymbol: B\nx: "
    text = f"---\n{head}{'y' * (size - len(head) - 1)}\n---\n"
    assert (card_of(text) is None) == (size > 64 * 1024)


MARKERS = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch"


def test_quoted_conflict_markers_are_text() -> None:
    quoting = replace(read(SEED_FORM), evidence=(MARKERS,), frame=(("observed_issue", MARKERS),))
    assert read(render(quoting)) == canonical(quoting)
    assert read(render(quoting)).evidence == (MARKERS,)


WRITER = """
import sys
from code_intel.chunking.agreement import render
from code_intel.records import Agreement, FileReference
aliases = {"サインイン", "log in", "a", "B", "ﬁ", "é"}
print(render(Agreement("ログイン", "Auth", ("x\\ny",), (FileReference("src/a.py", 3),), 0.1 + 0.2,
      aliases=tuple(aliases), extra=(("team", {"b": 1.5, "a": [True, None]}),))), end="")
"""


def test_same_agreement_has_the_same_bytes_in_every_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", WRITER],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONUTF8": "1",
                "LC_ALL": locale,
                "TZ": zone,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        ).stdout
        for seed, locale, zone in (("1", "C", "UTC"), ("2", "ja_JP.UTF-8", "Asia/Tokyo"))
    }
    assert len(said) == 1
    assert "ログイン".encode() in said.pop()


def test_evidence_keeps_its_lines() -> None:
    assert canonical(Agreement("a", "B", evidence=("x\n\ty",))).evidence == ("x\n\ty",)


def test_reason_has_no_invisible_character() -> None:
    with pytest.raises(AgreementProblem) as caught:
        read(SEED_FORM.replace("doc_type: agreement", 'doc_type: "a\\e[31mb"'))
    assert caught.value.reason == "doc_type is “a\\x1b[31mb”. Write agreement, or leave it out."


def test_hidden_text_is_made_visible_when_written() -> None:
    text = render(Agreement("a\u202eb", "A\u200bB", evidence=("x <!-- y --> \u202e",)))
    assert not any(hidden in text for hidden in ("\u202e", "\u200b", "<!--"))


@pytest.mark.covers("rule.agreement.file_name")
@pytest.mark.parametrize(
    ("one", "other"),
    [(("A/B", "S"), ("AB", "S")), (("t", "foo::bar"), ("t", "foobar")), (("a", "S"), ("A", "S"))],
)
def test_different_keys_have_different_file_names(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert file_name(*one).casefold() != file_name(*other).casefold()


@given(st.lists(st.tuples(NAME, NAME), min_size=2, max_size=8))
def test_file_names_differ_on_any_disk(keys: list[tuple[str, str]]) -> None:
    variants = [
        (change(term), symbol) for term, symbol in keys for change in (str, str.upper, str.swapcase)
    ]
    known = {(unicodedata.normalize("NFC", term), symbol) for term, symbol in variants}
    names = {unicodedata.normalize("NFD", file_name(*key)).casefold() for key in known}
    assert len(names) == len(known)


def test_file_name_has_term_symbol_and_digest() -> None:
    key = hashlib.sha256("ログイン機能\0AuthService".encode()).hexdigest()[:8]
    assert file_name("ログイン機能", "AuthService") == f"ログイン機能_AuthService-{key}.md"


@pytest.mark.covers("rule.agreement.file_name")
@settings(deadline=None)
@given(TEXT, TEXT)
@example("con.x", "A")
@example("NUL", "")
@example("../../etc/passwd", "C:\\x")
@example("🔑" * 40, "..." * 30)
@example("ログイン" * 75, "日" * 300)
@example(".hidden", "..")
@example("あ" * 100, "x" * 300)
def test_file_name_is_valid_on_every_system(nl_term: str, symbol: str) -> None:
    name = file_name(nl_term, symbol)
    assert len(name.encode()) <= 60 + 1 + 60 + 1 + 8 + len(".md") + 1
    assert name == unicodedata.normalize("NFC", name) == Path(name).name
    assert not name.startswith(".")
    assert not set(name) & set('<>:"/\\|?*\0\n\r\t ')
    assert name.split(".")[0].upper() not in {"CON", "PRN", "AUX", "NUL", "COM1", "LPT1"}
    assert name == file_name(unicodedata.normalize("NFD", nl_term), symbol)
