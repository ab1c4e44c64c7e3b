"""Places show the current code around a match, whole symbols, and what is related to them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.records import Definition, Hit
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.place_answers import ShownPlace
from code_intel.tools.context.places import (
    MAX_LINE_CHARS,
    Place,
    around_match,
    show_symbol,
    words_of,
)
from code_intel.tools.context.prints import prints_in, prints_of
from code_intel.tools.context.uses.relations import Relation, Relations, relations
from served import settings_of

SERVICE, CART = "src/auth/service.py", "src/cart/cart.py"
LICENCE = "# Licensed to you under the terms of the shop.\n" * 20


@pytest.fixture
def context(shop: Path) -> Iterator[GatewayContext]:
    maps, forest = open_project(settings_of(shop))
    with maps.index, forest.index:
        yield GatewayContext(settings_of(shop), None, maps.index, forest.index, maps.embedder)


def write(context: GatewayContext, file: str, text: str) -> None:
    """Write a source file and index it."""
    path = context.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    context.forest.refresh(path)


def definition(context: GatewayContext, symbol: str) -> Definition:
    (found,) = context.forest.store.definitions(symbol, exact=True, limit=2)
    return found


def hit(file: str, first: int = 0, last: int = 0) -> Hit:
    return Hit(file, "", 0, 0.0, 1.0, start_line=first, end_line=last)


def shown(context: GatewayContext, found: Hit, question: str, budget: int = 250) -> Place:
    place = around_match(context, found, words_of(question), budget=budget)
    assert place is not None
    return place


def whole(context: GatewayContext, symbol: str, budget: int = 1200, question: str = "") -> Place:
    place = show_symbol(
        context, definition(context, symbol), words=words_of(question), budget=budget
    )
    assert place is not None
    return place


def lines_of_file(context: GatewayContext, place: Place) -> tuple[str, ...]:
    text = (context.root / place.file).read_text(encoding="utf-8")
    return tuple(text.splitlines()[place.first - 1 : place.last])


def test_symbol_is_shown_whole_with_its_numbers(context: GatewayContext) -> None:
    place = whole(context, "AuthService.login")
    assert (place.file, place.symbol, place.whole) == (SERVICE, "AuthService.login", True)
    assert place.lines[0] == "    def login(self, credentials: Credentials) -> str:"
    assert place.lines[-1] == "        return self.tokens.issue(user.id)"
    assert place.lines == lines_of_file(context, place)


def test_decorator_above_symbol_is_shown(context: GatewayContext) -> None:
    assert whole(context, "Credentials").lines[0] == "@dataclass"


def test_symbol_is_read_from_disk_although_the_index_is_older(context: GatewayContext) -> None:
    before = definition(context, "AuthService.login")
    path = context.root / SERVICE
    text = path.read_text(encoding="utf-8").replace("return self.tokens", "return 1 or self.tokens")
    path.write_text(f"# One more line.\n{text}", encoding="utf-8")
    place = show_symbol(context, before)
    assert place is not None
    assert place.first == before.line + 1
    assert place.lines[-1] == "        return 1 or self.tokens.issue(user.id)"


def test_symbol_that_is_gone_is_not_shown(context: GatewayContext) -> None:
    before = definition(context, "AuthService.login")
    (context.root / SERVICE).write_text("def other():\n    pass\n", encoding="utf-8")
    assert show_symbol(context, before) is None
    (context.root / SERVICE).unlink()
    assert show_symbol(context, before) is None


def test_long_symbol_is_shown_around_the_match(context: GatewayContext) -> None:
    body = "".join(f"    step_{n} = {n}\n" for n in range(200))
    write(context, "src/long.py", f"def long():\n{body}    send_invoice(step_3)\n{body}")
    place = whole(context, "long", 100, "send the invoice")
    assert not place.whole
    assert "    send_invoice(step_3)" in place.lines
    assert whole(context, "long", 100).lines[0] == "def long():"


@pytest.mark.covers("row.place.header")
def test_part_of_a_long_symbol_is_shown_with_its_first_line(context: GatewayContext) -> None:
    body = "".join(f"    step_{n} = {n}\n" for n in range(200))
    write(context, "src/long.py", f"\n\ndef long():\n{body}    send_invoice(step_3)\n")
    place = whole(context, "long", 100, "send the invoice")
    assert place.header == (3, "def long():")
    assert place.prints[0][:3] == ("src/long.py", 3, 3)
    answer = ShownPlace(place)
    assert answer.data["header"] == "3: def long():"
    assert "3: def long():" in answer.text
    assert whole(context, "long", 100).header is None


def test_lines_around_the_match_are_shown_instead_of_the_licence(context: GatewayContext) -> None:
    write(
        context, "src/tax.py", f"{LICENCE}\nRATE = 19\n\n\ndef vat(net):\n    return net * RATE\n"
    )
    place = shown(context, hit("src/tax.py", 1, 26), "vat rate of a net price")
    assert place.symbol == "vat"
    assert not any("Licensed" in line for line in place.lines)
    header = shown(context, hit("src/tax.py", 1, 26), "licensed under which terms")
    assert "Licensed" in header.lines[0]


def test_symbol_that_the_question_names_is_the_match(context: GatewayContext) -> None:
    assert shown(context, hit(SERVICE, 1, 60), "AuthService.login").symbol == "AuthService.login"
    assert shown(context, hit(SERVICE, 1, 60), "AuthService").symbol == "AuthService"


@pytest.mark.parametrize("rest", ["RATE = 19", "def vat(net):\n    return net"])
def test_code_is_shown_instead_of_the_licence_if_no_word_matches(
    context: GatewayContext, rest: str
) -> None:
    write(context, "src/tax.py", f"{LICENCE}\n{rest}\n")
    place = shown(context, hit("src/tax.py", 1, 23), "quarterly bookkeeping")
    assert rest.startswith(place.lines[0])


def test_hit_in_changed_file_is_found_at_its_new_place(context: GatewayContext) -> None:
    path = context.root / CART
    path.write_text("# A line.\n" * 300 + path.read_text(encoding="utf-8"), encoding="utf-8")
    place = shown(context, hit(CART, 1, 40), "remove an item from the cart")
    assert place.symbol == "ShoppingCart.remove_item"
    assert place.lines == lines_of_file(context, place)


def test_file_that_cannot_be_read_has_no_place(context: GatewayContext) -> None:
    for file in ("src/gone.py", ".env", "../outside.py"):
        assert around_match(context, hit(file), words_of("cart")) is None


def test_place_notes_its_lines_but_not_cut_ones(context: GatewayContext) -> None:
    place = whole(context, "AuthService.login")
    assert place.prints == prints_of(SERVICE, place.first, place.lines)
    write(context, "src/long.py", f"def long():\n    a = 1\n    b = '{'x' * 900}'\n    return a\n")
    place = whole(context, "long")
    assert len(place.lines[2]) == MAX_LINE_CHARS + 1
    assert {(item.first, item.last) for item in place.prints} == {(1, 2), (4, 4)}
    assert (
        place._replace(lines=place.lines[:2]).prints
        + place._replace(first=4, lines=place.lines[3:]).prints
        == place.prints
    )


def names(rows: tuple[Relation, ...]) -> list[str]:
    return [f"{row.file}:{row.symbol}" for row in rows]


async def related(context: GatewayContext, symbol: str) -> Relations:
    return await relations(context, definition(context, symbol))


async def test_callers_callees_and_tests_are_listed(context: GatewayContext) -> None:
    write(
        context,
        "src/cart/checkout.py",
        "from cart.cart import ShoppingCart\nfrom cart.shipping import shipping_fee\n\n\n"
        "def price(cart):\n    return shipping_fee(cart.total(), 'abroad')\n",
    )
    write(
        context,
        "tests/test_shipping.py",
        "from cart.shipping import shipping_fee\n\n\n"
        "def test_fee():\n    assert shipping_fee(1, 'abroad') == 18\n",
    )
    found = await related(context, "shipping_fee")
    (caller,) = found.callers
    assert caller == Relation(
        "src/cart/checkout.py", 6, "price", "return shipping_fee(cart.total(), 'abroad')"
    )
    assert names(found.tests) == ["tests/test_shipping.py:test_fee"]
    assert (found.caller_count, found.test_count) == (1, 1)
    assert "src/cart/shipping.py:shipping_fee" in names((await related(context, "price")).callees)
    printed = prints_in(context, found.passages)
    assert {(item.file, item.first) for item in printed} == {
        ("src/cart/checkout.py", 6),
        ("tests/test_shipping.py", 5),
    }


async def test_callers_in_the_same_file_come_first_then_the_same_folder(
    context: GatewayContext,
) -> None:
    use = "def uses_it():\n    return unusual()\n"
    write(context, "src/b/two.py", f"def unusual():\n    return 1\n\n\n{use}")
    for file in ("src/a/one.py", "src/b/three.py", "src/c/four.py"):
        write(context, file, use)
    files = ["src/b/two.py", "src/b/three.py", "src/a/one.py", "src/c/four.py"]
    found = await relations(context, definition(context, "unusual"), limit=4)
    assert [row.file for row in found.callers] == files
    found = await related(context, "unusual")
    assert [row.file for row in found.callers] == files[:3]
    assert found.caller_count == 4


async def test_imports_comments_and_documents_are_no_callers(context: GatewayContext) -> None:
    write(context, "src/one.py", "def unusual():\n    return 1\n")
    write(
        context,
        "src/two.py",
        "from one import (\n    unusual,\n)\nimport one\n\n# unusual() is called below\n"
        "__all__ = [\n    'unusual',\n]\n",
    )
    write(context, "docs/one.md", "Call unusual().\n")
    assert (await related(context, "unusual")).callers == ()


async def test_help_text_is_no_caller(context: GatewayContext) -> None:
    write(context, "src/one.py", "def unusual():\n    return 1\n")
    write(context, "src/two.py", "def usage():\n    print('run one.unusual, then wait')\n")
    assert (await related(context, "unusual")).callers == ()
    write(context, "src/two.py", "def usage():\n    print(f'{unusual()}', 'unusual')\n")
    assert names((await related(context, "unusual")).callers) == ["src/two.py:usage"]


TABLE = "def f_uncommon(text):\n    return text\n\n\nBUILTINS = {{'{name}': f_uncommon}}\n"


@pytest.mark.covers("rule.evidence_need.other_names")
async def test_test_that_calls_a_symbol_by_its_registered_name_touches_it(
    context: GatewayContext,
) -> None:
    write(context, "src/builtins.py", TABLE.format(name="uncommon"))
    write(context, "tests/test_text.py", "def test_text():\n    run('uncommon')\n")
    found = await related(context, "f_uncommon")
    assert names(found.tests) == ["tests/test_text.py:test_text"]
    assert [row.file for row in found.callers] == ["src/builtins.py"]
    write(context, "src/other.py", "def uncommon():\n    return 1\n")
    assert (await related(context, "f_uncommon")).tests == ()


async def test_test_file_of_the_same_name_touches_the_symbols_of_a_module(
    context: GatewayContext,
) -> None:
    write(context, "src/abbr.py", "def make():\n    return 1\n")
    write(context, "tests/test_abbr.py", "import app\n\n\ndef test_page():\n    app.run()\n")
    found = await related(context, "make")
    assert found.tests == (Relation("tests/test_abbr.py", 4, "test_page", "def test_page()"),)


async def test_name_with_several_definitions_is_used_only_near_one(
    context: GatewayContext,
) -> None:
    for folder in ("a", "b"):
        write(context, f"src/{folder}/store.rb", "def fetch(id)\n  id\nend\n")
        write(context, f"src/{folder}/page.rb", "def show\n  fetch(1)\nend\n")
    one = next(
        d
        for d in context.forest.store.definitions("fetch", exact=True, limit=9)
        if d.file == "src/a/store.rb"
    )
    assert names((await relations(context, one)).callers) == ["src/a/page.rb:show"]


async def test_constructor_is_used_by_the_name_of_its_class(context: GatewayContext) -> None:
    found = await related(context, "AuthService.__init__")
    assert not any("__init__" in row.text for row in found.callers)
    write(context, "src/app.py", "def make():\n    return AuthService(None, None)\n")
    found = await related(context, "AuthService.__init__")
    assert names(found.callers) == ["src/app.py:make"]


async def test_tests_of_the_module_come_before_others(context: GatewayContext) -> None:
    write(context, "src/parser.py", "def unusual():\n    return 1\n")
    use = "def test_it():\n    assert unusual()\n"
    write(context, "tests/test_all.py", use)
    write(context, "tests/test_parser.py", use)
    write(context, "tests/data/sample.py", "def it():\n    return unusual()\n")
    found = await related(context, "unusual")
    assert [row.file for row in found.tests] == [
        "tests/test_parser.py",
        "tests/test_all.py",
        "tests/data/sample.py",
    ]
