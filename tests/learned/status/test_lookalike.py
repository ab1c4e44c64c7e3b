"""Names with look-alike letters are reported, and git alone does not confirm them."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.config import Settings
from code_intel.foundation.text import mixed_word
from code_intel.learned.files.agreements import key_of, write
from code_intel.learned.learn import confirm, learn
from code_intel.learned.status.validity import lookalike
from code_intel.records import Agreement
from learned.builders import confirmed_keys
from programs import git
from served import settings_of

LOGIN = Agreement("ログイン", "login", evidence=("e",), confirmed=True)
SPOOFED = replace(LOGIN, nl_term="\u0430uth")  # a Cyrillic a


MIXED = (
    "\u0430uth;get \u0430uth;\u0410uthService;log\u0456n;\u0391uthService;pr\u03bfxy;"
    "\u13aauth;a\u0430\u0301b"
)
ORDINARY = (
    "auth;ログインAPI;APIの認証;Δt;σmax;λ式;μs;Ωm;αβ法;запрос;SQL-запрос;SQL запрос;Größe;naïve;"
    "ﬁle;ＡＢ;é;한글API;Łódź;x²;θ_max;get_Δ;"
)


@pytest.mark.parametrize("text", MIXED.split(";"))
def test_latin_word_with_a_letter_of_another_script_is_found(text: str) -> None:
    assert mixed_word(text)


@pytest.mark.parametrize("text", ORDINARY.split(";"))
def test_ordinary_mixtures_are_not_reported(text: str) -> None:
    assert mixed_word(text) == ""


@given(st.text(st.characters(max_codepoint=0x24F) | st.sampled_from("ログイン認証한글Δσ")))
def test_latin_japanese_and_korean_are_never_mixed(text: str) -> None:
    assert mixed_word(text) == ""


@pytest.mark.parametrize(
    "agreement",
    [SPOOFED, replace(LOGIN, symbol="l\u043egin"), replace(LOGIN, aliases=("s\u0456gn in",))],
)
def test_reason_names_the_letter(agreement: Agreement) -> None:
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


@pytest.mark.covers("rule.agreement.letters")
def test_git_does_not_confirm_lookalike_names(tmp_path: Path) -> None:
    settings = merged(tmp_path, LOGIN, SPOOFED)
    assert confirmed_keys(settings) == {key_of(LOGIN)}
    confirm(settings, key_of(SPOOFED))
    assert confirmed_keys(settings) == {key_of(LOGIN), key_of(SPOOFED)}


def test_session_confirms_lookalike_names_on_its_machine(tmp_path: Path) -> None:
    settings = merged(tmp_path, LOGIN)
    learn(settings, replace(SPOOFED, confirmed=False), confirmed=True)
    assert key_of(SPOOFED) in confirmed_keys(settings)
