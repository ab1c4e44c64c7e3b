"""Commands, flags, answers and exit codes of the program `devrag`."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.devrag import DEVRAG_COMMANDS, REPLACED_COMMANDS, line, main
from code_intel.cli.devrag.codes import FAILED, OPERATIONAL
from code_intel.cli.main import parser_of
from code_intel.errors import UsageError
from projects import BIN, Project

Devrag = Callable[..., dict[str, Any]]
GUIDE = "# Guide\n\nHow the ferry sails to the harbour.\n"


def text_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def listed(devrag: Devrag) -> list[str]:
    return [row["filename"] for row in devrag("list")["documents"]]


BOTH = ["documents/guide.md", "documents/sub/notes.md"]


def test_sync_indexes_and_ends_with_counts(devrag: Devrag) -> None:
    first = devrag("sync")
    assert {key: first[key] for key in ("added", "updated", "deleted", "failed")} == {
        "added": 2, "updated": 0, "deleted": 0, "failed": 0,
    }  # fmt: skip
    assert devrag("sync")["added"] == 0
    assert listed(devrag) == BOTH


def test_search_answers_with_devrags_fields_first(devrag: Devrag) -> None:
    devrag("sync")
    data = devrag("search", "how", "the", "ferry", "sails")
    assert (data["query"], data["count"]) == ("how the ferry sails", len(data["results"]))
    best = data["results"][0]
    assert list(best)[:4] == ["document", "chunk", "similarity", "position"]
    assert (best["document"], best["chunk"], best["position"]) == (BOTH[0], GUIDE.strip(), 0)


FLAG_POSITIONS = (
    ("search", "ferry", "--top-k", "1"),
    ("search", "--top-k", "1", "ferry"),
    ("--top-k", "1", "search", "ferry"),
    ("-top-k=1", "search", "ferry"),
    ("search", "ferry", "-top-k", "1"),
    ("--config", "config.json", "search", "ferry", "--top-k=1", "--output", "json"),
    ("--format=json", "search", "--top-k=1", "--", "ferry"),
    ("search", "ferry", "--config=config.json", "--model-dir", "models", "--top-k=1"),
    ("search", "ferry", "--path", ".", "--format", "json", "--top-k", "1"),
)


def test_flags_stand_anywhere_with_one_dash_or_two(devrag: Devrag) -> None:
    devrag("sync")
    for words in FLAG_POSITIONS:
        data = devrag(*words)
        assert (data["query"], data["count"]) == ("ferry", 1), words


def test_names_that_begin_with_a_dash_follow_two_dashes(place: Path, devrag: Devrag) -> None:
    (place / "documents" / "-dash.md").write_text("The -quay of the ferry.\n", encoding="utf-8")
    (place / "config.json").write_text('{"document_patterns": ["."]}', encoding="utf-8")
    (place / "-top.md").write_text("Top.\n", encoding="utf-8")
    devrag("sync")
    assert devrag("search", "--top-k=1", "--", "-quay")["count"] == 1
    assert devrag("delete", "--dry-run", "--", "-top.md")["would_delete_db"] == "-top.md"
    assert devrag("--", "reindex", "documents/-dash.md")["success"]
    assert "after `--`" in devrag("delete", "-top.md", code=2)["hint"]


def test_a_switch_may_have_a_value_as_in_go(devrag: Devrag) -> None:
    devrag("sync")
    assert devrag("delete", "-dry-run=TRUE", BOTH[0])["dry_run"]
    assert devrag("delete", "-dry-run=false", BOTH[0])["file_deleted"] is False


def test_command_lines_of_code_intel_3_8_work(place: Path, devrag: Devrag) -> None:
    devrag("sync")
    for path in (".", "./", str(place), "documents", str(place / "documents")):
        assert devrag("search", "ferry", "--path", path, "--format", "json")["count"] == 2, path
    assert devrag("search", "ferry", "--path", "documents/sub", "--format", "json")["count"] == 1
    assert devrag("search", "ferry", "--path", "nowhere", "--format", "json")["count"] == 0


def test_rows_have_only_the_requested_fields(devrag: Devrag) -> None:
    devrag("sync")
    rows = devrag("search", "ferry", "--fields", "document, score")["results"]
    assert [list(row) for row in rows] == [["document", "score"]] * 2
    assert list(devrag("search", "ferry", "--fields=content,filename")["results"][0]) == [
        "chunk",
        "document",
    ]
    assert devrag("list", "--fields", "filename")["documents"][0] == {"filename": BOTH[0]}
    assert devrag("search", "ferry", "--fields", "flags")["results"] == [{}, {}]
    error = devrag("search", "nowhere", "--fields", "colour", code=2)
    assert error["field"] == "fields"
    assert "similarity" in error["hint"]


def test_chunks_are_whole_on_a_terminal(place: Path, devrag: Devrag) -> None:
    long = "語" * 450
    for number in range(9):
        (place / "documents" / f"{number}.md").write_text(f"{long}{number}", encoding="utf-8")
    devrag("sync")
    rows = devrag("search", long[:20], "--top-k", "9")["results"]
    assert [len(row["chunk"]) for row in rows] == [451] * 9


def test_output_can_be_plain_text(devrag: Devrag, capsys: pytest.CaptureFixture[str]) -> None:
    devrag("sync")
    rows = text_of(capsys, "list", "--output", "text").splitlines()
    assert [row.split("\t")[1] for row in rows[:2]] == BOTH
    assert rows[-1] == "Total: 2 documents"
    assert BOTH[0] in text_of(capsys, "search", "ferry sails", "--output=text")
    assert "usage: devrag" in text_of(capsys, "help")
    assert text_of(capsys, "--version").startswith("devrag ")
    assert text_of(capsys, "search", "ferry", "--version").startswith("devrag ")


def test_index_keeps_a_file_outside_the_patterns(place: Path, devrag: Devrag) -> None:
    (place / "config.json").write_text(
        '{"document_patterns": ["documents/*.md"]}', encoding="utf-8"
    )
    (place / "documents" / "code.py").write_text("def sail(): pass\n", encoding="utf-8")
    devrag("sync")
    done = devrag("index", "documents/code.py")
    assert (done["file"], done["success"]) == ("documents/code.py", True)
    devrag("index", "documents/sub/notes.md")
    assert devrag("sync")["deleted"] == 0
    assert listed(devrag) == ["documents/code.py", *BOTH]
    assert devrag("delete", "documents/code.py")["file_deleted"] is False
    assert devrag("sync")["added"] == 0
    assert listed(devrag) == BOTH


def test_index_code_takes_one_several_or_a_folder(place: Path, devrag: Devrag) -> None:
    (place / "config.json").write_text(
        '{"document_patterns": ["documents/*.md"]}', encoding="utf-8"
    )
    for name in ("a.py", "b.py", "sub/c.py"):
        (place / "documents" / name).write_text(f"def {name[-4]}(): pass\n", encoding="utf-8")
    one = devrag("index-code", "documents/a.py")
    assert (one["success"], one["file"]) == (True, "documents/a.py")
    assert one["message"]
    several = devrag("index-code", "--filepaths", "documents/a.py,documents/b.py, none.py")
    assert (several["success_count"], several["error_count"]) == (2, 1)
    folder = devrag("index-code", "--directory", "documents", "--force")
    assert (folder["files_added"], folder["files_updated"], folder["files_failed"]) == (3, 2, 0)
    assert devrag("sync")["deleted"] == 0
    error = devrag("index-code", code=2)
    assert (error["code"], "is required" in error["message"]) == ("missing_argument", True)


def test_delete_and_reindex_have_dry_runs(place: Path, devrag: Devrag) -> None:
    devrag("sync")
    would = devrag("delete", BOTH[0], "--remove-file", "--dry-run")
    assert (would["dry_run"], would["would_delete_db"], would["would_delete_file"]) == (
        True, BOTH[0], True,
    )  # fmt: skip
    assert devrag("reindex", "--dry-run", BOTH[0])["would_reindex"] == BOTH[0]
    assert listed(devrag) == BOTH
    assert devrag("reindex", BOTH[0])["filename"] == BOTH[0]
    kept = devrag("delete", BOTH[0])
    assert (kept["file_deleted"], kept["message"][-20:]) == (False, "; the file was kept.")
    done = devrag("delete", "--remove-file", BOTH[1])
    assert (done["filename"], done["file_deleted"]) == (BOTH[1], True)
    assert done["message"].endswith("from the index; the file was removed.")
    assert [(place / name).exists() for name in BOTH] == [True, False]
    assert listed(devrag) == []


@pytest.mark.parametrize("params", ["flags", "params"])
def test_front_matter_is_written_from_flags_or_json(
    place: Path, devrag: Devrag, params: str
) -> None:
    given = {
        "flags": ("--domain", "backend", "--doc-type=spec", "--tags", "a, b", "--language", "ruby"),
        "params": ("--params", '{"Domain": "backend", "docType": "spec", "tags": ["a", "b"]}',
                   "--language", "ruby"),
    }[params]  # fmt: skip
    done = devrag("add-frontmatter", BOTH[0], *given, "--project", "Shop")
    assert done["file"] == BOTH[0]
    expected = "domain: backend\ndocType: spec\nlanguage: ruby\ntags: [a, b]\nproject: Shop"
    assert (place / BOTH[0]).read_text(encoding="utf-8") == f"---\n{expected}\n---\n\n{GUIDE}"
    error = devrag("add-frontmatter", BOTH[0], *given, code=1)
    assert error["code"] == "frontmatter_failed"
    devrag("update-frontmatter", BOTH[0], "--tags", "c")
    assert "tags: [c]\nproject: Shop" in (place / BOTH[0]).read_text(encoding="utf-8")


ERRORS = (
        (("nope",), 2, "unknown_command", ""),
        (("search",), 2, "missing_argument", "query"),
        (("index",), 2, "missing_argument", "filepath"),
        (("add-frontmatter",), 2, "missing_argument", "filepath"),
        (("search", "-dash"), 2, "invalid_argument", ""),
        (("search", "ferry", "--dry-run=perhaps"), 2, "invalid_argument", "dry_run"),
        (("search", "ferry", "--top-k", "0"), 2, "invalid_argument", "top_k"),
        (("add-frontmatter", BOTH[0]), 2, "missing_argument", ""),
        (("search", ""), 2, "invalid_input", "query"),
        (("search", "a\x01b"), 2, "invalid_input", "query"),
        (("index", "../outside.md"), 2, "invalid_path", "path"),
        (("index", ""), 2, "invalid_path", "path"),
        (("delete", "/etc/passwd", "--remove-file"), 2, "invalid_path", "path"),
        (("index-code", "--directory", "documents/guide.md"), 2, "invalid_path", "directory"),
        (("add-frontmatter", BOTH[0], "--params", "{"), 2, "invalid_json", "params"),
        (("add-frontmatter", BOTH[0], "--params", "[]"), 2, "invalid_json", "params"),
        (("add-frontmatter", BOTH[0], "--params", '{"color": 1}'), 2, "invalid_argument", "params"),
        (("add-frontmatter", BOTH[0], "--params", '{"tags": 1}'), 2, "invalid_argument", "tags"),
        (("add-frontmatter", BOTH[0], "--domain", "sea"), 2, "invalid_argument", "domain"),
        (("add-frontmatter", "documents/none.md", "--tags=a"), 1, "read_failed", "path"),
        (("index", "documents/none.md"), 1, "index_failed", "path"),
        (("index", "documents"), 1, "index_failed", "path"),
        (("index", f"documents/{'a' * 300}.md"), 1, "index_failed", "path"),
        (("delete", f"documents/{'a' * 300}.md"), 1, "delete_failed", "path"),
        ((f"--config={'a' * 300}", "list"), 2, "invalid_argument", "config"),
        (("reindex", "documents/sub"), 1, "index_failed", "path"),
        (("index", "documents/binary.md"), 1, "index_failed", "path"),
        (("index-code", "documents/none.py"), 1, "index_failed", "path"),
        (("reindex", "documents/none.md"), 1, "index_failed", "path"),
        (("delete", "documents/none.md"), 1, "delete_failed", "path"),
        (("--config=none.json", "list"), 2, "invalid_argument", "config"),
        (("list", "--config="), 2, "invalid_argument", "config"),
        (("list", "--model-dir"), 2, "invalid_argument", "model_dir"),
        (("--config=broken.json", "list"), 2, "invalid_config", ""),
        (("--config=odd.json", "list"), 2, "invalid_config", "chunk_size"),
)  # fmt: skip
"""Words, exit code, code and field of the error."""


@pytest.mark.covers(
    "error.invalid_config",
    "error.unknown_command",
    "error.invalid_input",
    "error.invalid_json",
    "error.invalid_path",
    "error.delete_failed",
)
def test_every_error_has_devrags_code_and_its_exit_code(place: Path, devrag: Devrag) -> None:
    (place / "documents" / "binary.md").write_bytes(b"\0\1\2")
    (place / "broken.json").write_text("{\n  nope\n}", encoding="utf-8")
    (place / "odd.json").write_text('{"chunk_size": "5"}', encoding="utf-8")
    devrag("sync")
    for words, code, name, field in ERRORS:
        error = devrag(*words, code=code)
        assert (error["code"], error["field"]) == (name, field), words
        assert (error["code"] in OPERATIONAL) == (code == 1)


def test_a_server_that_cannot_start_writes_to_stderr_only(
    place: Path,
) -> None:
    (place / "broken.json").write_text("{\n  nope\n}", encoding="utf-8")
    (place / "gpu.json").write_text(
        '{"compute": {"device": "gpu", "fallback_to_cpu": false}}', encoding="utf-8"
    )
    before = sorted(place.rglob("*"))
    for words, code, said in (
        (("--config", "broken.json"), 2, b"broken.json is not JSON"),
        (("serve", "--config", "broken.json"), 2, b"broken.json is not JSON"),
        (("serve", "--config", "gpu.json"), 1, b"fallback_to_cpu"),
    ):
        ended = subprocess.run(
            [BIN / "devrag", *words],
            check=False,
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        assert (ended.returncode, ended.stdout) == (code, b"")
        assert said in ended.stderr
    assert sorted(place.rglob("*")) == before


@pytest.mark.covers("error.list_failed", "error.search_failed")
@pytest.mark.parametrize(
    ("command", "code"), [("list", "list_failed"), ("search", "search_failed")]
)
def test_search_and_list_without_an_index_name_sync(
    devrag: Devrag, command: str, code: str
) -> None:
    error = devrag(command, *(["ferry"] if command == "search" else []), code=1)
    assert error["code"] == code
    assert "devrag --config" in error["hint"]
    assert error["hint"].rstrip("`.").endswith("sync")


def test_removed_commands_name_their_replacement(devrag: Devrag) -> None:
    for name in REPLACED_COMMANDS:
        error = devrag(name, "x", code=2)
        assert error["code"] == "unknown_command"
        assert error["hint"] == REPLACED_COMMANDS[name]


def test_the_first_pass_over_a_line_knows_every_flag() -> None:
    switches: set[str] = set()
    values: set[str] = set()
    for command in DEVRAG_COMMANDS:
        for action in parser_of(command, "devrag")._actions:  # noqa: SLF001 - argparse has no public list
            names = {name[2:] for name in action.option_strings if name.startswith("--")}
            (switches if action.nargs == 0 else values).update(names)
    assert switches | {"version"} == line.SWITCHES
    assert values == line.VALUES


def test_a_value_is_not_mistaken_for_the_command() -> None:
    read = line.read(
        ["--output", "search", "--config", "list", "-top-k", "3", "delete", "x", "--", "--y"]
    )
    assert (read.command, read.config) == ("delete", "list")
    assert (read.flags, read.words) == (["--output=search", "--top-k=3"], ["x", "--y"])
    assert line.read(["search", "-"]).words == ["-"]
    with pytest.raises(UsageError):
        line.read(["--config"])


FLAGS = st.sampled_from(
    [["--top-k", "3"], ["--output=text"], ["-fields", "chunk,score"], ["--dry-run"], ["--config=c"]]
)


@given(st.permutations(["search", "a", "b"]).filter(lambda words: words[0] == "search"),
       st.lists(FLAGS, max_size=4), st.randoms())  # fmt: skip
def test_the_position_of_flags_does_not_matter(
    words: list[str], flags: list[list[str]], random: Random
) -> None:
    places = sorted(random.randint(0, len(words)) for _ in flags)
    mixed: list[str] = []
    for place, word in enumerate([*words, ""]):
        mixed += [
            part for at, flag in zip(places, flags, strict=True) if at == place for part in flag
        ]
        mixed += [word] if word else []
    plain = line.read([*words, *(part for flag in flags for part in flag)])
    found = line.read(mixed)
    assert (found.command, found.config) == ("search", plain.config)
    assert sorted(found.flags) == sorted(plain.flags)
    assert found.words == words[1:]


def test_the_schema_describes_every_command(devrag: Devrag) -> None:
    data = devrag("schema")
    commands = {row["name"]: row for row in data["commands"]}
    assert list(commands) == [command.name for command in DEVRAG_COMMANDS]
    assert [name for name, row in commands.items() if row["destructive"]] == ["delete"]
    flags = {row["name"]: row for row in commands["search"]["flags"]}
    assert flags["output"]["enum"] == ["json", "text"]
    assert commands["index"]["args"][0]["name"] == "filepath"
    assert FAILED.keys() <= commands.keys()


def test_status_doctor_and_vacuum_answer(place: Path, devrag: Devrag, env: dict[str, str]) -> None:
    (place / "config.json").write_text(
        '{"documents_dir": "documents", "chunk_sice": 5, "compute": {"device": "gpu"}}',
        encoding="utf-8",
    )
    synced = Project(place, env).spawn("devrag", "sync")
    note = f"{place}/config.json: chunk_sice is unknown and ignored; did you mean chunk_size?"
    assert synced.stderr.count(note) == 1
    status = devrag("status")
    assert note in status["notes"]
    assert any("CPU" in text for text in status["notes"])
    assert (status["files"], status["state"]) == (2, "fresh")
    assert devrag("doctor")["ok"] == devrag("check")["ok"] is True
    done = devrag("vacuum")
    assert done["bytes_before"] >= done["bytes_after"] > 0
    assert json.loads((place / "config.json").read_text(encoding="utf-8"))["chunk_sice"] == 5


@pytest.mark.covers("error.init_failed")
def test_a_missing_gpu_without_fallback_is_reported_before_any_work(
    place: Path, devrag: Devrag
) -> None:
    (place / "config.json").write_text(
        '{"compute": {"device": "gpu", "fallback_to_cpu": false}}', encoding="utf-8"
    )
    for words in (("sync",), ("search", "ferry")):
        error = devrag(*words, code=1)
        assert error["code"] == "init_failed"
        assert "fallback_to_cpu" in error["hint"]
    assert devrag("status")["state"] == "missing"


def test_only_commands_that_build_an_index_create_the_default_config(
    place: Path, devrag: Devrag, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "config.json").unlink()
    for words in (("status",), ("search", "ferry"), ("list",), ("delete", "x", "--dry-run")):
        main(words)
        assert not (place / "config.json").exists()
        assert not (place / "vectors.db").exists()
    capsys.readouterr()
    data = devrag("sync")
    assert "created config.json" in data["stderr"]
    assert data["added"] == 2
    made = json.loads((place / "config.json").read_text(encoding="utf-8"))
    assert made["document_patterns"] == ["./documents"]
    assert made["model"] == {"name": "multilingual-e5-small", "dimensions": 384}
    before = (place / "config.json").stat().st_mtime_ns
    devrag("sync")
    assert (place / "config.json").stat().st_mtime_ns == before


def test_sync_creates_no_documents_folder_and_no_config_in_the_home(
    tmp_path: Path, devrag: Devrag, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    data = devrag("sync")
    assert any("./documents does not exist" in warning for warning in data["warnings"])
    names = {path.name for path in empty.iterdir() if not path.name.startswith("vectors.db")}
    assert names == {"config.json"}
    home = tmp_path / "home"
    monkeypatch.chdir(home)
    devrag("sync")
    assert not (home / "config.json").exists()


@pytest.mark.parametrize("words", [("delete", BOTH[0]), ("vacuum",)])
def test_delete_and_vacuum_create_no_index(
    place: Path, devrag: Devrag, words: tuple[str, ...]
) -> None:
    before = sorted(place.rglob("*"))
    assert "sync" in devrag(*words, code=1)["hint"]
    assert sorted(place.rglob("*")) == before


@pytest.mark.covers("error.insert_failed")
def test_index_code_names_files_that_fail_and_reports_an_unwritable_index(
    place: Path, devrag: Devrag
) -> None:
    (place / "documents" / "a.py").write_text("def ferry(): ...\n", encoding="utf-8")
    (place / "documents" / "b.py").write_bytes(b"\x00\xff\x00")
    data = devrag("index-code", "--directory", "documents")
    assert (data["files_added"], data["files_failed"]) == (3, 1)
    assert data["failures"].keys() == {"documents/b.py"}
    devrag("delete", BOTH[0])
    (place / "documents" / "b.py").unlink()
    data = devrag("index-code", "--directory", "documents")
    assert (data["files_skipped"], data["failures"]) == (3, {})
    assert devrag("list")["count"] == 2
    for file in place.glob("vectors.db*"):
        file.unlink()
    (place / "vectors.db.lock").mkdir()  # a folder cannot be locked, not even by root
    for words in (("--directory", "documents"), ("--filepaths", "documents/a.py")):
        assert devrag("index-code", *words, code=1)["code"] == "insert_failed"


def test_document_names_do_not_depend_on_the_working_folder(
    place: Path, devrag: Devrag, monkeypatch: pytest.MonkeyPatch
) -> None:
    devrag("sync")
    monkeypatch.chdir(place / "documents" / "sub")
    config = str(place / "config.json")
    assert devrag("--config", config, "sync")["unchanged"] == 2
    assert [r["filename"] for r in devrag("--config", config, "list")["documents"]] == BOTH
    assert devrag("--config", config, "reindex", BOTH[1])["filename"] == BOTH[1]
    assert devrag("--config", config, "reindex", "notes.md")["filename"] == BOTH[1]
    monkeypatch.chdir(place.parent)
    assert devrag("--config", "place/config.json", "sync")["unchanged"] == 2
