"""`code-intel map check --format`: findings as annotations of GitHub and GitLab."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from cli.map.annotated import Annotation, annotations
from cli.map.words import (
    SYMBOL,
    TERM,
    agreement_file,
    agreements_folder,
    answer,
    edit_source,
    text,
)
from code_intel.cli.map.annotations import github, gitlab
from learned.builders import rewrite
from programs import git
from projects import Project

FOLDER = ".code-intel/agreements"


def written_line(project: Project, beginning: str) -> int:
    """Return the line of the agreement that begins with a text."""
    lines = agreement_file(project).read_text("utf-8").splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.startswith(beginning))


def annotated(project: Project, *options: str, code: int = 1) -> list[Annotation]:
    return annotations(text(project, "check", "--format", "github", *options, code=code))


def report(project: Project, *options: str, code: int = 1) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        text(project, "check", "--format", "gitlab", *options, code=code)
    )
    return found


def test_valid_map_has_no_annotation(agreed: Project) -> None:
    assert text(agreed, "check", "--format", "github") == ""
    assert report(agreed, code=0) == []


def test_broken_agreement_is_an_error_at_its_symbol(agreed: Project) -> None:
    answer(agreed, "rename", TERM, SYMBOL, "--to", "ShoppingCart")
    answer(agreed, "confirm", TERM, "ShoppingCart")
    for file in (agreed.root / "src").rglob("*.py"):
        rewrite(file, lambda old: re.sub(r"\bShoppingCart\b", "Basket", old) + "# changed\n")
        rewrite(file, lambda old: old.replace("class Basket:\n", "class Basket:\n    extra = 1\n"))
    path = f"{FOLDER}/{agreement_file(agreed).name}"
    line = written_line(agreed, "symbol:")
    (found,) = annotated(agreed)
    assert (found.level, found.file, found.line) == ("error", path, line)
    assert found.title == f"Agreement is broken: {TERM} → ShoppingCart"
    assert "is not defined anywhere." in found.message
    assert "code-intel map rename" in found.message
    (issue,) = report(agreed)
    assert issue["location"] == {"path": path, "lines": {"begin": line}}
    assert (issue["check_name"], issue["severity"]) == ("code-intel/broken", "major")
    assert issue["fingerprint"] == report(agreed)[0]["fingerprint"]
    for form in (("--format", "json"), ()):
        (row,) = answer(agreed, "check", *form, code=1)["findings"]
        assert (row["path"], row["line"]) == (path, line)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("similarity: ", "similarity: much ", "similarity:"),
        ("confirmed: true", "confirmed: maybe", "confirmed:"),
        ("nl_term: ", "NL-Term: [a, b]\nx: ", "NL-Term:"),
        ("doc_type: ", 'x: "', 'x: "'),
        ("# ", "<<<<<<< a\n# ", "<<<<<<<"),
    ],
)
def test_unreadable_agreement_is_annotated_where_the_fault_is(
    agreed: Project, old: str, new: str, line: str
) -> None:
    rewrite(agreement_file(agreed), lambda written: written.replace(old, new, 1))
    (found,) = annotated(agreed)
    lines = {written_line(agreed, line), written_line(agreed, line) + 1}  # YAML names the next one
    assert found.line in (lines if line.startswith("x") else {min(lines)})


def test_file_without_front_matter_is_annotated_at_its_first_line(agreed: Project) -> None:
    rewrite(agreement_file(agreed), lambda _: "no front matter\n")
    assert [found.line for found in annotated(agreed)] == [1]


def test_changed_symbol_is_a_warning_unless_the_check_is_strict(agreed: Project) -> None:
    edit_source(agreed, "return Decimal(0)", "return Decimal(1)")
    assert [found.level for found in annotated(agreed, code=0)] == ["warning"]
    assert [issue["severity"] for issue in report(agreed, code=0)] == ["minor"]
    assert [found.level for found in annotated(agreed, "--strict")] == ["error"]
    assert [issue["severity"] for issue in report(agreed, "--strict")] == ["major"]


def test_paths_begin_at_the_root_of_the_repository(agreed: Project) -> None:
    inner = agreed.root.rename(agreed.root.with_name("inner"))
    outer = inner.parent / "repository"
    outer.mkdir()
    inside = inner.rename(outer / "shop")
    for each in inside.glob(".git"):
        each.rename(inner.parent / "old-git")
    git(outer, "init", "-q")
    project = Project(inside, agreed.env)
    rewrite(agreement_file(project), lambda _: "no front matter\n")
    (found,) = annotated(project)
    assert found.file == f"shop/{FOLDER}/{agreement_file(project).name}"


def test_every_finding_has_a_line_of_its_own(agreed: Project) -> None:
    for name in ("a,b:c%", "d"):
        (agreements_folder(agreed) / f"{name}.md").write_text("none\n", encoding="utf-8")
    found = annotated(agreed)
    assert [each.file.rpartition("/")[2] for each in found] == ["a,b:c%.md", "d.md"]
    issues = report(agreed)
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 2


HOSTILE: Mapping[str, Any] = {
    "kind": "agreement",
    "path": "a:b,c%\r\nd.md",
    "line": 3,
    "status": "invalid",
    "name": "x\n::error::y, z: 100%",
    "reasons": ["one\r\n::warning::two", "50%0A"],
    "remedy": "three, four: five",
    "fails": True,
}


def test_no_text_can_add_a_command_or_a_property() -> None:
    command = github([HOSTILE])
    assert "\n" not in command
    assert "\r" not in command
    (found,) = annotations(command)
    assert (found.file, found.line) == (HOSTILE["path"], 3)
    assert found.title.endswith(HOSTILE["name"])
    assert found.message == "one\r\n::warning::two 50%0A three, four: five"
    (issue,) = json.loads(gitlab([HOSTILE]))
    assert issue["location"]["path"] == HOSTILE["path"]


def test_json_and_another_format_exclude_each_other(agreed: Project) -> None:
    assert answer(agreed, "check", "--format", "github", code=2)["field"] == "format"
