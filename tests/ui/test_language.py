"""The page speaks English and Japanese, and no text lacks a translation."""

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest
from jinja2 import nodes

from code_intel.learned.recall.evidence import MEASURES
from code_intel.learned.status.review import Reason
from code_intel.records import Corpus, Freshness
from code_intel.ui.language import LANGUAGES, catalog
from code_intel.ui.rendering import NAVIGATION, environment
from page_client import opened_page

INDEX_STATES = get_args(Freshness.__annotations__["state"])
PACKAGE = Path(str(files("code_intel.ui")))
TEMPLATES = sorted((PACKAGE / "templates").rglob("*.html"))
DATA_WORDS = (
    *get_args(Corpus),
    *INDEX_STATES,
    *get_args(Reason),
    *MEASURES.values(),
    *("error", "warning"),
    *(f"{corpus}: {what}" for corpus in get_args(Corpus) for what in ("words", "vectors")),
)
"""Words of data that templates translate: `_(row.state)`."""


def texts() -> Iterator[str]:
    """Yield every text that the page translates."""
    for template in TEMPLATES:
        tree = environment("en").parse(template.read_text("utf-8"))
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "_":
                text = call.args[0]
                if isinstance(text, nodes.Const):
                    yield str(text.value)
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "N_":
                assert isinstance(node.args[0], ast.Constant)
                yield str(node.args[0].value)
    yield from DATA_WORDS


def test_each_text_has_its_translation_and_each_translation_its_text() -> None:
    wanted, known = set(texts()), set(catalog("ja"))
    assert wanted - known == set(), "Add them to code_intel/ui/locales/ja.toml."
    assert known - wanted == set(), "Remove them from code_intel/ui/locales/ja.toml."


def test_a_translation_has_the_values_of_its_text() -> None:
    for english, japanese in catalog("ja").items():
        values = re.compile(r"\{(\w+)\}")
        assert sorted(values.findall(english)) == sorted(values.findall(japanese)), english


def test_templates_contain_no_text_that_is_not_translated() -> None:
    word = re.compile(r"[A-Za-z]{3,}")
    markup = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<(code|kbd)\b.*?</\1>|<[^>]*>", re.DOTALL)
    for template in TEMPLATES:
        text = markup.sub(" ", template.read_text("utf-8"))
        left = set(word.findall(text)) - {"code", "intel"}
        assert not left, f"{template.name}: {left}"


@pytest.mark.parametrize(
    ("wanted", "language"),
    [
        ("", "en"),
        ("ja", "ja"),
        ("ja-JP,ja;q=0.9,en;q=0.8", "ja"),
        ("en-US,en;q=0.9,ja;q=0.1", "en"),
        ("fr, ja;q=0.5", "ja"),
        ("fr", "en"),
        ("ja;q=0", "en"),
        ("ja;q=x,;;,?", "en"),
    ],
)
def test_the_browser_chooses_the_language(shop: Path, wanted: str, language: str) -> None:
    with opened_page(shop, language=wanted) as page:
        assert f'<html lang="{language}">' in page.get("/")


def test_a_person_chooses_the_language_and_stays_on_the_page(shop: Path) -> None:
    with opened_page(shop) as page:
        there = page.client.get(
            "/language?set=ja&next=/code?file=README.md", follow_redirects=False
        )
        assert there.headers["location"] == "/code?file=README.md"
        assert '<html lang="ja">' in page.get("/")
        page.client.get("/language?set=en")
        assert '<html lang="en">' in page.get("/")
        page.client.get("/language?set=xx")
        assert '<html lang="en">' in page.get("/")


@pytest.mark.parametrize("there", ["https://example.org", "//example.org", "/\\example.org", ""])
def test_a_choice_of_language_leads_to_no_other_site(shop: Path, there: str) -> None:
    with opened_page(shop) as page:
        answer = page.client.get(
            "/language", params={"set": "ja", "next": there}, follow_redirects=False
        )
        assert answer.headers["location"] == "/"


def test_every_language_is_offered(shop: Path) -> None:
    with opened_page(shop) as page:
        found = page.text("/")
        assert all(name in found for name in LANGUAGES.values())
        assert all(name in found for _, name in NAVIGATION)


def test_the_catalog_has_no_text_twice() -> None:
    source = (PACKAGE / "locales" / "ja.toml").read_text("utf-8")
    tomllib.loads(source)  # refuses a key that is there twice
