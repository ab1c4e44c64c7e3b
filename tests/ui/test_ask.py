"""The page Ask shows what the map and the source answer, and why each result is where it is."""

import re
import shutil
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.index.facade import Index
from code_intel.learned.recall.evidence import MEASURES
from code_intel.ui.pages.ask import COLOURS, OPEN_FILES, Piece, pieces
from code_intel.ui.rendering import url
from map_files import LOGIN, agree
from page_client import PageClient, opened_page

HOSTILE = "<script x-hacked>alert(1)</script>"


@pytest.fixture
def with_model(embedded_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shop with vectors, and a model for questions."""
    monkeypatch.setenv("CODE_INTEL_CACHE_DIR", str(embedded_shop.parent / "cache"))
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "faithful")
    return Path(shutil.copytree(embedded_shop, tmp_path / "shop"))


def ask(page: PageClient, q: str, **fields: str) -> str:
    return page.get(url("/ask", q=q, **fields))


def text(page: PageClient, q: str, **fields: str) -> str:
    return page.text(url("/ask", q=q, **fields))


def found_files(html: str) -> list[str]:
    return re.findall(r'<h3 class="path"><a [^>]*>(.*?)</a>', html)


def synced(root: Path) -> None:
    with Index(load_settings(root).forest) as index:
        index.complete(words_only=True)


def test_the_form_alone_searches_nothing(shop: Path) -> None:
    with opened_page(shop) as page:
        for address in ("/ask", "/ask?q=", "/ask?q=+&why_not=a.py"):
            html = page.get(address)
            assert '<form class="filter ask" role="search" action="/ask">' in html
            assert "of-source" not in html


def test_the_source_is_shown_with_the_words_marked_and_links_to_the_code(shop: Path) -> None:
    with opened_page(shop) as page:
        html = ask(page, "shipping fee")
        assert found_files(html)[0] == "src/cart/shipping.py"
        assert "<mark>shipping_fee</mark>(total" in html
        link = re.search(r'<h3 class="path"><a href="(.*?)#L\d+">', html)
        assert link
        assert "def shipping_fee" in page.text(link[1].replace("&amp;", "&"))


def test_each_file_has_a_bar_and_the_same_as_a_table(shop: Path) -> None:
    with opened_page(shop) as page:
        html = ask(page, "cart total price", corpus="forest")
        files = found_files(html)
        assert len(files) > 1
        bars = re.findall(r'<svg class="bar" width="320".*?</svg>', html, re.DOTALL)
        assert len(bars) == len(files) == html.count("<summary>The signals as numbers")
        assert f'part-{COLOURS["words"]}"' in bars[0]
        for table in html.split("<summary>The signals as numbers")[1:]:
            points = re.findall(r'<code>\w+</code></th><td class="number">([+-][\d.]+)', table)
            score = re.search(r'Score</th><td class="number">([\d.]+)', table)
            assert score
            rows = points[: table[: score.start()].count("</code></th>")]
            assert sum(map(float, rows)) == pytest.approx(float(score[1]), abs=0.05)


def test_what_a_reduction_took_is_part_of_the_bar(shop: Path) -> None:
    with opened_page(shop) as page:
        html = ask(page, "cart total price", corpus="forest")
        assert "tests/test_cart.py" in found_files(html)
        assert '<rect class="taken"' in html
        assert "× 0.10" in html
        assert "taken away by a reduction" in html


def test_a_part_of_the_question_is_asked(shop: Path) -> None:
    with opened_page(shop) as page:
        assert "A session would" not in text(page, "login", corpus="forest")
        assert found_files(ask(page, "login", corpus="map")) == []
        assert "so a session would search the source. No agreement" in text(page, "login")


def test_the_code_of_all_files_but_the_first_is_folded(shop: Path) -> None:
    with opened_page(shop) as page:
        html = ask(page, "cart total price order", corpus="forest")
        files = re.split(r'<h3 class="path">', html)[1:]
        assert len(files) > OPEN_FILES
        for number, file in enumerate(files):
            places = file.count('<div class="code"')
            assert places > 0
            folded = re.findall(r'<details class="place">\s*<summary>Lines \d+ to \d+', file)
            assert len(folded) == (0 if number < OPEN_FILES else places)
            assert file.count('href="/code?') == places + 1


@pytest.mark.model
def test_the_map_says_where_it_leads_before_the_source(with_model: Path) -> None:
    agree(with_model, *LOGIN)
    agree(with_model, "sign-in page", "AuthService", confirmed=False)
    with opened_page(with_model) as page:
        shown = text(page, "login")
        assert "A session would be READY, by the agreement login → AuthService.login." in shown
        assert shown.index("It leads to READY") < shown.index("src/auth/service.py")
        assert "Measure Value Log-odds margin" in shown
        assert shown.count("What the measures mean") == 1
        assert f"margin {MEASURES['margin']}" in shown
        shown = text(page, "sign-in page")
        assert "A session would go to VERIFICATION" in shown
        assert "confirmed : the agreement is not confirmed." in shown
        entry = re.search(
            r'<h3><a href="(/map/entry[^"]*)">sign-in page', ask(page, "sign-in page")
        )
        assert entry
        assert "AuthService" in page.text(entry[1])


@pytest.mark.model
def test_a_file_that_lost_says_where(with_model: Path) -> None:
    (with_model / ".env").write_text("KEY=1\n", encoding="utf-8")
    with opened_page(with_model) as page:
        shown = text(page, "shipping fee", why_not="src/cart/shipping.py")
        assert "Rank of src/cart/shipping.py It is shown: file 1 of " in shown
        assert "Signal This file Last file shown" in shown
        shown = text(page, "shipping fee", why_not="docs/deployment.md")
        assert "docs/deployment.md" in shown
        assert "Signal This file First file Last file shown" in shown
        assert "Why not docs/deployment.md" in shown
        assert "It is skipped: may hold secrets." in text(page, "shipping fee", why_not=".env")
        assert "There is no such file." in text(page, "shipping fee", why_not="none.py")


def test_a_shown_file_that_is_not_the_first_says_why(shop: Path) -> None:
    with opened_page(shop) as page:
        html = ask(page, "cart total price", why_not="tests/test_cart.py")
        assert "is ahead mostly because of the reduction <code>test</code>." in html
        assert "First file: src/cart/cart.py" in html


@pytest.mark.model
def test_a_question_that_nothing_answers_compares_no_files(with_model: Path) -> None:
    with opened_page(with_model) as page:
        shown = text(page, "zzzz", why_not="src/payments/gateway.py")
        assert "so no file is shown. It has none of the question's words (zzzz)." in shown
        assert "Last file shown" not in shown
        assert "It would be" not in shown


def test_the_map_alone_ranks_no_file(shop: Path) -> None:
    with opened_page(shop) as page:
        shown = text(page, "cart", why_not="src/cart/cart.py", corpus="map")
        assert "Only the map was searched, so no file of the source was ranked." in shown
        assert "This file" not in shown


def test_a_question_that_nothing_answers_says_so(shop: Path) -> None:
    with opened_page(shop) as page:
        assert "Nothing is likely. Use other words." in text(page, "qqqzzzxxx")
        shown = text(page, "?!", why_not="src/cart/cart.py")
        assert "The question has no word to search for." in shown


def test_what_files_and_questions_say_is_text(shop: Path) -> None:
    (shop / "hostile.py").write_text(f"hostile = '''{HOSTILE}'''\n", encoding="utf-8")
    synced(shop)
    with opened_page(shop) as page:
        for q in ("hostile", HOSTILE):
            html = ask(page, q, why_not=HOSTILE)
            assert "<script x-hacked" not in html
            assert "&lt;" in html
        assert "hostile.py" in found_files(ask(page, "hostile"))


def test_a_secret_in_the_code_is_masked(shop: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    (shop / "tokens.py").write_text(f"github_token_example = '{secret}'\n", encoding="utf-8")
    synced(shop)
    with opened_page(shop) as page:
        html = ask(page, "github token example")
        assert "tokens.py" in found_files(html)
        assert secret not in html


def test_the_page_speaks_japanese(shop: Path) -> None:
    with opened_page(shop, language="ja") as page:
        shown = text(page, "cart total price", why_not="tests/test_cart.py")
        assert "各要素の点数" in shown
        assert "要素 このファイル 1 位のファイル" in shown


def test_words_of_the_question_are_marked_in_a_line() -> None:
    assert pieces("def read_invoices(x):", {"invoic"}) == (
        Piece("def "),
        Piece("read_invoices", marked=True),
        Piece("(x):"),
    )
    assert pieces("", {"x"}) == ()
    assert (
        "".join(piece.text for piece in pieces("  送料の計算 = 1", {"送料"})) == "  送料の計算 = 1"
    )


def test_a_long_question_is_refused_at_once(shop: Path) -> None:
    with opened_page(shop) as page:
        long = "Aa" * 501
        for path in (f"/ask?q={long}", f"/commands?q={long}"):
            assert "The question has 1,002 characters" in page.text(path, 400)
