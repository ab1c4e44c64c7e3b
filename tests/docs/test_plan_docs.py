"""docs/plans.md: its examples run on a part of this repository, and its lists are complete."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from code_intel.cli.plan import PLAN_OPTIONS
from code_intel.cli.tool_call import call
from code_intel.planning.evaluation import WEIGHTS, evaluate
from code_intel.planning.expectations import Preset, shipped
from code_intel.planning.patterns import MAX_PATTERN_CHARS, MAX_PATTERNS
from code_intel.planning.records import Expected, Metrics, Result, Stop
from code_intel.planning.settings import MAX_PRESETS, PlanSettings
from code_intel.tools.declaration import Tool
from code_intel.tools.plans.gistdex_query_plan import gistdex_query_plan
from code_intel.tools.search.search_forest import search_forest
from served import make_project, settings_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
PARTS = ("code_intel/session", "tests/session", "docs/phases.md", "docs/agreements.md")
NAMES = (
    "keywordMatch",
    "patternMatch",
    "semanticSimilarity",
    "coverage",
    "precision",
    "recall",
)


def part(name: str) -> str:
    """Return what stands between the marks of a part."""
    return PAGE.partition(f"<!-- begin {name} -->\n")[2].partition(f"<!-- end {name} -->")[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def block(name: str) -> Any:
    (text,) = blocks(part(name), "json")
    return json.loads(text)


CALLS = [json.loads(text) for text in blocks(PAGE.partition("## How results")[0], "json")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A part of this repository, words indexed; this process stands in it."""
    root = tmp_path_factory.mktemp("plans") / "project"
    for name in PARTS:
        copy = root / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy)
    make_project(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODE_INTEL_EMBEDDING", "off")
        patch.setenv("COLUMNS", "200")
        patch.chdir(root)
        for name in ("CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"):
            patch.delenv(name, raising=False)
        yield root


def keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from keys(each)


@pytest.mark.parametrize("given", CALLS, ids=[each["goal"] for each in CALLS])
def test_the_examples_find_something_and_every_field_of_their_answers_is_told(
    given: dict[str, Any], project: Path
) -> None:
    answer = call(settings_of(project), gistdex_query_plan, given).data
    assert answer["status"] in {"success", "partial"}
    assert 1 <= len(answer["iterations"]) <= given["maxIterations"]
    assert (project / answer["savedAt"]).is_file()
    if queries := given.get("initialQueries"):
        assert [each["query"] for each in answer["iterations"]][: len(queries)] == queries
    index = {"state", "files", "pending", "degraded"}
    told = set(keys(answer)) - index
    assert {name for name in told if f"`{name}`" not in PAGE} == set()


def test_the_steering_example_goes_on_with_its_plan(project: Path) -> None:
    first, second = block("steering")
    settings = settings_of(project)
    begun = call(settings, gistdex_query_plan, first).data
    answer = call(settings, gistdex_query_plan, second | {"planId": begun["planId"]}).data
    assert answer["planId"] == begun["planId"]
    keywords = first["expectedResults"]["keywords"][1:]  # the goal has the first one
    assert [each["query"] for each in answer["iterations"]] == [
        " ".join((first["goal"], *keywords)),
        *second["initialQueries"],
    ]


def test_a_search_says_how_its_results_compare(project: Path) -> None:
    answer = call(settings_of(project), search_forest, block("searching")).data
    assert answer["evaluation"]["score"] > 0
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (.+) \|$", PAGE, re.MULTILINE))
    told = re.findall(r"`(\w+)`", rows["evaluateResult"])
    assert told == ["evaluation", *answer["evaluation"]]
    inputs = Tool(search_forest).schema["properties"]
    assert {"planId", "expectedKeywords", "evaluateResult"} <= inputs.keys()


def test_the_worked_example_is_what_evaluation_says() -> None:
    example = block("example")
    expected = Expected(
        tuple(example["keywords"]), tuple(example["contentPatterns"]), example["minMatches"]
    )
    results = [
        Result(each["document"], each["text"], each["similarity"]) for each in example["results"]
    ]
    found = evaluate(results, expected)
    told = {name: round(value, 6) for name, value in zip(NAMES, found.metrics, strict=True)}
    assert told == example["metrics"]
    assert round(found.score, 6) == example["score"]
    assert f"score {example['score']}:" in PAGE


def test_the_weights_are_those_of_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\.\d+) \|", PAGE, re.MULTILINE)
    assert Metrics(*(float(weight) for _, weight in rows)) == WEIGHTS
    assert tuple(name for name, _ in rows) == NAMES


def test_every_input_is_told_with_its_option() -> None:
    schema = Tool(gistdex_query_plan).schema["properties"]
    inputs = {
        f"{name}.{inner}" if inner else name
        for name, each in schema.items()
        for inner in (_properties(each) or [""])
    }
    page = PAGE.partition("## What comes back")[0]
    rows = dict(re.findall(r"^\| `([\w.]+)` \| `?(--[\w-]+|GOAL|)`? ?\|", page, re.MULTILINE))
    assert {name for name in inputs if name not in rows} == set()
    options = {row.field: row.flag for row in PLAN_OPTIONS}
    options |= {"goal": "GOAL", "saveIntermediateResults": "--no-intermediate", "session_id": ""}
    assert options == {name: rows[name] for name in inputs}


def _properties(schema: dict[str, Any]) -> list[str]:
    parts = [schema, *schema.get("anyOf", ())]
    return [name for each in parts for name in each.get("properties", ())]


def test_every_preset_is_told() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", part("presets"), re.MULTILINE)
    assert rows == [(name, preset.about) for name, preset in shipped().items()]


def test_a_preset_of_ones_own_is_read_as_it_is_told() -> None:
    (own,) = block("own preset")["presets"].values()
    preset = Preset.model_validate(own, strict=True)
    assert [*preset.unknown_keys()] == []
    assert (preset.expectedResults.keywords, preset.expectedResults.minMatches) == (
        ["migration"],
        2,
    )
    assert preset.strategy.expansionRules == ["search in migrations"]


def test_every_key_of_the_settings_is_told_with_its_default_and_bounds() -> None:
    rows = re.findall(
        r"^\| `([\w.]+)` \| (\S+) \| ([^|]+) \| (.+) \|$", part("config"), re.MULTILINE
    )
    wanted = []
    for part_name in ("limits", "defaults"):
        schema = type(getattr(PlanSettings(), part_name)).model_json_schema()
        for name, key in schema["properties"].items():
            values = ", ".join(key.get("enum", ()))
            values = values or f"{key.get('minimum', 0):g} to {key.get('maximum', 0):,g}"
            values = "true, false" if key["type"] == "boolean" else values
            default = json.dumps(key["default"]).strip('"')
            wanted.append((f"{part_name}.{name}", default, values, key["description"]))
    assert rows[:-1] == wanted
    assert rows[-1][:3] == ("presets", "none", f"at most {MAX_PRESETS}")


def test_limits_and_reasons_are_those_of_the_code() -> None:
    assert f"at most {MAX_PATTERNS} [RE2]" in PAGE
    assert f"expressions of {MAX_PATTERN_CHARS} characters" in PAGE
    assert [each for each in get_args(Stop) if f"| `{each}` |" not in PAGE] == []


@pytest.mark.parametrize("name", ["README.md", "README.ja.md"])
def test_the_readmes_lead_there(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert "(docs/plans.md)" in page
    assert "code-intel plan " in page
