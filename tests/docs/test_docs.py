"""Settings, tools, modules and decisions are documented."""

import importlib.util
import re
from pathlib import Path

import pytest

from code_intel.config import SETTINGS
from code_intel.tools.table import GATEWAY_TOOLS, GROUPS, INDEX_TOOLS

ROOT = Path(__file__).resolve().parents[2]
VARIABLES = ("CODE_INTEL_ROOT", "CODE_INTEL_BIN", "CODE_INTEL_VENV", "CODE_INTEL_QUESTION")
"""Beside those of the settings."""


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_setting_and_its_variable_are_documented() -> None:
    page = text("docs/settings.md")
    headings = {row.name: "shared" if row.table == "shared" else row.name for row in SETTINGS}
    missing = [name for name, heading in headings.items() if f"## {heading}\n" not in page]
    missing += [row.variable for row in SETTINGS if row.variable not in page]
    missing += [name for name in VARIABLES if f"`{name}`" not in page]
    assert missing == []


@pytest.mark.parametrize("name", ["tools.md", "commands.md", "phases.md"])
def test_generated_pages_are_up_to_date(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert text(f"docs/{name}") == generate.PAGES[name](), "run: python docs/generate.py"


def test_every_parameter_has_a_description() -> None:
    spoken = {"notes", "case_sensitive", "session_id", "cursor", "scope"} | {
        "domain",
        "docType",
        "language",
        "tags",
        "project",
    }
    bare = [
        f"{tool.name}.{name}"
        for tool in (*GATEWAY_TOOLS, *INDEX_TOOLS)
        for name, schema in tool.schema["properties"].items()
        if "description" not in schema and name not in spoken
    ]
    assert bare == []


def test_every_tool_is_in_one_group() -> None:
    names = [tool.name for group in GROUPS for tool in group.tools]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("package", "section"),
    [
        ("learned", "What the map knows"),
        ("planning", "What a query plan does"),
        ("registry", "How a command is found and run"),
    ],
)
def test_the_architecture_names_every_module(package: str, section: str) -> None:
    told = text("ARCHITECTURE.md").partition(f"## {section}\n")[2].partition("\n## ")[0]
    modules = {path.stem for path in (ROOT / "code_intel" / package).glob("*.py")}
    assert modules - {"__init__"} <= set(re.findall(r"`(\w+)`", told))


def test_every_decision_is_listed() -> None:
    listed = text("docs/decisions/README.md")
    pages = [path.name for path in (ROOT / "docs" / "decisions").glob("0*.md")]
    assert [name for name in pages if f"({name})" not in listed] == []


def test_every_decision_cited_exists() -> None:
    pages = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("0*.md")}
    cited = set()
    for path in (*ROOT.glob("code_intel/**/*.py"), *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        cited |= set(
            re.findall(
                r"(?:decisions/|[Dd]ecision |\()(0\d{3})\b", path.read_text(encoding="utf-8")
            )
        )
    assert cited <= pages
