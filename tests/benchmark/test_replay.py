"""Test the replay of sessions: its data, its figures, and one session by the rules."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.labels import OWN as SEARCHED
from benchmarks.labels import Repository
from benchmarks.replay import OWN, Question, again, asked, connected, make, needs_of, teach
from benchmarks.replay_sessions import Cost, Need, Reply, files_of, read_until, same_symbol
from benchmarks.replay_tables import ReplayedQuestion, show, summary
from code_intel.chunking import parse_file

ROOT = Path(__file__).resolve().parents[2]
JAPANESE = re.compile("[ぁ-ヿ一-鿿]")
MISS = Reply("", "", "", 0.3, (), Cost(1, 100, 4.0, found=True), Cost(1, 100, 4.0, found=True))
HIT = Reply(
    "READY", "right", "a", 0.9, (), Cost(1, 20, 1.0, found=True), Cost(1, 20, 1.0, found=True)
)
WRONG = Reply("VERIFICATION", "wrong", "b", 0.75, ("margin",), Cost(2, 130, 5.0), Cost(4, 230, 9.0))
ALONE = Cost(1, 100, 2.0, found=True)
ALONE_READY = Cost(5, 200, 8.0)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def row(reply: Reply, kind: str = "again", repo: str = "r", turn: int = 2) -> ReplayedQuestion:
    alone = (ALONE, ALONE_READY) if kind == "again" else (Cost(0, 0, 0.0),) * 2
    return ReplayedQuestion(repo, turn, kind, "1", "en", "q", "a", reply, *alone)


def test_replayed_questions_are_those_of_the_search_benchmark() -> None:
    searched = {each["id"]: each for each in lines(SEARCHED) if each["language"] == "en"}
    for each in lines(OWN):
        label = searched[each["id"]]
        assert each["query"] == label["query"]
        assert each["relevant"] == [target["path"] for target in label["relevant"]], each["id"]


def test_the_file_of_a_replayed_question_defines_its_symbol() -> None:
    for each in lines(OWN):
        text = (ROOT / each["file"]).read_text(encoding="utf-8")
        assert each["file"] in each["relevant"]
        symbols = parse_file(each["file"], text).symbols
        names = {name for symbol in symbols for name in (symbol.name, symbol.qualified)}
        assert each["symbol"] in names, each["id"]


def test_a_term_is_a_quote_and_has_other_wordings_in_both_languages() -> None:
    for each in lines(OWN):
        assert each["nl_term"] in each["query"], each["id"]
        assert set(each["again"]) == {"en", "ja"}, each["id"]
        assert JAPANESE.search(each["again"]["ja"]), each["id"]
        assert len(JAPANESE.findall(each["again"]["en"])) < 5, each["id"]  # a word quoted


def test_an_equal_wording_is_not_asked_again() -> None:
    words = {"en": "Tell  a Cart", "ja": "かご"}
    need = Need("1", "tell a cart", "cart", "cart", "cart.py", (), "", words)
    assert [each.language for each in again([need])] == ["ja"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Session.send", "Session.send", True),
        ("send", "Session.send", True),
        ("Session::send()", "Session.send", True),
        ("end", "Session.send", False),
        ("Session", "Session.send", False),
        ("", "send", False),
    ],
)
def test_a_symbol_is_equal_without_its_scope(one: str, other: str, *, same: bool) -> None:
    assert same_symbol(one, other) is same
    assert same_symbol(other, one) is same


def test_an_answer_is_read_to_the_end_of_the_first_relevant_hit() -> None:
    agreement = {"files": ["src/a.py:3", "src/b.py"], "symbol": "a"}
    answer: dict[str, Any] = {
        "results": [{"document": "x.py"}, {"document": "a.md", "agreement": agreement}]
    }
    whole = json.dumps(answer)
    assert files_of(answer["results"][1]) == ["src/a.py", "src/b.py"]
    assert read_until(answer, ("x.py",)) == {
        "tokens": -(-len(whole[: whole.index("}") + 1]) // 4),
        "found": True,
    }
    assert read_until(answer, ("src/b.py",))["found"]
    assert read_until(answer, ("a.md",)) == {"tokens": -(-len(whole) // 4), "found": False}


def test_shares_ratios_and_wrong_answers_match_figures_computed_by_hand() -> None:
    rows = [row(HIT), row(MISS), row(WRONG), row(MISS)]
    rows += [row(WRONG, "unrelated"), row(MISS, "foreign"), row(WRONG, "held back"), row(HIT)]
    found = summary(rows)
    assert (found["again"], found["ready"], found["verification"]) == (5, 2, 1)
    assert (found["right"], found["wrong"], found["share_answered"]) == (2, 1, 0.6)
    assert found["precision"] == pytest.approx(2 / 3)
    assert found["taken"] == {"held back": [0, 1, 1], "unrelated": [0, 1, 1], "foreign": [0, 0, 1]}
    assert (found["wrong_all"], found["wrong_ready"], found["share_wrong"]) == (3, 0, 3 / 8)
    assert found["until_found"]["all"] == {
        "calls": 6 / 5, "tokens": 370 / 500, "milliseconds": 1.5,
    }  # fmt: skip
    assert found["until_found"]["right"]["tokens"] == 0.2
    assert found["until_ready"]["all"] == {
        "calls": 8 / 25, "tokens": 470 / 1000, "milliseconds": 19 / 40,
    }  # fmt: skip
    assert found["until_ready"]["wrong"]["calls"] == 4 / 5
    assert found["to_ready"] == {"calls": 1, "tokens": 20, "milliseconds": 1}
    assert found["alone_to_ready"]["tokens"] == 200
    assert (found["finds"], found["forest_finds"]) == (0.8, 1.0)


@pytest.mark.anyio
@pytest.mark.model
async def test_a_session_learns_an_agreement_that_answers_its_words_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source" / "src"
    source.mkdir(parents=True)
    (source / "cart.py").write_text(
        '"""Sums a basket."""\n\n\ndef total(basket):\n    return sum(basket)\n', encoding="utf-8"
    )
    (source / "mail.py").write_text("def send(letter):\n    print(letter)\n", encoding="utf-8")
    question = {
        "repo": "shop", "id": "1", "query": "what does the basket cost", "nl_term": "basket cost",
        "symbol": "total", "file": "src/cart.py", "relevant": ["src/cart.py"],
        "evidence": "total adds up the prices in a basket",
        "again": {"en": "basket cost", "ja": "かごの中身の合計金額"},
    }  # fmt: skip
    (need,) = needs_of(Repository("shop", source, "src", [question], None))
    assert (need.file, need.relevant) == ("cart.py", ("cart.py",))
    settings = make(source, tmp_path / "shop", tmp_path / "cache")
    async with connected(settings) as agent:
        (lesson,) = await teach(agent, [need], {"1": (need.query, need.nl_term)})
        assert (lesson.symbol, lesson.why, lesson.offered) == ("total", "", "")
        assert "sum(basket2)" in (settings.root / need.file).read_text(encoding="utf-8")
        untrue = Need("2", "who sends", "sends", "nowhere", "mail.py", (), "it sends", {})
        (failed,) = await teach(agent, [untrue], {"2": ("who sends", "sends")})
        assert failed.symbol == ""
        assert failed.why
        same = Question("again", "en", need.again["en"], need)
        found = await asked(agent, [same], 2, "INVESTIGATE", random.Random(1))
    (reply,) = (each.reply for each in found)
    assert (reply.band, reply.verdict, reply.symbol, reply.score) == ("READY", "right", "total", 1)
    assert reply.cost.calls == 1
    report = show({"shop": [lesson, failed]}, found, "the shop")
    assert report["passes"][2]["shop"]["ready"] == 1
    assert "not learned: shop 2" in capsys.readouterr().out


@pytest.mark.anyio
@pytest.mark.model
async def test_a_session_changes_its_own_file_if_many_define_the_name(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "wide.py").write_text("def total(basket):\n    return sum(basket)\n")
    others = (f"class A{n}:\n    def total(self):\n        return {n}\n" for n in range(120))
    (source / "a.py").write_text("\n\n".join(others))
    need = Need("1", "what does the basket cost", "basket cost", "total", "wide.py", ("wide.py",),
                "total adds up the prices in a basket", {})  # fmt: skip
    settings = make(source, tmp_path / "shop", tmp_path / "cache")
    async with connected(settings) as agent:
        await teach(agent, [need], {"1": (need.query, need.nl_term)})
    assert "sum(basket2)" in (settings.root / need.file).read_text(encoding="utf-8")
