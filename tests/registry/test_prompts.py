"""Check how prompts are selected and rendered."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import ExecutionError
from code_intel.registry.options import OptionRequest, checked
from code_intel.registry.prompts import MAX_PROMPT_BYTES, places, render
from code_intel.registry.records import Command, CommandOptions, ExecutionResult
from registry.execution_projects import BARE, GROUP, write_prompt

SHOWN = ".agent/climpt/prompts"


def rendered(root: Path, options: Any = None, command: Command = GROUP) -> ExecutionResult:
    return render(root / SHOWN, command, checked(options, command, root), root)


def test_variables_are_replaced_and_front_matter_is_removed(root: Path) -> None:
    options = {
        "stdin": "three files",
        "file": "docs/todo.md",
        "destination": "out/",
        "uv-style": "terse",
    }
    assert rendered(root, options) == ExecutionResult(
        "# Group the changes\n\nAbout: three files\nFile: docs/todo.md\nTo: out\nStyle: terse\n",
        "prompts",
        file=f"{SHOWN}/climpt-git/group-commit/unstaged-changes/f_default.md",
    )


def test_variables_inside_values_are_not_replaced(root: Path) -> None:
    options = {"stdin": "{destination_path} {uv-style} {input_text}", "uv-style": "{input_text}"}
    text = rendered(root, options).prompt
    assert "About: {destination_path} {uv-style} {input_text}\n" in text
    assert "Style: {input_text}\n" in text


def test_input_text_defaults_to_the_file(root: Path) -> None:
    text = rendered(root, {"file": "docs/todo.md"}).prompt
    assert "About: write {destination_path}\n" in text
    assert "File: docs/todo.md\n" in text
    assert "About: said\n" in rendered(root, {"file": "docs/todo.md", "stdin": "said"}).prompt


def test_missing_variable_stays_and_is_noted(root: Path) -> None:
    done = rendered(root, {"stdin": "x"})
    assert "File: {input_text_file}\nTo: {destination_path}\nStyle: {uv-style}\n" in done.prompt
    assert done.notes == (
        "{input_text_file} was not replaced: pass the option file.",
        "{destination_path} was not replaced: pass the option destination.",
        "{uv-style} was not replaced: pass the option uv-style.",
    )
    assert done.missing == ("file", "destination", "uv-style")


def test_unused_option_is_noted(root: Path) -> None:
    write_prompt(root, "Nothing {unknown} is asked.\n", command=BARE)
    options = {"stdin": "x", "file": "docs/todo.md", "destination": "out", "uv-a": "b"}
    done = rendered(root, options, BARE)
    assert done.prompt == "Nothing {unknown} is asked.\n"
    assert done.notes == tuple(
        f"The prompt does not use {key}." for key in ("stdin", "file", "destination", "uv-a")
    )


EDITIONS = CommandOptions(edition=("detailed", "brief"), adaptation=("strict",))
PLACES: list[tuple[CommandOptions | None, OptionRequest, list[str]]] = [
    (None, OptionRequest(), ["default"]),
    (None, OptionRequest(adaptation="strict"), ["default_strict", "default"]),
    (None, OptionRequest(edition="brief"), ["brief"]),
    (EDITIONS, OptionRequest(), ["default", "detailed", "brief"]),
    (EDITIONS, OptionRequest(edition="brief"), ["brief"]),
    (EDITIONS, OptionRequest(edition="brief", adaptation="strict"), ["brief_strict", "brief"]),
    (
        EDITIONS,
        OptionRequest(adaptation="strict"),
        ["default_strict", "default", "detailed_strict", "detailed", "brief_strict", "brief"],
    ),
]


@pytest.mark.parametrize(("options", "requested", "names"), PLACES)
def test_prompt_files_are_searched_in_order(
    options: CommandOptions | None, requested: OptionRequest, names: list[str]
) -> None:
    command = Command("a", "b", "c", "d", options=options)
    assert places(command, requested) == tuple(f"a/b/c/f_{name}.md" for name in names)


def test_fallback_prompt_is_noted(root: Path) -> None:
    done = rendered(root, {"adaptation": "strict", "stdin": "x"})
    folder = "climpt-git/group-commit/unstaged-changes"
    assert done.notes[0] == (
        f"{folder}/f_default_strict.md does not exist; {folder}/f_default.md was used."
    )
    write_prompt(root, "strict\n", "f_default_strict.md")
    done = rendered(root, {"adaptation": "strict"})
    assert (done.prompt, done.notes) == ("strict\n", ())
    assert done.file == f"{SHOWN}/{folder}/f_default_strict.md"


def test_requested_edition_has_no_fallback(root: Path) -> None:
    with pytest.raises(ExecutionError) as caught:
        rendered(root, {"edition": "detailed"})
    error = caught.value.as_dict()
    where = f"{SHOWN}/climpt-git/group-commit/unstaged-changes/f_detailed.md"
    assert error["error"] == "Execution failed"
    assert error["command"] == "climpt-git group-commit unstaged-changes"
    assert error["stderr"] == f"There is no prompt: {where}."
    assert error["runner"] == "prompts"
    assert error["hint"].startswith("Write that file, or let climpt execute commands")


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("no front matter\n", "no front matter\n"),
        ("\n\n  indented\n", "\n\n  indented\n"),
        ("---\na: b\n---\nbody\n", "body\n"),
        ("\ufeff---\na: b\n---\nbody\n", "body\n"),
        ("---\na: !!python/object:os.system x\nb: *c\n---\nbody\n", "body\n"),
        ("---\n]: not yaml [\n---\nbody\n", "body\n"),
        ("---\nnever closed\n", "---\nnever closed\n"),
        ("", ""),
        ("first\n---\nsecond\n---\n", "first\n---\nsecond\n---\n"),
    ],
    ids=range(9),
)
def test_front_matter_is_removed_without_parsing(root: Path, text: str, body: str) -> None:
    write_prompt(root, text, command=BARE)
    done = rendered(root, command=BARE)
    assert (done.prompt, done.notes) == (body, ())


def test_invalid_utf8_in_a_prompt_is_replaced_and_noted(root: Path) -> None:
    write_prompt(root, command=BARE).write_bytes(b"caf\xe9 {input_text}\n")
    (root / "latin.txt").write_bytes(b"na\xefve")
    done = rendered(root, {"file": "latin.txt"}, BARE)
    assert done.prompt == "caf\ufffd na\ufffdve\n"
    assert done.notes == (
        f"{'/'.join(BARE.key[1:])}/f_default.md has bytes that are not valid UTF-8.",
    )


def test_prompt_size_is_limited_before_and_after_rendering(root: Path) -> None:
    path = write_prompt(root, "x" * (MAX_PROMPT_BYTES + 1), command=BARE)
    with pytest.raises(ExecutionError, match="larger than 256 KiB"):
        rendered(root, command=BARE)
    path.write_text("{input_text}" * (MAX_PROMPT_BYTES // 12), encoding="utf-8")
    done = rendered(root, {"stdin": "あ" * 200_000}, BARE)
    assert done.truncated
    assert set(done.prompt) == {"あ"}
    assert MAX_PROMPT_BYTES - 3 < len(done.prompt.encode()) <= MAX_PROMPT_BYTES
    assert "Its end is missing" in done.notes[-1]


@pytest.mark.parametrize("kind", ["file", "folder", "prompts", "fifo", "directory"])
def test_prompt_behind_a_link_or_device_is_not_read(root: Path, kind: str) -> None:
    secret = root.parent / "secret"
    secret.mkdir()
    (secret / "f_default.md").write_text("secret\n", encoding="utf-8")
    path = write_prompt(root, command=BARE)
    path.unlink()
    if kind == "file":
        path.symlink_to(secret / "f_default.md")
    elif kind == "folder":
        path.parent.rmdir()
        path.parent.symlink_to(secret)
    elif kind == "prompts":
        (root / SHOWN).rename(root.parent / "moved")
        (root / SHOWN).symlink_to(root.parent / "moved")
        write_prompt(root, "secret\n", command=BARE)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(ExecutionError, match="cannot be read") as caught:
        rendered(root, command=BARE)
    assert "secret" not in str(caught.value.as_dict())


@given(text=st.text(alphabet="{}-_abinputexvsl \n", max_size=60), value=st.text(max_size=20))
def test_each_occurrence_of_a_variable_is_replaced(
    tmp_path_factory: pytest.TempPathFactory, text: str, value: str
) -> None:
    root = tmp_path_factory.getbasetemp() / "rendering"
    write_prompt(root, f"a{text}{{input_text}}z", command=BARE)
    done = rendered(root, {"stdin": value}, BARE)
    shown = value.encode("utf-8", "replace").decode()
    assert done.prompt == f"a{text}{{input_text}}z".replace("{input_text}", shown)
