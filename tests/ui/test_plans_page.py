"""The pages of query plans and knowledge pages: lists, the course of a plan, and staleness."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from code_intel.planning import keeping, knowledge, outcome
from code_intel.planning.records import Evaluation, Metrics, QueryPlan, Result
from code_intel.ui.pages.plans import listing
from kept_plans import iteration, plan, result
from page_client import PageClient, opened_page, text_of
from programs import git
from projects import file_tree
from served import gateway

LOGIN_FILE, FEE_FILE = "src/auth/service.py", "src/cart/shipping.py"
STALE = 'class="state stale"'
HOSTILE = "<script>alert('x')</script> & \"quoted\" {{ 'a' ~ 'bc' }}"


@pytest.fixture
def page(shop: Path) -> Iterator[PageClient]:
    with opened_page(shop) as opened:
        yield opened


def lines_of(shop: Path, file: str, first: int, last: int, **more: Any) -> Result:
    """Return a result with the lines of a file as they are now."""
    text = "".join((shop / file).read_text("utf-8").splitlines(keepends=True)[first - 1 : last])
    return result(file, text, start_line=first, end_line=last, **more)


def course(shop: Path, **more: Any) -> QueryPlan:
    """Return a plan of two queries, of which each found another file first."""
    login, fee = lines_of(shop, LOGIN_FILE, 14, 20), lines_of(shop, FEE_FILE, 1, 11)
    low = Evaluation(Metrics(0.25, 1.0, 0.5, 0.75, 0.4, 0.3), 0.41, 0.32, ("login",), ("token",))
    its = (
        replace(
            iteration(1, "the fee", results=(fee,)),
            evaluation=low,
            feedback="“token” is missing.",
            refinements=("login token",),
        ),
        iteration(2, "login token", 0.9, results=(login, fee), cached=True),
    )
    return plan(iterations=its, final=outcome.final(its), milliseconds=1234.0, **more)


def keep(shop: Path, kept: QueryPlan, *, paged: bool = False) -> str:
    """Save a plan, and its knowledge page; return the address of its page."""
    root = shop / ".gistdex"
    if paged:
        file = knowledge.write(root, kept, shop)
        assert file is not None
        kept = replace(kept, knowledge=file.relative_to(shop).as_posix())
    keeping.save(root, kept)
    return f"/plans/{kept.id}"


def change(shop: Path, file: str) -> None:
    path = shop / file
    path.write_text(path.read_text("utf-8").replace("return", "return  0 or"), "utf-8")


def hrefs(found: str, start: str) -> list[str]:
    links = re.findall(r'href="([^"]*)"', found)
    return [link.replace("&amp;", "&") for link in links if link.startswith(start)]


def test_without_plans_the_page_says_how_one_is_made(page: PageClient, shop: Path) -> None:
    before = file_tree(shop)
    assert "There are no plans yet. code-intel plan GOAL creates one." in page.text("/plans")
    assert "There are no knowledge pages yet." in page.text("/plans/knowledge")
    assert file_tree(shop) == before


def test_plans_are_listed_by_last_use_with_what_came_of_them(page: PageClient, shop: Path) -> None:
    keep(shop, plan("Where is the fee?", 0.2, stop="iterations", final=()))
    keep(shop, course(shop, goal="Where is the login?"))
    text = page.text("/plans")
    assert text.index("Where is the login?") < text.index("Where is the fee?")
    assert re.search(r"Where is the login\? \w{8} success 0\.90 2 current", text)
    assert re.search(r"Where is the fee\? \w{8} failed 0\.20 1 none", text)


def test_a_plan_is_stale_once_a_result_has_changed(page: PageClient, shop: Path) -> None:
    address = keep(shop, course(shop), paged=True)
    assert STALE not in page.get("/plans") + page.get(address)
    file = shop / FEE_FILE
    file.write_text("# moved\n" + file.read_text("utf-8"), "utf-8")
    assert STALE not in page.get("/plans"), "the lines of the result are only elsewhere now"
    found = page.get(address)
    assert "moved since" in text_of(found)
    assert f"/code?file={quote(FEE_FILE, safe='')}&start=2&end=12" in hrefs(found, "/code?")
    change(shop, FEE_FILE)
    assert "stale 1 changed" in page.text("/plans")
    assert FEE_FILE in page.text("/plans")
    text = page.text(address)
    assert "2, stale 1 changed" in text
    assert "changed since" in text
    (shop / LOGIN_FILE).unlink()
    assert "stale 2 changed" in page.text("/plans")
    assert "file is gone" in page.text(address)


def test_a_knowledge_page_has_the_marks_of_searches(page: PageClient, shop: Path) -> None:
    keep(shop, course(shop), paged=True)
    assert "knowledge current 0.90" in page.text("/plans/knowledge")
    (address,) = hrefs(page.get("/plans/knowledge"), "/plans/knowledge/page")
    assert f"{FEE_FILE} unchanged since" in page.text(address)
    change(shop, FEE_FILE)
    assert "knowledge stale stale 1 changed" in page.text("/plans/knowledge")
    text = page.text(address)
    assert f"{FEE_FILE} changed since" in text
    assert f"{LOGIN_FILE} unchanged since" in text
    assert "# How does login work?" in text
    assert "doc_type" not in text


def test_a_page_of_a_plan_that_succeeded_in_part_is_marked(page: PageClient, shop: Path) -> None:
    keep(shop, plan(score=0.5, final=(lines_of(shop, FEE_FILE, 1, 3),)), paged=True)
    assert "knowledge partial" in page.text("/plans/knowledge")


def test_a_page_outlives_its_plan(page: PageClient, shop: Path) -> None:
    address = keep(shop, course(shop), paged=True)
    (shop / ".gistdex/cache/plans" / f"{address.rpartition('/')[2]}.json").unlink()
    assert "removed" in page.text("/plans/knowledge")
    page.get(address, 404)


def test_a_plan_shows_its_course_as_a_plot_and_as_numbers(page: PageClient, shop: Path) -> None:
    found = page.get(keep(shop, course(shop)))
    text = text_of(found)
    assert "1 the fee 0.32 0.41 0.25 1.00 0.50 0.75 0.40 0.30 1 1" in text
    assert "2 login token 0.90 0.90 1.00 1.00 1.00 1.00 1.00 1.00 2 1" in text
    plot, added = re.findall(r"<svg class=\"chart.*?</svg>", found, re.DOTALL)
    assert plot.count('class="part metric') == 12
    assert "keywords 0.25" in plot
    assert "requested 0.70" in plot
    assert "+1" in added
    assert "style=" not in found
    assert "took 1.2 s" in text


def test_a_plan_names_what_each_query_added_and_what_is_missing(
    page: PageClient, shop: Path
) -> None:
    found = page.get(keep(shop, course(shop)))
    text = text_of(found)
    assert f"“token” is missing. To try next: login token First to find: {FEE_FILE}:1-11" in text
    assert f"answered from an earlier plan First to find: {LOGIN_FILE}:14-20" in text
    assert "Found login" in text
    link = f"/code?file={quote(FEE_FILE, safe='')}&start=1&end=11"
    assert link in hrefs(found, "/code?")
    assert "shipping_fee" in page.text(link)


def test_a_plan_is_found_by_the_beginning_of_its_id(page: PageClient, shop: Path) -> None:
    address = keep(shop, plan("Where is it?"))
    assert "Where is it?" in page.text(address[:15])
    assert "Where is it?" in page.text("/plans/last")


@pytest.mark.parametrize("name", ["00000000", "x", "%3Cb%3E", "last"])
def test_an_unknown_plan_is_not_found(page: PageClient, name: str) -> None:
    page.get(f"/plans/{name}", 404)


@pytest.mark.parametrize("name", ["", "x", "../plans/index.json", "index.json", "a-00000000.md"])
def test_an_unknown_knowledge_page_is_not_found(page: PageClient, shop: Path, name: str) -> None:
    keep(shop, course(shop), paged=True)
    found = page.text(f"/plans/knowledge/page?name={name}", 404)
    assert "There is no knowledge page of this name." in found


def test_a_plan_that_found_nothing_or_failed_is_shown(page: PageClient, shop: Path) -> None:
    none = replace(iteration(1, score=0.0, results=()), error="The index cannot be read.")
    text = page.text(keep(shop, plan(iterations=(none,), final=(), stop="timeout")))
    assert "Nothing was found." in text
    assert "The index cannot be read." in text
    assert "failed – the time limit was reached" in text
    assert "Confidence" in page.text(keep(shop, plan(iterations=(), final=(), stop="stopped")))


def test_results_of_the_map_link_to_its_entries(page: PageClient, shop: Path) -> None:
    document = ".code-intel/agreements/x.md"
    kept = plan(source="map", final=(result(document),), iterations=())
    found = page.get(keep(shop, kept))
    assert hrefs(found, "/map/entry") == [f"/map/entry?file={quote(document, safe='')}"]


def test_results_of_another_index_are_neither_linked_nor_judged(
    page: PageClient, shop: Path
) -> None:
    found = page.get(keep(shop, plan(source="other.db, words", final=(result("gone.py"),))))
    assert not hrefs(found, "/code?")
    assert "changed since" not in found


def test_files_outside_the_project_are_not_read(page: PageClient, shop: Path) -> None:
    secret = shop.parent / "outside.txt"
    secret.write_text("the secret\n", "utf-8")
    results = (result("../outside.txt", "the secret\n"), result(str(secret), "the secret\n"))
    address = keep(shop, plan(iterations=(iteration(results=results),), final=results))
    assert "stale 1 changed" in page.text("/plans")
    text = page.text(address)
    assert "unchanged since" not in text


def test_damaged_files_are_listed_with_the_reason(page: PageClient, shop: Path) -> None:
    address = keep(shop, course(shop), paged=True)
    (shop / ".gistdex/cache/plans" / f"{address.rpartition('/')[2]}.json").write_text("{", "utf-8")
    (shop / ".gistdex/cache/knowledge/a-00000000.md").write_text("no page", "utf-8")
    text = page.text("/plans")
    assert "Damaged files" in text
    assert "cannot be read" in text
    assert "Delete the file." in page.text(address, 500)
    assert "a-00000000.md cannot be read: it is not a page of a plan" in page.text(
        "/plans/knowledge"
    )


def test_the_list_has_pages(page: PageClient, shop: Path) -> None:
    for number in range(listing.PAGE_SIZE + 2):
        keep(shop, plan(f"Goal {number}?", final=()))
    assert "1 to 25 of 27" in page.text("/plans")
    assert "26 to 27 of 27" in page.text("/plans?page=2")
    assert hrefs(page.get("/plans"), "/plans?page") == ["/plans?page=2"]


def test_what_plans_say_is_text_never_markup(page: PageClient, shop: Path) -> None:
    hostile = replace(
        iteration(1, HOSTILE, results=(result(HOSTILE, HOSTILE, symbol=HOSTILE),)),
        feedback=HOSTILE,
        refinements=(HOSTILE,),
        error=HOSTILE,
        degraded=(HOSTILE,),
    )
    kept = plan(HOSTILE, iterations=(hostile,), final=hostile.results, source="forest, " + HOSTILE)
    address = keep(shop, kept, paged=True)
    pages = ["/plans", address, "/plans/knowledge"]
    pages += hrefs(page.get("/plans/knowledge"), "/plans/knowledge/page")
    assert len(pages) == 4
    for path in pages:
        found = page.get(path).partition("<main")[2]
        assert "<script" not in found, path
        assert "abc" not in found, path
    assert HOSTILE in page.text(address)


@pytest.mark.anyio
async def test_a_plan_of_an_agent_is_shown(shop: Path) -> None:
    git(shop, "status")
    async with gateway(shop, groups=("plans",)) as call:
        made = await call("gistdex_query_plan", goal="where is the shipping fee computed")
    with opened_page(shop) as page:
        text = page.text(f"/plans/{made['planId']}")
        assert "where is the shipping fee computed" in text
        assert FEE_FILE in text
        assert "forest, words" in text
        assert hrefs(page.get(f"/plans/{made['planId']}"), "/plans/knowledge/page")
