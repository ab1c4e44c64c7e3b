"""A line with a name refers to a symbol, may refer to it, or only contains the word."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from code_intel.forest.references.callees import calls_in
from code_intel.forest.references.certainty import judge
from code_intel.forest.references.judgement import Judgement
from code_intel.forest.references.project import ProjectNames
from forest.corpus import plant

Texts = Mapping[str, str]

PYTHON: Texts = {
    "shop/__init__.py": "from .cart import Cart as Basket\n",
    "shop/cart.py": """\
from __future__ import annotations

class Base:
    def total(self): ...
    def copy(self) -> "Cart": ...

class Cart(Base):
    items: list[Item]
    def total(self):
        return sum(item.price() for item in self.items)

class Item:
    def price(self): ...

class Tax:
    def total(self): ...

def empty() -> Cart:
    return Cart()
""",
    "shop/use.py": """\
import shop.cart
from shop import Basket
from shop.cart import Cart, Tax, empty

def one(cart: Cart, taxes: "list[Tax]", unknown):
    cart.total()  # resolved
    empty().total()  # resolved
    cart.copy().total()  # resolved
    Basket().total()  # resolved
    shop.cart.Cart().total()  # resolved
    for tax in taxes:
        tax.total()  # other
    unknown.total()  # text
    total = 3  # other
    print("total")  # text
    one(total=total)  # other
    cart = Tax() if total else Cart()
    cart.total()  # resolved

class Bigger(Cart):
    def more(self):
        self.total()  # resolved
        super().total()  # resolved

class Other(Cart):
    def total(self):
        return self.total()  # likely
""",
}
TYPESCRIPT: Texts = {
    "src/cart.ts": """\
export interface Priced { total(): number }
export class Cart implements Priced {
  constructor(private owner: Owner, readonly tax?: Tax) {}
  total(): number { return this.owner.total() + 1 }
  static of(): Cart { return new Cart(null) }
}
export class Owner { total() { return 1 } }
export class Tax { total() { return 2 } }
export default Cart
""",
    "src/index.ts": 'export { Cart as Basket } from "./cart"\nexport * from "./cart"\n',
    "src/use.tsx": """\
import Default, { type Owner } from "./cart"
import { Basket, Tax } from "./index"
import * as all from "."
const rows: Basket[] = []
function one<T extends Basket>(cart: Basket, generic: T, unknown: any, tax: Tax) {
  cart.total() // resolved
  generic.total() // resolved
  new Default(null).total() // resolved
  all.Cart.of()?.total() // resolved
  for (const row of rows) row.total() // resolved
  tax.total() // other
  const { total } = unknown // other
  const it = unknown as Basket
  it.total() // resolved
  unknown.total() // text
  return { total: 1 } // other
}
""",
}
JAVASCRIPT: Texts = {
    "lib/cart.js": """\
class Cart { total() { return 1 } }
exports.open = function open() { return new Cart() }
module.exports.Cart = Cart
""",
    "lib/use.js": """\
const { open, Cart: Basket } = require("./cart")
const cart = require("./cart")
open().total() // resolved
new Basket().total() // resolved
new cart.Cart().total() // resolved
function Old() {}
Old.prototype.total = function () { return this.total() }
new Old().total() // other
""",
}
GO: Texts = {
    "go.mod": "module example.com/shop\n",
    "cart/cart.go": """\
package cart
type Priced interface { Total() int }
type Base struct {}
func (b Base) Copy() *Cart { return nil }
type Cart struct { Base; Owner *Owner; items []Item }
type Owner struct {}
type Item struct {}
func New() (*Cart, error) { return &Cart{}, nil }
func (o *Owner) Total() int { return 1 }
""",
    "cart/total.go": """\
package cart
func (c *Cart) Total() int {
	var items []Cart
	for _, item := range items { item.Total() } // resolved
	c.Owner.Total() // other
	return c.Copy().Total() // resolved
}
""",
    "main.go": """\
package main
import "example.com/shop/cart"
func main() {
	c, err := cart.New()
	c.Total() // resolved
	(&cart.Cart{}).Total() // resolved
	new(cart.Cart).Total() // resolved
	var p cart.Priced
	p.Total() // likely
	var o cart.Owner
	o.Total() // other
	err.Total() // text
	x := any(c).(*cart.Cart)
	x.Total() // resolved
}
""",
}
JAVA: Texts = {
    "src/shop/Base.java": """\
package shop;
import java.util.List;
public abstract class Base {
    abstract int total();
    List<Cart> all() { return null; }
}
""",
    "src/shop/Cart.java": """\
package shop;
public class Cart extends Base {
    private Tax tax = new Tax();
    public int total() { return tax.total(); }
    static Cart of() { return new Cart(); }
    int twice() {
        return total() + this.total(); // resolved
    }
}
class Tax { int total() { return 1; } }
""",
    "src/app/Main.java": """\
package app;
import shop.Cart;
import shop.Base;
import static shop.Cart.of;
class Main extends Cart {
    void main(Cart cart, Base base, Object unknown) {
        cart.total(); // resolved
        of().total(); // resolved
        total(); // resolved
        base.total(); // likely
        for (var one : base.all()) one.total(); // resolved
        if (unknown instanceof Cart it) it.total(); // resolved
        ((Cart) unknown).total(); // resolved
        unknown.total(); // text
        int total = 1; // other
    }
}
""",
}
C: Texts = {
    "include/cart.h": "struct cart { int n; };\nEXPORT int total(struct cart *c, int other);\n",
    "src/cart.c": """\
#include "cart.h"
int total(struct cart *c, int other) { return c->n; }
int twice(struct cart *c) { return 2 * total(c, 0); } // resolved
""",
    "src/main.c": """\
#include "../include/cart.h"
typedef int (*run)(int total); // other
int main(void) {
    struct cart c = { .n = total(0, 1) }; // resolved
    int (*f)(struct cart *, int) = &total; // resolved
    { int total = 3; return total; } // other
    return f(&c, 1) + total(&c, 2); // resolved
}
""",
}


def certainty_of(judgement: Judgement) -> str:
    return "other" if judgement.is_other else judgement.certainty.value


@pytest.mark.parametrize(
    ("texts", "symbol", "file"),
    [
        (PYTHON, "Cart.total", "shop/use.py"),
        (TYPESCRIPT, "Cart.total", "src/use.tsx"),
        (JAVASCRIPT, "Cart.total", "lib/use.js"),
        (GO, "Cart.Total", "main.go"),
        (GO, "Cart.Total", "cart/total.go"),
        (JAVA, "Cart.total", "src/app/Main.java"),
        (JAVA, "Cart.total", "src/shop/Cart.java"),
        (C, "total", "src/cart.c"),
        (C, "total", "src/main.c"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_line_refers_to_a_method_by_scopes_imports_and_types(
    texts: Texts, symbol: str, file: str, tmp_path: Path
) -> None:
    lines = {
        number: line.rpartition("# " if file.endswith(".py") else "// ")[2]
        for number, line in enumerate(texts[file].splitlines(), 1)
        if "// " in line or "  # " in line
    }
    found = judged_lines(texts, symbol, file, list(lines), tmp_path)
    assert {line: certainty_of(found[line]) for line in lines} == lines


def judged_lines(
    texts: Texts, symbol: str, file: str, lines: list[int], folder: Path
) -> dict[int, Judgement]:
    with plant(folder / "forest.db", texts) as store:
        asked = store.definitions(symbol, exact=True, limit=9)
        namesakes = store.definitions(asked[0].name, exact=True, limit=9)
        project = ProjectNames(store, (), texts.get)
        found = judge(project, asked, namesakes, [(file, line) for line in lines])
    return {line: judgement for (_, line), judgement in found.items()}


@pytest.mark.parametrize(
    ("texts", "symbol", "file", "lines"),
    [
        (PYTHON, "Cart", "shop/__init__.py", {1: "resolved"}),
        (PYTHON, "Cart", "shop/use.py", {3: "resolved", 5: "resolved", 10: "resolved"}),
        (PYTHON, "Cart", "shop/cart.py", {5: "resolved", 19: "resolved"}),
        (TYPESCRIPT, "Cart", "src/index.ts", {1: "resolved"}),
        (TYPESCRIPT, "Cart", "src/use.tsx", {9: "resolved"}),
        (TYPESCRIPT, "Cart", "src/cart.ts", {5: "resolved", 9: "resolved"}),
        (JAVASCRIPT, "open", "lib/use.js", {1: "resolved", 3: "resolved"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_import_export_alias_and_type_refer_to_a_class(
    texts: Texts, symbol: str, file: str, lines: dict[int, str], tmp_path: Path
) -> None:
    found = judged_lines(texts, symbol, file, list(lines), tmp_path)
    assert {line: certainty_of(one) for line, one in found.items()} == lines


def test_name_that_only_one_class_has_is_likely_on_an_unknown_object(tmp_path: Path) -> None:
    texts = {"a.py": "class A:\n    def rare(self): ...\n    def append(self): ...\n"}
    texts["b.py"] = "def f(x):\n    x.rare()\n    x.append()\n    rare()\n"
    found = judged_lines(texts, "A.rare", "b.py", [2, 4], tmp_path)
    assert [certainty_of(found[line]) for line in (2, 4)] == ["likely", "text"]
    (tmp_path / "forest.db").unlink()
    found = judged_lines(texts, "A.append", "b.py", [3], tmp_path)
    assert certainty_of(found[3]) == "text"


def test_local_function_of_the_same_name_is_another(tmp_path: Path) -> None:
    texts = {
        "a.py": "def f():\n    def g(): ...\n    g()\ndef g(): ...\ng()\nclass C:\n"
        "    def h(self):\n        g()\n    def g(self): ...\n"
    }
    found = judged_lines(texts, "g", "a.py", [3, 5, 8], tmp_path)
    assert {line: one.definition.qualified for line, one in found.items() if one.definition} == {
        3: "f.g",
        5: "g",
        8: "g",
    }


def test_hostile_code_ends(tmp_path: Path) -> None:
    cycle = "from b import x\nclass A(B): ...\nclass B(A):\n    def run(self): return self.run()\n"
    nested = "f(" * 3000 + "x" + ")" * 3000
    texts = {"a.py": f"{cycle}A().run.run.run()\n", "b.py": "from a import x, A\n"}
    texts["d.py"] = f"{nested}\n"
    texts["c.ts"] = "type T = T | U\ntype U = T\nlet x: T\nx.run()\nexport * from './c'\n"
    found = judged_lines(texts, "B.run", "a.py", [4, 5], tmp_path)
    assert certainty_of(found[4]) == "resolved"
    (tmp_path / "forest.db").unlink()
    found = judged_lines(texts, "B.run", "c.ts", [4], tmp_path)
    assert certainty_of(found[4]) == "likely"


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("a.py", "(" * 400 + "a" + ")" * 400 + ".run()"),
        ("a.ts", " + ".join(["a"] * 2000) + ".run()"),
        ("a.ts", "let x: " + " | ".join(f"T{n}" for n in range(2000)) + "; x.run()"),
        ("a.ts", "(" + " || ".join(["a"] * 2000) + ").run()"),
        ("a.ts", "a" + ".b()" * 2000 + ".run()"),
    ],
    ids=["parentheses", "sum", "union", "alternatives", "chain"],
)
def test_deeply_nested_code_ends(file: str, line: str, tmp_path: Path) -> None:
    texts = {file: f"{line}\n", "b.py": "class B:\n    def run(self): ...\n"}
    assert 1 in judged_lines(texts, "B.run", file, [1], tmp_path)


def test_long_chain_of_exports_ends(tmp_path: Path) -> None:
    texts = {f"m{n}.ts": f'export * from "./m{n + 1}"\n' for n in range(600)}
    texts["m600.ts"] = "export class B { run() {} }\n"
    texts["use.ts"] = 'import { B } from "./m0"\nnew B().run()\n'
    assert 2 in judged_lines(texts, "B.run", "use.ts", [2], tmp_path)


def test_callees_are_what_a_symbol_calls(tmp_path: Path) -> None:
    with plant(tmp_path / "forest.db", PYTHON) as store:
        project = ProjectNames(store, (), PYTHON.get)
        (definition,) = store.definitions("one", exact=True, limit=2)
        calls = calls_in(project, definition)
    assert calls is not None
    targets = {name for call in calls for _, name in call.targets}
    assert targets == {"Cart.total", "empty", "Base.copy", "Cart", "Tax", "Tax.total", "one"}


def test_language_without_rules_is_judged_by_imports(tmp_path: Path) -> None:
    texts = {
        "shop/cart.rb": "def total\nend\n",
        "tax/tax.rb": "def total\nend\n",
        "app/main.rb": "require_relative '../shop/cart'\ntotal\n# total\n",
        "app/other.rb": "require_relative '../tax/tax'\ntotal\n",
    }
    with plant(tmp_path / "forest.db", texts) as store:
        namesakes = store.definitions("total", exact=True, limit=3)
        asked = [d for d in namesakes if d.file == "shop/cart.rb"]
        project = ProjectNames(store, (), texts.get)
        assert calls_in(project, asked[0]) is None
        lines = [("app/main.rb", 2), ("app/main.rb", 3), ("app/other.rb", 2)]
        found = judge(project, asked, namesakes, lines)
    assert [one.certainty for one in found.values()] == ["likely", "text", "text"]
