"""Every rule of seed 000 as a row, in its order: its text, and a check that fails if it is broken.

The numbers behind the rules are in test_bm25 and test_rrf. Each part has further tests of its own.
This table shows readers of the seed where each of its sentences is tested.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from code_intel.config.settings import Settings, load_settings
from code_intel.errors import ExecutionError
from code_intel.registry import (
    Command,
    RRFResult,
    SearchResult,
    describe,
    place,
    search,
    search_with_rrf,
)
from code_intel.registry.bm25 import K1, B, BM25Index
from code_intel.registry.execution import ExecutionResult, execute
from code_intel.registry.finding import find
from code_intel.registry.loading import LoadedRegistry, Registries
from code_intel.registry.records import CommandOptions, Registry
from code_intel.registry.rrf import K, fused
from code_intel.registry.tokens import searched, tokens
from registry.small import SEVEN, THREE
from registry_files import configured, document, written

COMMIT = ("climpt-git", "group-commit", "unstaged-changes")


class Rule(NamedTuple):
    """Where the seed says something, what it says, and how to tell."""

    part: str
    says: str
    check: Callable[[Path], None]


def named(c3: str, description: str) -> Command:
    return Command("c", "do", c3, description)


def scores(commands: Sequence[Command], query: str) -> dict[str, float]:
    return {one.c3: one.score for one in search(commands, query, len(commands))}


# What there is


def operations_take_what_the_seed_lists(_: Path) -> None:
    assert list(signature(search).parameters) == ["commands", "query", "top_n"]
    assert list(signature(search_with_rrf).parameters) == ["commands", "queries", "top_n"]
    assert list(signature(describe).parameters) == ["commands", "c1", "c2", "c3"]
    assert {"command", "options"} <= set(signature(execute).parameters)


# Search


def best_by_bm25(_: Path) -> None:
    assert [one.c2 for one in search(SEVEN, "merge branch")] == [
        "merge-up",
        "find-oldest",
        "decide-branch",
    ]


def frequent_words_weigh_less(_: Path) -> None:
    commands = [named(f"n{n}", "create") for n in range(9)] + [named("rare", "rebase")]
    assert scores(commands, "create")["n0"] < scores(commands, "rebase")["rare"] / 10


def long_texts_have_no_advantage(_: Path) -> None:
    commands = [named("short", "merge"), named("long", "merge " + "and so on " * 20)]
    found = scores(commands, "merge")
    assert found["short"] > found["long"] > 0


def repetition_saturates(_: Path) -> None:
    three, six, twelve = (
        scores(
            [named("x", "word " * times + "pad " * (12 - times)), named("y", "pad " * 12)], "word"
        )["x"]
        for times in (3, 6, 12)
    )
    assert three < six < twelve
    assert twelve - six < six - three


def the_formula_is_the_seeds(_: Path) -> None:
    lengths, document_frequency, frequency = [10, 9, 6], 1, 2
    idf = math.log((3 - document_frequency + 0.5) / (document_frequency + 0.5) + 1)
    factor = frequency * 2.2 / (frequency + 1.2 * (1 - 0.75 + 0.75 * 10 / (sum(lengths) / 3)))
    assert dict(BM25Index(THREE).search("group"))[0] == pytest.approx(idf * factor)


def the_parameters_are_the_seeds(_: Path) -> None:
    assert (K1, B) == (1.2, 0.75)


def idf_is_the_seeds(_: Path) -> None:
    index = BM25Index(SEVEN)
    for term, having in [("branch", 4), ("climpt", 7), ("frontmatter", 1), ("zebra", 0)]:
        assert index.idf(term) == pytest.approx(math.log((7 - having + 0.5) / (having + 0.5) + 1))


def words_are_what_spaces_divide(_: Path) -> None:
    assert tokens("merge  the\tbranch\n") == ["merge", "the", "branch"]


def hyphens_divide(_: Path) -> None:
    assert tokens("group-commit") == ["group", "commit", "group-commit"]


def underscores_divide(_: Path) -> None:
    assert tokens("unstaged_changes") == ["unstaged", "changes", "unstaged_changes"]


def camel_case_divides(_: Path) -> None:
    assert tokens("groupCommit") == ["group", "commit", "groupcommit"]
    assert scores([named("x", "runs groupCommit"), named("y", "other")], "commit").keys() == {"x"}


def compounds_are_kept(_: Path) -> None:
    for compound in ("group-commit", "unstaged_changes", "groupCommit"):
        assert compound.lower() in tokens(compound)
        assert scores([named("x", compound), named("y", "other")], compound).keys() == {"x"}


def names_and_description_are_searched_in_lower_case(_: Path) -> None:
    command = Command("Alpha", "Beta", "Gamma", "Delta Epsilon", usage="zeta")
    assert searched(command).lower() == "alpha beta gamma delta epsilon"
    for word in ("alpha", "BETA", "gamma", "delta", "epsilon"):
        assert search([command], word)
    assert search([command], "zeta") == []


def the_first_of_equal_names_counts(_: Path) -> None:
    again = Command(*SEVEN[4].key[1:], description="zebra")
    assert search([*SEVEN, again], "merge up", 9) == search(SEVEN, "merge up", 9)
    assert search([*SEVEN, again], "zebra") == []


def a_result_has_these_fields(_: Path) -> None:
    assert [f.name for f in fields(SearchResult)] == ["c1", "c2", "c3", "description", "score"]
    found = search(SEVEN, "create instruction", 1)[0]
    assert (found.c1, found.c2, found.c3) == ("climpt-meta", "create", "instruction")
    assert found.description == "Create a new instruction file"


def scores_have_no_upper_bound(_: Path) -> None:
    commands = [named(f"n{n}", f"other{n}") for n in range(200)] + [
        named("x", "rare words only here")
    ]
    assert scores(commands, "rare words only here")["x"] > 10


def scores_order_and_zero_is_nothing_in_common(_: Path) -> None:
    found = search(SEVEN, "branch merge", 7)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert {one.c2 for one in found}.isdisjoint({"build", "create", "group-commit"})
    assert all(one.score > 0 for one in found)


def three_results_are_the_default(_: Path) -> None:
    assert signature(search).parameters["top_n"].default == 3
    assert len(search(SEVEN, "branch")) == 3 < len(search(SEVEN, "branch", 4))


# Several queries


def ranks_are_fused(_: Path) -> None:
    (first, *_rest) = search_with_rrf(SEVEN, ["merge commit", "branch base"])
    assert (first.c2, first.ranks) == ("merge-up", (2, 1))
    assert first.score == pytest.approx(1 / 62 + 1 / 61)


def action_and_target_are_two_queries(_: Path) -> None:
    draft = Command("spec", "draft", "entry", "Draft a specification entry")
    found = search_with_rrf(
        [*SEVEN, draft], ["draft create write compose", "specification document entry"], 3
    )
    assert (found[0].c2, found[0].ranks[1]) == ("draft", 1)


def k_is_sixty_and_ranks_begin_with_one(_: Path) -> None:
    assert K == 60
    assert fused([["a"]]) == [("a", 1 / 61, (1,))]


def a_fused_result_has_these_fields(_: Path) -> None:
    expected = ["c1", "c2", "c3", "description", "score", "ranks"]
    assert [f.name for f in fields(RRFResult)] == expected


def not_found_is_minus_one(_: Path) -> None:
    found = search_with_rrf(SEVEN, ["frontmatter", "zebra"])
    assert [(one.c2, one.ranks) for one in found] == [("build", (1, -1))]


def scales_do_not_matter(_: Path) -> None:
    assert [name for name, _, _ in fused([["a", "b"], ["b", "c"]])] == ["b", "a", "c"]
    long_query = " ".join(["merge branch"] * 9)  # nine times the score, the same ranks
    alone = search_with_rrf(SEVEN, ["commit", "merge branch"], 7)
    assert search_with_rrf(SEVEN, ["commit", long_query], 7) == alone


def low_in_one_and_high_in_another_comes_up(_: Path) -> None:
    found = search_with_rrf(SEVEN, ["merge commit", "branch base"], 7)
    assert found[0].c2 != search(SEVEN, "merge commit")[0].c2


# Describe


def exact_names_are_described_all_of_them(_: Path) -> None:
    again = Command(*COMMIT, description="another", options=CommandOptions(file=True))
    assert describe([*SEVEN, again], *COMMIT) == [SEVEN[2], again]


def other_names_describe_nothing(_: Path) -> None:
    assert describe(SEVEN, "climpt-git", "group-commit", "changes") == []
    assert describe(SEVEN, "CLIMPT-GIT", "group-commit", "unstaged-changes") == []


# Execute

DENO = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done
"""
FAILS = """#!/bin/sh
echo 'no such prompt' >&2
exit 3
"""
HANGS = """#!/bin/sh
exec sleep 60
"""


def with_deno(root: Path, text: str, **more: str) -> Settings:
    """Create a project whose PATH has this program as `deno`, and the system folders that shells
    need.
    """
    program = root / "bin" / "deno"
    program.parent.mkdir()
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    (root / "project").mkdir()
    environ = {**os.environ, "PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(root)}
    environ |= {"CODE_INTEL_COMMAND_RUNNER": "deno", **more}
    return load_settings(root / "project", environ)


def executed(settings: Settings, command: Command, **options: str) -> ExecutionResult:
    async def one() -> ExecutionResult:
        return await execute(settings, settings.root / place.REGISTRY, command, options)

    return anyio.run(one)


def the_command_line_is_the_seeds(root: Path) -> None:
    said = executed(with_deno(root, DENO), SEVEN[2]).prompt.splitlines()
    assert said == [
        "run",
        "--allow-read",
        "--allow-write",
        "--allow-env",
        "--allow-run",
        "--allow-net",
        "--no-config",
        "jsr:@aidevtool/climpt",
        "--config=climpt-git",
        "group-commit",
        "unstaged-changes",
    ]


def another_agent_goes_before_the_domain(root: Path) -> None:
    command = Command("git", "merge-up", "base-branch", "Merge", agent="inspector")
    said = executed(with_deno(root, DENO), command).prompt.splitlines()
    assert "--config=inspector-git" in said


def options_are_mapped(root: Path) -> None:
    settings = with_deno(root, DENO)
    (settings.root / "input.md").write_text("text", encoding="utf-8")
    command = Command(*COMMIT, description="x", options=CommandOptions(file=True, destination=True))
    given = {
        "edition": "detailed",
        "adaptation": "custom",
        "file": "input.md",
        "destination": "output.md",
    }
    said = executed(settings, command, **given).prompt.splitlines()
    assert said[-4:] == [
        "--edition=detailed", "--adaptation=custom", "--from=input.md", "--destination=output.md",
    ]  # fmt: skip


def what_is_printed_is_the_answer(root: Path) -> None:
    settings = with_deno(root, "#!/bin/sh\nprintf 'Do this.\\n\\nThen that.'\n")
    assert executed(settings, SEVEN[2]).prompt == "Do this.\n\nThen that."


def failure(settings: Settings) -> ExecutionError:
    with pytest.raises(ExecutionError) as failed:
        executed(settings, SEVEN[2])
    return failed.value


def what_failed_says_its_stderr(root: Path) -> None:
    details = failure(with_deno(root, FAILS)).details
    assert (details["stderr"], details["command"]) == ("no such prompt", " ".join(COMMIT))


def what_takes_too_long_is_said(root: Path) -> None:
    error = failure(with_deno(root, HANGS, CODE_INTEL_COMMAND_TIMEOUT="1"))
    assert (error.details["timeout"], "within 1 second" in error.message) == (1, True)


# Registries


def the_config_of_the_project_comes_before_that_of_the_home(root: Path) -> None:
    project, home = root / "project", root / "home"
    configured(home, climpt="home.json")
    registries = Registries(project, home)
    written(home, document(), "home.json")
    assert registries.of().registry.path == home / "home.json"
    configured(project, climpt="mine.json")
    written(project, document(), "mine.json")
    assert registries.of().registry.path == project / "mine.json"


def without_config_climpt_has_the_default_registry(root: Path) -> None:
    project, home = root / "project", root / "home"
    written(project, document(), ".agent/climpt/registry.json")
    registries = Registries(project, home)
    assert registries.agents() == ("climpt",)
    assert len(registries.of().registry.commands) == 1
    assert sorted(path.name for path in project.rglob("*.json")) == ["registry.json"]


def a_registry_is_looked_for_in_the_project_and_then_at_home(root: Path) -> None:
    project, home = root / "project", root / "home"
    project.mkdir()
    registries = Registries(project, home)
    at_home = written(home, document())
    assert registries.of().registry.path == at_home
    here = written(project, document())
    assert registries.of().registry.path == here


# What is no error, and what is


def empty_registries_find_nothing(root: Path) -> None:
    assert search([], "merge") == []
    assert search_with_rrf([], ["merge", "branch"]) == []
    empty = {"version": "1", "description": "", "tools": {"commands": []}}
    written(root / "project", empty)
    assert Registries(root / "project", root).of().index.search("merge") == []


def nothing_in_common_finds_nothing(_: Path) -> None:
    assert search(SEVEN, "zebra") == []
    assert search_with_rrf(SEVEN, ["zebra"]) == []


def unknown_names_are_an_empty_list(_: Path) -> None:
    assert describe(SEVEN, "no", "such", "command") == describe([], *COMMIT) == []


# Whoever asks


def whoever_searches_gets_the_same_scores(root: Path) -> None:
    """The servers, the gateway and the terminal all answer what `find` returns."""
    loaded = LoadedRegistry(Registry("climpt", root / place.REGISTRY, SEVEN), "seven")
    for query in ("merge branch", "create new", "commit"):
        found = find(loaded, [query], meanings=None, top_n=7).results
        scored = {one.command.c2: one.bm25_score for one in found if one.bm25_score}
        assert scored == pytest.approx({one.c2: one.score for one in search(SEVEN, query, 7)})


RULES = (
    Rule(
        "operations",
        "search, search by several queries, describe and execute, with their inputs",
        operations_take_what_the_seed_lists,
    ),
    Rule("search", "the most relevant commands come first, by BM25", best_by_bm25),
    Rule("search", "a word that many commands have weighs less", frequent_words_weigh_less),
    Rule("search", "a long description has no advantage", long_texts_have_no_advantage),
    Rule("search", "the frequency of a word saturates", repetition_saturates),
    Rule("search", "the score is the formula", the_formula_is_the_seeds),
    Rule("search", "k1 is 1.2 and b is 0.75", the_parameters_are_the_seeds),
    Rule("search", "IDF is the logarithm with 0.5 and 1", idf_is_the_seeds),
    Rule("tokens", "spaces divide words", words_are_what_spaces_divide),
    Rule("tokens", "hyphens divide a word", hyphens_divide),
    Rule("tokens", "underscores divide a word", underscores_divide),
    Rule("tokens", "camelCase divides a word", camel_case_divides),
    Rule("tokens", "the compound word is kept", compounds_are_kept),
    Rule(
        "search",
        "the three names and the description are searched, in lower case",
        names_and_description_are_searched_in_lower_case,
    ),
    Rule("search", "of equal names the first counts", the_first_of_equal_names_counts),
    Rule("search", "a result has five fields", a_result_has_these_fields),
    Rule("search", "a score is 0 or more and has no upper bound", scores_have_no_upper_bound),
    Rule(
        "search",
        "a higher score is nearer, and 0 has no token in common",
        scores_order_and_zero_is_nothing_in_common,
    ),
    Rule("search", "three results are the default", three_results_are_the_default),
    Rule("several queries", "rankings are fused by reciprocal ranks", ranks_are_fused),
    Rule(
        "several queries",
        "one query for the action and one for the target",
        action_and_target_are_two_queries,
    ),
    Rule("several queries", "k is 60, ranks begin with 1", k_is_sixty_and_ranks_begin_with_one),
    Rule(
        "several queries",
        "a result has six fields, its ranks among them",
        a_fused_result_has_these_fields,
    ),
    Rule("several queries", "-1 is the rank of what a query does not find", not_found_is_minus_one),
    Rule("several queries", "different scales of scores do not matter", scales_do_not_matter),
    Rule(
        "several queries",
        "what one query puts low another can bring up",
        low_in_one_and_high_in_another_comes_up,
    ),
    Rule(
        "describe",
        "every command with exactly these names is described",
        exact_names_are_described_all_of_them,
    ),
    Rule("describe", "no such names, an empty list", other_names_describe_nothing),
    Rule(
        "execute",
        "Deno runs climpt with these permissions, config, action and target",
        the_command_line_is_the_seeds,
    ),
    Rule(
        "execute",
        "for an agent other than climpt the config is agent-domain",
        another_agent_goes_before_the_domain,
    ),
    Rule("execute", "edition, adaptation, file and destination become options", options_are_mapped),
    Rule("execute", "stdout is the prompt", what_is_printed_is_the_answer),
    Rule(
        "registries",
        "the config is the project's, else the home's",
        the_config_of_the_project_comes_before_that_of_the_home,
    ),
    Rule(
        "registries",
        "without a config there is climpt with the default path",
        without_config_climpt_has_the_default_registry,
    ),
    Rule(
        "registries",
        "a registry is the project's, else the home's",
        a_registry_is_looked_for_in_the_project_and_then_at_home,
    ),
    Rule("errors", "an empty registry finds nothing", empty_registries_find_nothing),
    Rule("errors", "nothing in common finds nothing", nothing_in_common_finds_nothing),
    Rule("errors", "unknown names are an empty list", unknown_names_are_an_empty_list),
    Rule("errors", "a failed execution says its stderr", what_failed_says_its_stderr),
    Rule("errors", "an execution that takes too long says so", what_takes_too_long_is_said),
    Rule("implementations", "all of them score alike", whoever_searches_gets_the_same_scores),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.part}: {rule.says}")
def test_every_rule_of_seed_000_holds(rule: Rule, tmp_path: Path) -> None:
    rule.check(tmp_path)


def test_every_rule_has_a_check_of_its_own() -> None:
    assert len({rule.check for rule in RULES}) == len({rule.says for rule in RULES}) == len(RULES)
