"""Test the policies of agents, what they cost, and one task on the shop with the real gateway."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from benchmarks.agent_cost import (
    GATEWAY,
    OWN,
    Cost,
    cost_of,
    in_repository,
    make,
    measure,
    parsed,
    show,
    summary,
)
from benchmarks.agent_gateway import GatewayAgent, GatewayRun, best_lines, calls_in, lines_in
from benchmarks.agent_learning import Learning, ask, learn
from benchmarks.agent_learning import summary as learning_summary
from benchmarks.agent_policies import (
    BEST_FILES,
    MAX_CALLS,
    POLICIES,
    WINDOW,
    Call,
    Printed,
    chained,
    greps,
    step_by_step,
)
from benchmarks.agent_tasks import (
    MAX_BODY,
    MIN_LINES,
    Places,
    Seen,
    Task,
    Wording,
    places_of,
    tasks_from,
)
from benchmarks.plausibility_cases import changed_symbols, project_of
from code_intel.config import Settings
from code_intel.index.store import Store
from code_intel.records import Definition
from forest.corpus import FILES, plant

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "tests" / "repos" / "shop"
TASK = Task(
    "shop",
    "1",
    {"": Wording("login must refuse an empty password", {"target_feature": "login"})},
    ("src/auth/service.py",),
    ("def login(self, credentials: Credentials) -> str:",),
)


def definition(first: int, last: int, name: str = "login") -> Definition:
    return Definition(name, name, "function", "a.py", first, last, "", "python", "")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with plant(tmp_path / "forest.db", FILES) as planted:
        yield planted


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "src/cookie.py": "\n" * 99 + "def sign_cookie(secret):\n    return secret\n",
        "src/other.py": "sign_cookie(None)\n",
        "docs/cookie.md": "sign_cookie signs the cookie with a secret\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_own_tasks_name_files_and_functions_of_this_checkout() -> None:
    tasks = tasks_from([OWN])
    assert len(tasks) >= 20
    for task in tasks:
        (file,), (header,) = task.files, task.hunks
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*{re.escape(header)}", source, re.MULTILINE), task.id
        for wording in task.wordings.values():
            assert all(slot in wording.request for slot in wording.slots.values()), task.id


def test_slots_of_another_file_are_joined_by_commit(tmp_path: Path) -> None:
    task = {"repo": "r", "commit": "c", "query": "fix it", "relevant": [{"path": "a.py"}]}
    slots = {"repo": "r", "commit": "c", "action": "fix", "ja": "直す", "ja_action": "直す"}
    for name, row in (("a.jsonl", task), ("b.jsonl", slots)):
        (tmp_path / name).write_text(json.dumps(row) + "\n", encoding="utf-8")
    (found,) = tasks_from([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert found.wordings == {
        "": Wording("fix it", {"desired_action": "fix"}),
        "ja": Wording("直す", {"desired_action": "直す"}),
    }


def test_an_identifier_is_searched_before_the_rarest_words(tree: Path) -> None:
    first, *others = greps(tree, "sign_cookie takes the wrong secret")
    assert first.words == ("sign_cookie",)
    assert {word for search in others for word in search.words} >= {"secret"}


def test_a_window_shows_lines_around_the_best_hit_of_source_first(tree: Path) -> None:
    search = next(greps(tree, "sign_cookie takes the wrong secret"))
    windows = list(search.windows())
    places = [window.printed[0] for window in windows]
    assert places[0].file.startswith("src/")
    assert places[-1].file == "docs/cookie.md"
    cookie = next(place for place in places if place.file == "src/cookie.py")
    assert 100 in cookie.lines
    assert len(cookie.lines) <= WINDOW


def test_one_policy_reads_a_window_in_each_call_the_other_five(tree: Path) -> None:
    request = "sign_cookie takes the wrong secret"
    single, group = list(step_by_step(tree, request)), next(chained(tree, request))
    assert "src/other.py:1:sign_cookie(None)" in single[0].text
    assert [len(call.printed) for call in single[1:4]] == [1, 1, 1]
    assert len(group.printed) == 3 <= BEST_FILES


def test_a_place_that_is_never_printed_costs_all_calls() -> None:
    places = Places(("a.py",), (definition(1, 2),))
    calls = [Call("text", [Printed("b.py", frozenset({1}))])] * 3
    missed = cost_of(TASK, "p", calls, places)
    assert (missed.calls, missed.found, missed.function_calls) == (MAX_CALLS, False, MAX_CALLS)
    calls.append(Call("line", [Printed("a.py", frozenset({9}))]))
    assert not cost_of(TASK, "p", calls, places).found
    calls[-1] = Call("more", [Printed("a.py", frozenset(range(1, 1 + MIN_LINES)))])
    found = cost_of(TASK, "p", calls, places)
    assert (found.calls, found.found, found.functions_found) == (4, True, True)
    assert found.tokens == 4


def test_a_long_function_is_printed_once_its_header_and_forty_lines_were_shown() -> None:
    seen, function = Seen(), definition(10, 200)
    seen.add([Printed("a.py", frozenset(range(11, 100)))])
    assert not seen.has_function(function)
    seen.add([Printed("a.py", frozenset({10}))])
    assert seen.has_function(function)
    few = Seen()
    few.add([Printed("a.py", frozenset(range(10, 9 + MAX_BODY)))])
    assert not few.has_function(function)
    assert few.has_function(definition(10, 12))


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("class AuthService:", {"AuthService", "AuthService.login", "AuthService.logout"}),
        ("    def login(self, user, password):", {"AuthService.login"}),
        ("impl<'a> AuthService for Thing {", set()),
        ("import os", set()),
    ],
)
def test_a_hunk_header_names_a_symbol_and_its_members(
    store: Store, header: str, names: set[str]
) -> None:
    project = project_of("r", store)
    assert set(project.files) <= set(FILES)
    found = changed_symbols(project, ["src/auth/service.py"], [header])
    assert {name for _, name in found} == names


def test_only_the_outermost_named_symbol_must_be_printed(store: Store) -> None:
    task = TASK._replace(hunks=("class AuthService:", "def gone():"))
    places = places_of(project_of("r", store), task)
    assert [d.qualified for d in places.functions] == ["AuthService"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    source = tmp_path / "source"
    shutil.copytree(SHOP, source)
    git = ["git", "-C", str(source), "-c", "user.name=B", "-c", "user.email=b@example.invalid"]
    for arguments in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "All of it"]):
        subprocess.run([*git, *arguments], check=True)
    return make(source, tmp_path / "shop", None, vectors=False)


async def test_a_task_is_played_with_every_policy(settings: Settings) -> None:
    costs: list[Cost] = []

    async def use(agent: GatewayAgent) -> None:
        costs.extend(await measure(agent, TASK, "", whole=True))

    await in_repository(settings, "shop", partial(use))
    assert [cost.policy for cost in costs] == [*POLICIES, GATEWAY]
    mine = costs[-1]
    assert mine.found
    assert mine.functions_found
    assert mine.calls <= mine.function_calls < MAX_CALLS


async def test_an_agent_reads_on_in_one_call_where_files_match_best(settings: Settings) -> None:
    async def use(agent: GatewayAgent) -> None:
        run = GatewayRun()
        await agent.start(run, TASK.wordings[""])
        run.seen.lines.clear()
        files = ["src/auth/service.py", "src/auth/passwords.py"]
        await agent.read_on(run, TASK.wordings[""], files)
        assert len(run.calls) == 2
        assert run.seen.has_files(files)
        await agent.read_on(run, TASK.wordings[""], [])
        assert len(run.calls) == 2

    await in_repository(settings, "shop", use)


async def test_a_learned_task_is_answered_by_the_map(settings: Settings) -> None:
    slots = {"target_feature": "login", "desired_action": "refuse an empty password"}
    wording = Wording("login must refuse an empty password", slots)
    task = TASK._replace(wordings={"": wording, "again_en": wording})

    async def use(agent: GatewayAgent) -> None:
        before = await ask(agent, task, "")
        assert (before.phase, before.right) == ("EXPLORATION", False)
        assert await learn(agent, task) == ""
        after = await ask(agent, task, "again_en")
        assert (after.phase, after.right, after.calls) == ("READY", True, 1)
        (row,) = learning_summary(Learning(asked=[after]))
        assert (row["ready"], row["wrong"]) == (1.0, 0.0)

    await in_repository(settings, "shop", use)


def test_the_agent_makes_the_calls_and_quotes_the_lines_that_a_refusal_names() -> None:
    hint = 'Read a.py:3-9: snippets_get(path="a.py", start_line=3, end_line=9). Quote b.py:7, or'
    arguments = {"path": "a.py", "start_line": 3, "end_line": 9}
    assert calls_in(hint) == [("snippets_get", arguments)]
    assert lines_in(hint) == {("b.py", 7)}
    lines = ["login", "x", "empty password", "form"]
    wording = Wording("login accepts an empty password", {})
    assert list(best_lines(lines, [2, 3, 4], wording)) == [3]
    assert list(best_lines(lines, [1, 2, 3, 4], wording)) == [1, 2, 3]


def test_the_summary_compares_with_the_better_policy(capsys: pytest.CaptureFixture[str]) -> None:
    costs = [
        Cost("r", "1", "a", 4, 100, found=True),
        Cost("r", "1", "b", 2, 400, found=True),
        Cost("r", "1", GATEWAY, 1, 50, found=True, ready_calls=2, write_calls=3, wrong=4),
    ]
    found = summary(costs, 50)
    assert found["ratios"]["calls"] == 0.5
    assert found["ratios"]["tokens"] == 0.5
    assert found["ratios"]["tokens_with_list"] == 1.0
    show(found)
    printed = capsys.readouterr().out
    assert "gateway / best other policy, calls: 0.50" in printed


def test_other_tasks_need_their_repositories() -> None:
    with pytest.raises(SystemExit):
        parsed(["--data", "x.jsonl"])
