"""Values in a page are text: masked, with hidden characters visible, and escaped."""

import re
from pathlib import Path

from code_intel.ui.rendering import environment, safe_text, with_code

TEMPLATES = Path(__file__).resolve().parents[2] / "code_intel" / "ui" / "templates"


def rendered(text: str) -> str:
    return environment("en").from_string("{{ text }}").render(text=text)


def test_markup_in_a_value_is_escaped() -> None:
    assert (
        rendered("<script>alert('1')</script>") == "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"
    )


def test_secrets_are_masked_and_hidden_characters_visible() -> None:
    assert "Tr0ub4dor" not in rendered('password = "Tr0ub4dor&3-longer"')
    assert rendered("a\u202eb\x1b") == "a\\u202eb\\x1b"
    assert rendered("a\n\tb") == "a\n\tb"
    assert safe_text(3) == 3


def test_commands_in_sentences_are_code_and_still_escaped() -> None:
    assert with_code("Run `code-intel sync`.") == "Run <code>code-intel sync</code>."
    assert with_code("<b> `<i>`") == "&lt;b&gt; <code>&lt;i&gt;</code>"
    assert with_code("one ` <b>") == "one ` &lt;b&gt;"


def test_no_template_marks_a_value_as_safe() -> None:
    for template in TEMPLATES.rglob("*.html"):
        assert not re.search(r"\|\s*safe\b|autoescape|\bMarkup\b", template.read_text("utf-8"))
