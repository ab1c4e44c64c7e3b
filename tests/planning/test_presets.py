"""Check that each preset finds its subject in source and nothing in prose."""

import pytest

from code_intel.errors import UsageError
from code_intel.planning.expectations import Preset, chosen, known, of_plan, shipped
from code_intel.planning.patterns import check, found
from code_intel.planning.records import Strategy
from kept_plans import iteration, plan

FOUND: dict[str, dict[str, str]] = {
    "definition": {
        "python": "@cached\nasync def total(items):\n    return sum(items)\n",
        "python class": "class Cart:\n    pass\n",
        "typescript": "export default async function total(items: Item[]): number {\n",
        "typescript arrow": "export const total = (items) => items.length\n",
        "typescript type": "export type Item = { price: number }\n",
        "go": "func (c *Cart) Total() int {\n",
        "go type": "type Cart struct {\n\tItems []Item\n}\n",
        "java": "  public int total(List<Item> items) {\n",
        "java class": "public final class Cart implements Basket {\n",
        "rust": "    pub(crate) fn total(&self) -> u32 {\n",
        "rust impl": "impl Basket for Cart {\n",
    },
    "configuration": {
        "python": "HOST = os.environ['HOST']\n",
        "python settings": "class ShopSettings:\n    port: int = 80\n",
        "typescript": "const port = process.env.PORT ?? 3000\n",
        "vite": "export default defineConfig({ base: '/docs/' })\n",
        "go": 'port := os.Getenv("PORT")\n',
        "java": '@Value("${server.port}")\nint port;\n',
        "rust": 'let port = env::var("PORT")?;\n',
        "toml": "[tool.ruff]\nline-length = 100\n",
    },
    "tests": {
        "python": "def test_total_is_rounded():\n    ...\n",
        "unittest": "        self.assertEqual(total, 3)\n",
        "typescript": 'describe("cart", () => {\n  it("adds", () => {})\n})\n',
        "vitest": 'test.each([1])("of %s", () => expect(total()).toBe(1))\n',
        "go": "func TestTotal(t *testing.T) {\n",
        "java": "  @Test\n  void total() {}\n",
        "rust": "#[tokio::test]\nasync fn total() {}\n",
    },
    "errors": {
        "python": (
            "    except (ValueError, KeyError) as error:\n        raise CartError(1) from error\n"
        ),
        "python class": "class CartError(Exception):\n    pass\n",
        "typescript": "} catch (error) {\n  throw new CartError('empty')\n}\n",
        "go": 'if err != nil {\n\treturn fmt.Errorf("cart: %w", err)\n}\n',
        "java": "} catch (IOException | SQLException e) {\n",
        "rust": "fn total() -> Result<u32, CartError> {\n",
    },
    "api": {
        "python": '@app.get("/carts/{id}")\nasync def cart(id: int): ...\n',
        "python names": '__all__ = ["Cart"]\n',
        "typescript": "export function total(items: Item[]): number {\n",
        "express": 'router.post("/carts", create)\n',
        "go": "func (c *Cart) Total() int {\n",
        "go http": 'http.HandleFunc("/carts", carts)\n',
        "java": '@GetMapping("/carts/{id}")\n',
        "java main": "    public static void main(String[] args) {\n",
        "java class": "public final class Cart implements Basket {\n",
        "rust": "pub async fn total(cart: &Cart) -> u32 {\n",
        "actix": '#[get("/carts/{id}")]\n',
    },
    "data": {
        "python": "@dataclass(frozen=True)\nclass Item:\n    price: int\n",
        "pydantic": "class Item(BaseModel):\n    price: int\n",
        "django": "class Item(models.Model):\n",
        "typescript": "export interface Item {\n  price: number\n}\n",
        "zod": "const item = z.object({ price: z.number() })\n",
        "go": "type Item struct {\n\tPrice int\n}\n",
        "java": "@Entity\npublic class Item {}\n",
        "java record": "public record Item(int price) {}\n",
        "rust": "#[derive(Debug, Serialize)]\npub struct Item {\n",
        "sql": "CREATE TABLE IF NOT EXISTS item (\n  price INTEGER\n)\n",
        "protobuf": "message Item {\n  int32 price = 1;\n}\n",
    },
    "concurrency": {
        "python": "async def total(items):\n    async with lock:\n        await asyncio.sleep(0)\n",
        "typescript": "const all = await Promise.all(items.map(price))\n",
        "go": "go func() {\n\tmu.Lock()\n}()\n",
        "go mutex": "var mu sync.Mutex\n",
        "java": "private synchronized int total() {\n",
        "java future": "CompletableFuture<Integer> total = supply();\n",
        "rust": "let handle = tokio::spawn(work());\n",
    },
    "performance": {
        "python": "@functools.lru_cache(maxsize=100)\ndef total(): ...\n",
        "sql": "connection.executemany(insert, rows)\n",
        "typescript": "const total = useMemo(() => sum(items), [items])\n",
        "map": "if (priceCache.has(id)) return\n",
        "go": "defer report(time.Since(start))\n",
        "java": '@Cacheable("prices")\n',
        "rust": "let mut items = Vec::with_capacity(n);\n",
    },
    "security": {
        "python": "if not check_password(given, user.digest):\n",
        "python digest": "return hmac.compare_digest(a, b)\n",
        "typescript": "const user = await verifyToken(header)\n",
        "go": "bcrypt.CompareHashAndPassword(hash, given)\n",
        "java": "@PreAuthorize(\"hasRole('ADMIN')\")\n",
        "rust": "if !constant_time_eq(a, b) {\n",
    },
}
"""Typical code by preset and language."""

PROSE = """\
The shop keeps a cart for every customer. Each item has a price, and delivery is added at the end.
Type the name of the class you want; \
the interface is simple, and every button has a tooltip.
- class of goods, type of delivery (by ship or by land)
If something goes wrong, try again. Plain words explain each error, and there is nothing to catch.
We test it (by hand), expect it to work, and describe it (at length). It runs at the same time.
Export of data, public holidays, a record of sales; raise your hand, except on Sundays.
Go to the settings, set the default, wait for the worker to finish. Await further news.
Prices stay in a cache for a day and are fetched in a batch. Verify who you are with your password.
カートには商品と価格が入る。設定は画面から変えられる。失敗したときは、理由が言葉で示される。
テストは手で行い、結果を記録する。データは毎晩まとめて保存され、権限のある人だけが見られる。
"""
BY_NAME = shipped()


def finds(preset: Preset, text: str) -> bool:
    return any(found(pattern, text) for pattern in patterns_of(preset))


def patterns_of(preset: Preset) -> tuple[str, ...]:
    return tuple(preset.expectedResults.contentPatterns)


def test_every_preset_has_samples() -> None:
    assert FOUND.keys() == BY_NAME.keys()
    for name, samples in FOUND.items():
        assert {"python", "typescript", "go", "java", "rust"} <= samples.keys(), name


@pytest.mark.parametrize(
    ("name", "language"), [(name, key) for name, row in FOUND.items() for key in row]
)
def test_preset_finds_its_subject(name: str, language: str) -> None:
    assert finds(BY_NAME[name], f"// before\n{FOUND[name][language]}")


@pytest.mark.parametrize("name", BY_NAME)
def test_a_preset_finds_nothing_in_prose(name: str) -> None:
    for line in PROSE.splitlines():
        assert not finds(BY_NAME[name], line), line


def test_presets_respect_the_limits_of_a_plan() -> None:
    for preset in BY_NAME.values():
        check(patterns_of(preset))
        assert len(patterns_of(preset)) == 1
        assert preset.about
        assert preset.aboutJa
        assert [*preset.unknown_keys()] == []


def test_project_preset_overrides_a_shipped_one() -> None:
    own = Preset(about="Our own.")
    assert chosen("tests", {"tests": own}) is own
    assert chosen("tests", {}) is BY_NAME["tests"]
    assert list(known({"ours": own}))[-1] == "ours"


def test_unknown_preset_is_an_error_that_lists_presets() -> None:
    with pytest.raises(UsageError, match="'testz'") as refused:
        chosen("testz", {"ours": Preset()})
    assert refused.value.details == {"field": "preset"}
    assert "tests, " in refused.value.hint
    assert "ours" in refused.value.hint


def test_plan_is_a_preset_of_what_worked() -> None:
    first = iteration(1, "login", 0.4)
    best = iteration(2, "AuthService.login", 0.9)
    taught = of_plan(plan(iterations=(first, best), strategy=Strategy("broad"), mode="strict"))
    assert taught.initialQueries == ["AuthService.login"]
    assert taught.expectedResults.keywords == ["login"]  # `token` is in no result
    assert (taught.strategy.initialMode, taught.evaluationMode) == ("broad", "strict")
    failed = of_plan(plan(iterations=()))
    assert (failed.initialQueries, failed.expectedResults.keywords) == ([], [])
