"""Agreements have headings in two languages, and a role within their feature."""

from dataclasses import replace

import pytest

from code_intel.chunking.agreement import AgreementProblem, canonical, notes_of, read, render
from code_intel.records import Agreement, FileReference, Language

LOGIN = canonical(
    Agreement(
        "login",
        "AuthService.login",
        evidence=("`login()` checks the password",),
        files=(FileReference("src/auth.py", 3),),
        intent="MODIFY",
        role="entry",
        frame=(("target_feature", "login"),),
    )
)


@pytest.mark.parametrize("language", ["ja", "en"])
def test_an_agreement_is_read_back_from_headings_in_each_language(language: Language) -> None:
    assert read(render(LOGIN, language=language)) == LOGIN


def test_english_headings_have_no_japanese_text() -> None:
    assert render(LOGIN, language="en").isascii() is False  # the arrow in the title
    assert render(LOGIN, language="en").replace("→", "").isascii()


def test_other_text_of_a_section_is_kept_under_a_heading_of_the_language() -> None:
    text = render(LOGIN, language="en").replace("- `src/auth.py:3`", "- `src/auth.py:3`\n\nSee it.")
    assert notes_of(text, "en") == "## Notes\n\nSee it."
    assert notes_of(text, "ja") == "## メモ\n\nSee it."


def test_an_agreement_without_a_role_has_no_such_key() -> None:
    assert "role" not in render(replace(LOGIN, role=""))


@pytest.mark.parametrize(
    ("written", "role"), [("Entry", "entry"), ("ＣＯＲＥ", "core"), ("入口", "入口"), ("", "")]
)
def test_a_role_is_read_as_one_word_in_lower_case(written: str, role: str) -> None:
    text = render(LOGIN).replace('role: "entry"', f'role: "{written}"')
    assert read(text).role == role


def test_a_role_of_several_words_is_rejected_with_the_right_form() -> None:
    text = render(LOGIN).replace('role: "entry"', 'role: "the entry point"')
    with pytest.raises(AgreementProblem, match=r"role is “the entry point”\. Write one word"):
        read(text)
