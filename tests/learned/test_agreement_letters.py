"""Names with letters that look like others are reported, and git alone does not confirm them."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.config import Settings
from code_intel.foundation.text import mixed_word
from code_intel.learned.files.agreements import find, key_of, write
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import confirm, learn
from code_intel.learned.status.validity import is_confirmed, lookalike
from code_intel.records import Agreement
from programs import git
from served import settings_of

LOGIN = Agreement("ログイン", "login", evidence=("e",), confirmed=True)
SPOOFED = replace(LOGIN, nl_term="\u0430uth")  # a Cyrillic a


@pytest.mark.parametrize(
    "text",
    [
        "\u0430uth",
        "get \u0430uth",
        "\u0410uthService",
        "log\u0456n",
        "\u0391uthService",
        "pr\u03bfxy",
        "\u13aauth",
        "a\u0430\u0301b",
    ],
)
def test_a_latin_word_with_a_letter_from_elsewhere_is_found(text: str) -> None:
    assert mixed_word(text)


@pytest.mark.parametrize(
    "text",
    [
        "auth",
        "ログインAPI",
        "APIの認証",
        "Δt",
        "σmax",
        "λ式",
        "μs",
        "Ωm",
        "αβ法",
        "запрос",
        "SQL-запрос",
        "SQL запрос",
        "Größe",
        "naïve",
        "ﬁle",
        "ＡＢ",
        "é",
        "한글API",
        "Łódź",
        "x²",
        "θ_max",
        "get_Δ",
        "",
    ],
)
def test_what_people_mix_is_not(text: str) -> None:
    assert mixed_word(text) == ""


@given(st.text(st.characters(max_codepoint=0x24F) | st.sampled_from("ログイン認証한글Δσ")))
def test_latin_japanese_and_korean_are_never_mixed(text: str) -> None:
    assert mixed_word(text) == ""


@pytest.mark.parametrize(
    "agreement",
    [SPOOFED, replace(LOGIN, symbol="l\u043egin"), replace(LOGIN, aliases=("s\u0456gn in",))],
)
def test_the_reason_names_the_word_and_the_letter(agreement: Agreement) -> None:
    said = lookalike(agreement)
    assert "U+04" in said
    assert "Latin" in said
    assert lookalike(LOGIN) == ""


def merged(root: Path, *agreements: Agreement) -> Settings:
    settings = settings_of(root)
    for agreement in agreements:
        write(settings.agreements, agreement)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "agreed")
    return settings


def confirmed(settings: Settings, agreement: Agreement) -> bool:
    entry = find(settings.agreements, key_of(agreement))
    assert entry is not None
    with open_state(settings.state) as state:
        return is_confirmed(settings, entry, state)


@pytest.mark.covers("rule.agreement.letters")
def test_what_is_merged_is_confirmed_unless_its_reviewers_could_not_see_it(tmp_path: Path) -> None:
    settings = merged(tmp_path, LOGIN, SPOOFED)
    assert confirmed(settings, LOGIN)
    assert not confirmed(settings, SPOOFED)
    confirm(settings, key_of(SPOOFED))
    assert confirmed(settings, SPOOFED)


def test_what_a_session_earned_in_such_words_is_confirmed_here(tmp_path: Path) -> None:
    settings = merged(tmp_path, LOGIN)
    learn(settings, replace(SPOOFED, confirmed=False), confirmed=True)
    assert confirmed(settings, SPOOFED)
