import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.planning.matching import ResultPage, occurs
from code_intel.planning.records import Mode, Result


def result(text: str = "", symbol: str = "", document: str = "src/a.ts") -> ResultPage:
    return ResultPage(Result(document=document, text=text, similarity=0.5, symbol=symbol))


@pytest.mark.parametrize(
    ("keyword", "text", "strict", "fuzzy"),
    [
        ("config", "the config file", True, True),
        ("config", "the Config file", False, True),
        ("config", "reconfigure", True, False),
        ("man", "command.go", True, False),
        ("man", "man_page.go", True, True),
        ("vitepress", "VitePress", False, True),
        ("=>", "x => y", True, True),
        ("ＡＰＩ", "api", False, True),
        ("ﾕｰｻﾞｰ", "ユーザーを探す", False, True),
        ("export default", "export default x", True, True),
        ("export default", "export\n    default x", False, True),
        ("export default", "exportDefault()", False, True),
        ("export default", "EXPORT_DEFAULT = 1", False, True),
        ("export default", "export-default", False, True),
        ("export default", "my.export.default", False, True),
        ("export default", "the exports of a default", False, False),
        ("defineConfig", "define_config(", False, True),
        ("page agent", "pageAgent", False, True),
        ("HTTP server", "HTTPServer", False, True),
        ("log in", "a blogin", False, False),
        ("threshold", "threshhold", False, True),
        ("threshold", "treshold", False, True),
        ("threshold", "thresholt", False, True),
        ("threshold", "thrsholt", False, False),
        ("coverage", "setCoverge(90)", False, True),
        ("coverage", "COVERGE", False, True),
        ("test", "tent", False, False),
        ("tests", "texts", False, True),
        ("http2", "https", False, False),
        ("認証", "再認証する", True, True),
        ("認証", "承認する", False, False),
        ("サーバー", "サーバを起動", False, True),
        ("サーバ", "サーバーを起動", True, True),
        ("コーヒー", "コーヒ豆", False, True),
        ("", "anything", False, False),
        ("  ", "any  thing", False, False),
    ],
)
def test_strict_matches_exactly_and_fuzzy_tolerates_variants(
    keyword: str, text: str, *, strict: bool, fuzzy: bool
) -> None:
    assert occurs(keyword, result(text), "strict") is strict
    assert occurs(keyword, result(text), "fuzzy") is fuzzy


@pytest.mark.parametrize("mode", ["strict", "fuzzy", "semantic"])
def test_a_keyword_may_be_in_the_symbol_or_in_the_path(mode: Mode) -> None:
    assert occurs("vitest", result(document="vitest.config.ts"), mode)
    assert occurs("defineConfig", result(symbol="defineConfig"), mode)
    assert not occurs("vitest", result("describe"), mode)


def test_keyword_does_not_span_symbol_and_text() -> None:
    assert not occurs("export default", result("default x", symbol="export"), "fuzzy")


@pytest.mark.parametrize(
    ("keyword", "text", "meant"),
    [
        ("認証", "def authenticate(user): ...", True),
        ("在庫管理", "class InventoryManager", True),
        ("在庫管理", "class Inventory", False),
        ("validation", "def validate(form)", True),
        ("validation", "valuation", False),
        ("get user", "the user", False),
        ("read file", "a file is read", False),
    ],
)
def test_semantic_mode_translates_japanese_and_ignores_endings(
    keyword: str, text: str, *, meant: bool
) -> None:
    assert occurs(keyword, result(text), "semantic") is meant
    assert not occurs(keyword, result(text), "fuzzy")


letters = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=5, max_size=12)


@pytest.mark.parametrize("keyword", ["x" * 20_000, "ab " * 20_000, "認証" * 5_000, "aB" * 5_000])
@pytest.mark.parametrize("mode", ["strict", "fuzzy", "semantic"])
def test_long_keyword_is_matched_verbatim(keyword: str, mode: Mode) -> None:
    assert occurs(keyword, result(f"<{keyword}>"), mode)
    assert not occurs(keyword, result("nothing of the kind"), mode)


@given(letters, st.data())
def test_fuzzy_mode_tolerates_one_edit(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 1))
    letter = data.draw(st.sampled_from("xyz"))
    changed = (
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at + 1 :],
        word[:at] + letter + word[at:],
    )
    for each in changed:
        assert occurs(word, result(f"(the {each}!)"), "fuzzy"), each


@given(letters, letters)
def test_fuzzy_mode_rejects_two_edits(word: str, other: str) -> None:
    expected = _distance(word, other) <= 1
    assert occurs(word, result(other, document="1", symbol="2"), "fuzzy") is expected


@given(st.text(min_size=1, max_size=20), st.text(max_size=40), st.text(max_size=40))
def test_keyword_between_spaces_matches_in_every_mode(
    keyword: str, before: str, behind: str
) -> None:
    found = result(f"{before} {keyword} {behind}")
    if keyword.strip():
        assert occurs(keyword, found, "strict")
    if keyword.isascii() and keyword.strip():
        assert occurs(keyword, found, "fuzzy")
        assert occurs(keyword, found, "semantic")


@given(st.text(max_size=30), st.text(max_size=60), st.sampled_from(["strict", "fuzzy", "semantic"]))
def test_any_keyword_is_matched_or_not(keyword: str, text: str, mode: Mode) -> None:
    assert occurs(keyword, result(text, symbol=text[:5]), mode) in {True, False}


def _distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for to, wanted in enumerate(other, 1):
            before, row[to] = (
                row[to],
                min(row[to] + 1, row[to - 1] + 1, before + (letter != wanted)),
            )
    return row[-1]
