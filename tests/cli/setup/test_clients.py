"""`init --client` merges entries into the file of each client; `--remove` restores it."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.setup.client_entries import BY_NAME, entries, write_client_file
from code_intel.cli.main import main
from code_intel.cli.setup import client_files, clients, mcp_toml
from code_intel.cli.setup.clients import CLIENTS, Client
from code_intel.cli.setup.init import apply, setup
from code_intel.config.find_index_config import locate_config
from code_intel.errors import BusyError
from code_intel.tools.table import GATEWAY_TOOLS
from programs import git
from projects import BIN, file_tree

Init = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_each_client_gets_its_own_file_once(project: Path, init: Init, client: Client) -> None:
    init("--client", client.name)
    assert {one.file for one in CLIENTS if (project / one.file).exists()} == {client.file}
    found = entries(client, project)
    assert list(found) == list(clients.SERVERS)
    assert all(clients.is_ours(client, name, entry) for name, entry in found.items())
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    assert {row["action"] for row in init("--client", client.name)["changes"]} == {"keep"}
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before
    init("--remove")
    assert list(project.rglob("*")) == []


COMMENTED = """\
// { "KEY": {} } is what it was
{
  /* "KEY": { "two": {} }, */
  "KEY": {
    "one": {"command": "sh", "args": ["-c", "echo // no comment, }"]}, // { the first
    /* and the last */
  },
}
// the end }
"""
JSON_FILES = [
    "",
    "\n",
    "\ufeff",
    "{}",
    "{ }\n",
    "{\n}",
    "// nothing yet",
    "// nothing yet\n",
    "/* { */\n",
    '{"a": 1}\n',
    '{"KEY": {}}',
    '// mine\n{"KEY": {\n  }, "a": 1}\n',
    '{"KEY": {"one": {}, }, } ',
    '{\n\t"KEY": {\n\t\t"o": {}\n\t}\n}',
    '\ufeff{\r\n  "KEY": {\r\n    "o": {},\r\n  },\r\n}\r\n',
    (
        '/*1*/{/*2*/"a"/*3*/:/*4*/[/*5*/1/*6*/,/*7*/]/*8*/,/*9*/'
        '"KEY"/*10*/:/*11*/{/*12*/"o"/*13*/:{}/*14*/,/*15*/}/*16*/}//17'
    ),
    '{"KEY": {"old": {}}, "KEY": {"o": {"command": "x"}}}',
    '{"inputs": [{"id": "a//b"}], "é": "\\"}"}',
    '{"KEY": {"z": {"args": ["a",  "b"]}, "y": { "url": "http://localhost/ü" , "n": 1.50e3 }}}',
    COMMENTED,
    COMMENTED.replace("\n", "\r\n"),
    '{\n  "KEY": {\n    "a": {}, // of a\n    "b": {} /* of b */ , // of b, too\n  }\n}\n',
    '{\n  "KEY": {\n    "a": {}, // of a\n    "b": {} // of b\n    // the end\n  }\n}\n',
]
JSON_CLIENTS = [client for client in CLIENTS if client.format == "json"]


@pytest.mark.parametrize("number", range(len(JSON_FILES)))
def test_remove_restores_a_json_file_to_the_byte(project: Path, init: Init, number: int) -> None:
    client = JSON_CLIENTS[number % len(JSON_CLIENTS)]
    text = JSON_FILES[number].replace("KEY", client.key)
    file = write_client_file(project, client, text)
    before = entries(client, project)
    init("--client", client.name)
    after = entries(client, project)
    assert after == before | {key: after[key] for key in clients.SERVERS}
    assert list(after) == [*before, *clients.SERVERS]
    merged = file.read_text("utf-8")
    remaining = iter(merged)
    assert all(character in remaining for character in text.replace("\r", ""))  # in this order
    assert all('"b"' in line for line in merged.splitlines() if "// of b" in line)
    init("--client", client.name)
    assert file.read_text("utf-8") == merged
    init("--remove")
    assert file_tree(project) == {client.file: text.encode()}


TOML_FILES = [
    "",
    "\n",
    "\ufeff",
    "# nothing yet",
    "# nothing yet\n",
    'model = "x"',
    'model = "x" # why\n',
    '# hi\n\n[mcp_servers.o]\ncommand = "a" # x\n\n[profiles.x]\na = 1\n',
    "a = 1\r\n\r\n[mcp_servers.o]\r\ncommand = 'a'\r\n",
    'mcp_servers.o.command = "a"\nb = 1\n[z]\nc = 1\n',
    '[mcp_servers]\no.command = "a"\n[t]\n',
    '[mcp_servers]\n[mcp_servers.o]\ncommand="x"\n[t]\n',
    'mcp_servers = { o = { command = "a" } } # c\nb = 1\n',
    "mcp_servers = {}\n[z]\nq = 1\n",
    'mcp_servers = {o={command="a"}}',
    "[[p]]\na = 1\n\n[[p]]\na = 2\n",
    '[mcp_servers.a]\ncommand="x"\n[t]\nq=1\n[mcp_servers.b]\ncommand="y"\n# end',
    (
        '[mcp_servers.o]\n\tcommand = "x"\n\t[mcp_servers.o.env]\n\tA = """\n'
        '[mcp_servers.code-intel]\n"""\n'
    ),
    '\ufeffmodel = "x"\n',
]


@pytest.mark.parametrize("text", TOML_FILES, ids=range(len(TOML_FILES)))
def test_remove_restores_a_toml_file_to_the_byte(project: Path, init: Init, text: str) -> None:
    client = BY_NAME["codex"]
    file = write_client_file(project, client, text)
    was = tomllib.loads(text.removeprefix("\ufeff"))
    init("--client", "codex")
    now = tomllib.loads(file.read_text("utf-8-sig"))
    assert list(now["mcp_servers"])[-3:] == list(clients.SERVERS)
    for name in clients.SERVERS:
        del now["mcp_servers"][name]
    assert {"mcp_servers": {}} | now == {"mcp_servers": {}} | was
    after = file.read_bytes()
    init("--client", "codex")
    assert file.read_bytes() == after
    init("--remove")
    assert file_tree(project) == {client.file: text.encode()}


NAMES = st.sampled_from(["a", "b-c", '"d e"', '"é.f"'])
VALUES = st.sampled_from(
    ["1", '"x # y"', "'[z]'", "[1, 2,\n 3]", "{ k = 1 }", '"""\n[mcp_servers.a]\n"""']
)
LINES = st.builds("{} = {}".format, NAMES, VALUES)
HEADERS = st.builds(
    "[{}{}]{}".format,
    st.sampled_from(["", "mcp_servers.", "t."]),
    NAMES,
    st.sampled_from(["", " # why"]),
)
DOCUMENTS = st.lists(LINES | HEADERS | st.sampled_from(["", "# c", "[[q]]"]), max_size=8).map(
    "\n".join
)


@given(DOCUMENTS, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\n"]))
def test_merged_tables_are_read_and_removing_them_restores_the_text(
    text: str, line: str, end: str
) -> None:
    text = (text + end).replace("\n", line)
    try:
        was = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # the same key twice
    added: dict[str, Any] = {
        name: {"command": f"x {line!r}\x7f\\", "args": ["", "é"]} for name in ("m", "n")
    }
    if mcp_toml.is_blank(text):
        return
    merged = mcp_toml.merged(text, "mcp_servers", added)
    assert merged is not None
    assert merged.startswith(text)
    assert tomllib.loads(merged) == was | {"mcp_servers": was.get("mcp_servers", {}) | added}
    assert mcp_toml.removed(merged, "mcp_servers", added) == text


def test_changed_lines_are_shown_as_a_diff(project: Path, init: Init) -> None:
    write_client_file(project, BY_NAME["gemini"], '{\n  "theme": "dark"\n}\n')
    write_client_file(project, BY_NAME["codex"], 'model = "x"\n')
    changes = init("--client", "all", "--dry-run")["changes"]
    diffs = {row["file"]: row["diff"] for row in changes if "diff" in row}
    assert diffs.keys() == {".gemini/settings.json", ".codex/config.toml"}
    assert '+[mcp_servers.devrag-map]\n+command = "' in diffs[".codex/config.toml"]
    removed = [line for line in diffs[".gemini/settings.json"].splitlines() if line.startswith("-")]
    assert removed == ["--- .gemini/settings.json", '-  "theme": "dark"']  # a comma was added


BROKEN = [
    ("claude", "[]"),
    ("claude", '"x"'),
    ("claude", '{"mcpServers": {},, } '),
    ("claude", '/* mine\n{"mcpServers": {}}'),
    ("claude", "[" * 10**5),
    ("codex", "mcp_servers = 1\n"),
    ("cursor", '{"mcpServers": null}'),
    ("vscode", '{"servers": ['),
    ("gemini", "\ud83d"),
]


@pytest.mark.parametrize(("name", "text"), BROKEN, ids=range(len(BROKEN)))
def test_an_unreadable_file_stops_init_before_any_write(
    project: Path, init: Init, name: str, text: str
) -> None:
    write_client_file(project, BY_NAME[name], text.encode("utf-8", "surrogatepass"))
    before = file_tree(project)
    for options in ([], ["--dry-run"]):
        error = init("--client", "all", *options, code=2)
        assert error["error"] == "invalid_config"
        assert BY_NAME[name].file in error["message"]
        assert all(server in error["hint"] for server in clients.SERVERS)
    assert file_tree(project) == before


def test_read_only_files_and_folders_in_place_of_files_are_refused(
    project: Path, init: Init
) -> None:
    file = write_client_file(project, BY_NAME["vscode"], '{"servers": {}}')
    file.chmod(0o444)
    assert "read-only" in init("--client", "all", code=2)["message"]
    file.chmod(0o644)
    (project / ".cursor").write_bytes(b"")
    assert "is not a folder" in init("--client", "all", code=2)["message"]
    (project / ".cursor").unlink()
    (project / ".mcp.json").mkdir()
    assert "is not a file" in init("--client", "all", code=2)["message"]
    assert file_tree(project) == {".vscode/mcp.json": b'{"servers": {}}'}
    assert not (project / ".code-intel").exists()


def test_a_changed_file_is_backed_up_outside_git_with_its_mode(project: Path, init: Init) -> None:
    git(project, "init", "-q")
    (project / ".code-intel").mkdir()
    (project / ".code-intel" / ".gitignore").write_text("*.db\n", encoding="utf-8")
    text = b'{"mcpServers": {"o": {"env": {"TOKEN": "t"}}}}'
    file = write_client_file(project, BY_NAME["claude"], text)
    file.chmod(0o600)
    backup = project / init()["backup"]
    assert (backup / ".mcp.json").read_bytes() == text
    assert stat.S_IMODE((backup / ".mcp.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "backup" not in git(project, "status", "--porcelain", "--untracked-files=all")
    merged = file.read_bytes()
    file.write_bytes(merged.replace(b'"t"', b'"u"'))
    assert init("--remove")["backup"] is None
    assert file.read_bytes() == text.replace(b'"t"', b'"u"')
    assert (backup / ".mcp.json").exists()


def test_entries_whose_program_or_project_moved_are_repaired_in_place(
    project: Path, init: Init, tmp_path: Path
) -> None:
    init("--client", "all")
    for client in CLIENTS:
        file = project / client.file
        gone = file.read_text("utf-8").replace(str(BIN), str(tmp_path / "gone" / "bin"))
        file.write_text(gone, encoding="utf-8")
    moved = project.rename(tmp_path / "moved to 日本")
    rows = {row["file"]: row for row in init("--client", "all", root=moved)["changes"]}
    for name in ("codex", "gemini"):
        assert rows[BY_NAME[name].file]["why"] == "repairs code-intel, devrag-map, devrag-forest"
    for client in CLIENTS:
        found = entries(client, moved)
        assert list(found) == list(clients.SERVERS)
        assert "gone" not in str(found)
        assert {str(moved)} == {entry.get("cwd", str(moved)) for entry in found.values()}
    (moved / ".code-intel" / "agreements" / "kept.md").write_text("# mine\n", encoding="utf-8")
    init("--remove", root=moved)
    assert not any((moved / client.file).exists() for client in CLIENTS)


def test_a_file_of_five_megabytes_is_merged_and_restored(project: Path, init: Init) -> None:
    row = '    "k%d": {"a": ["x, }", 1, 2], "b": "// no comment' + " }" * 300 + '"}, // one\n'
    text = "{\n" + "".join(row % number for number in range(8_000)) + "}\n"
    assert len(text) > 5_000_000
    file = write_client_file(project, BY_NAME["gemini"], text)
    changes = init("--client", "gemini")["changes"]
    assert next(row for row in changes if row["action"] == "update")["diff"].startswith("(+")
    init("--remove")
    assert file.read_text("utf-8") == text


def test_clients_are_named_by_repeated_options_or_lists(project: Path, init: Init) -> None:
    error = init("--client", "claude,emacs", code=2)
    assert (error["error"], error["field"]) == ("invalid_argument", "client")
    assert "vscode" in error["hint"]
    assert file_tree(project) == {}
    named = init("--client", "codex, cursor", "--client", "Gemini", "--dry-run")
    found = {row["file"] for row in named["changes"]} & {client.file for client in CLIENTS}
    assert found == {BY_NAME[name].file for name in ("codex", "cursor", "gemini")}
    assert len(named["notes"]) == 4  # one of each, and that they have no hooks


def test_a_project_path_that_a_client_cannot_use_is_reported(init: Init, tmp_path: Path) -> None:
    odd = tmp_path / "costs $HOME"
    odd.mkdir()
    notes = {name: init("--client", name, "--dry-run", root=odd)["notes"] for name in BY_NAME}
    assert [name for name, said in notes.items() if any("variable" in note for note in said)] == [
        "gemini"
    ]
    broken = tmp_path / os.fsdecode(b"latin \xe9")
    broken.mkdir()
    assert init("--client", "codex", code=2, root=broken)["field"] == "project"
    assert list(broken.iterdir()) == []
    write_client_file(broken, BY_NAME["gemini"], "{}")
    assert init("--client", "gemini", code=2, root=broken)["field"] == "project"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_tool_names_fit_the_limit_of_each_client(client: Client) -> None:
    tools = [tool.name for tool in GATEWAY_TOOLS]
    longest = max(
        (client.tool.format(server=clients.GATEWAY, tool=tool) for tool in tools), key=len
    )
    assert len(longest) <= client.max_tool_chars


MINIMAL = {"PATH": "/usr/bin:/bin", "LANG": "C"}
ASK = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def answered(client: Client, root: Path, server: str, elsewhere: Path) -> dict[str, Any]:
    """Start a server as its client would, from elsewhere, and return its answer to `initialize`."""
    entry = json.loads(
        json.dumps(entries(client, root)[server]).replace(
            "${workspaceFolder}", json.dumps(str(root))[1:-1]
        )
    )
    told = {"CLAUDE_PROJECT_DIR": str(root)} if client.name == "claude" else {}
    state = {key: os.environ[key] for key in ("CODE_INTEL_STATE_DIR", "HOME")}
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(ASK).encode() + b"\n",
        cwd=entry.get("cwd", elsewhere),
        env=MINIMAL | state | told | entry.get("env", {}),
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[0])["result"])


def test_each_entry_starts_its_server_with_a_minimal_environment(
    init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", MINIMAL["PATH"])  # the programs of this installation are not on it
    root = tmp_path / 'it\'s "my" 日本 \\ project'
    elsewhere = tmp_path / "elsewhere"
    for folder in (root, elsewhere):
        folder.mkdir()
    init("--client", "all", "--commands", root=root)
    for one, other in (("codex", "gemini"), ("cursor", "vscode")):  # so one of each is started
        assert entries(BY_NAME[one], root) == entries(BY_NAME[other], root)
    started = [
        ("claude", "code-intel"),
        ("claude", clients.COMMANDS_SERVER),
        ("codex", "devrag-forest"),
        ("cursor", "devrag-map"),
    ]
    for name, server in started:
        answer = answered(BY_NAME[name], root, server, elsewhere)
        assert answer["serverInfo"]["name"] == server
    assert list(elsewhere.iterdir()) == []


def test_two_projects_of_one_repository_are_set_up_separately(project: Path, init: Init) -> None:
    git(project, "init", "-q")
    for name in ("one", "two"):
        (project / name).mkdir()
        init("--client", "claude,codex", root=project / name)
        assert len(init(root=project / name)["notes"]) == 1
    assert {path.name for path in project.iterdir()} == {".git", "one", "two"}
    for name in ("one", "two"):
        for database in ("vectors-forest.db", ".code-intel/vectors-map.db-wal"):
            assert git(project, "check-ignore", f"{name}/{database}")
    entry = entries(BY_NAME["codex"], project / "two")["devrag-map"]
    assert entry["cwd"] == str(project / "two")


def test_setting_up_a_folder_of_a_project_notes_that_both_are_set_up(
    project: Path, init: Init
) -> None:
    (project / "part").mkdir()
    init()
    (said,) = (note for note in init(root=project / "part")["notes"] if "also set up" in note)
    assert said.startswith(f"{project} is also set up")


def test_init_notes_that_git_ignores_the_agreements(project: Path, init: Init) -> None:
    git(project, "init", "-q")
    (project / ".gitignore").write_text(".code-intel/\n", encoding="utf-8")
    assert any("Git ignores .code-intel" in note for note in init()["notes"])
    (project / ".gitignore").write_text("*.pyc\n", encoding="utf-8")
    assert not any("Git ignores" in note for note in init()["notes"])


def test_sync_without_init_makes_git_ignore_derived_files(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    monkeypatch.setenv("CODE_INTEL_CACHE_DIR", str(project.parent / "cache"))
    git(project, "init", "-q")
    (project / "a.py").write_text("def hello():\n    pass\n", encoding="utf-8")
    assert main(["sync", "--", str(project)]) == 0
    line = ["map", "add", "挨拶", "hello", "--evidence", "it says hello"]
    assert main([*line, "--project", str(project)]) == 0
    listed = git(project, "status", "--porcelain", "--untracked-files=all").splitlines()
    assert len([line for line in listed if ".code-intel/agreements/" in line]) == 1
    assert {line for line in listed if "agreements" not in line} == {
        "?? .code-intel/.gitignore",
        "?? a.py",
    }
    assert (project / ".code-intel" / "vectors-forest.db").exists()
    (project / ".code-intel" / ".gitignore").unlink()
    assert main(["sync", "--", str(project)]) == 0
    assert not (project / ".code-intel" / ".gitignore").exists()  # the folder is its owner's
    capsys.readouterr()


def test_every_client_has_a_format_a_file_and_a_section_of_the_docs() -> None:
    assert {client.format for client in CLIENTS} == client_files.FORMATS.keys()
    assert len({client.file for client in CLIENTS}) == len(CLIENTS)
    page = (Path(__file__).parents[3] / "docs" / "clients.md").read_text("utf-8")
    for client in CLIENTS:
        assert f"## {client.name}\n\n- **File**: `{client.file}`" in page
    assert Path(sys.executable).parent == BIN


def test_a_file_that_changes_between_plan_and_run_is_not_overwritten(project: Path) -> None:
    (project / ".mcp.json").write_bytes(b"{}")
    plan = setup(project)
    (project / ".mcp.json").write_bytes(b'{"theirs": 1}')
    with pytest.raises(BusyError, match="Another program changed"):
        apply(plan)
    assert (project / ".mcp.json").read_bytes() == b'{"theirs": 1}'


def test_a_dry_run_prints_the_changed_lines(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".gitignore").write_bytes(b"*.pyc\n")
    assert main(["init", "--dry-run", "--", str(project)]) == 0
    shown = capsys.readouterr().out
    assert "    +vectors-forest.db*\n" in shown
    assert "would be in .code-intel/backup/<time>." in shown
    assert file_tree(project) == {".gitignore": b"*.pyc\n"}


def test_init_points_a_project_of_an_earlier_version_to_migrate(
    project: Path, init: Init, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not any("migrate" in note for note in init()["notes"])
    pairs = {"version": 1, "pairs": [{"nl_term": "送料", "symbol": "fee", "confidence": 0.9}]}
    file = project / ".code-intel" / "learned_pairs.json"
    file.write_text(json.dumps(pairs), encoding="utf-8")
    before = file.read_bytes()
    for arguments in (("--dry-run",), ()):
        assert any("code-intel migrate" in note for note in init(*arguments)["notes"])
    assert file.read_bytes() == before
    assert main(["migrate", "--", str(project)]) == 0
    capsys.readouterr()
    assert not any("migrate" in note for note in init()["notes"])


def test_remove_ignores_unreadable_files_unless_they_name_a_server(
    project: Path, init: Init
) -> None:
    file = write_client_file(project, BY_NAME["vscode"], '{"servers": [')
    init()
    init("--remove")
    assert file_tree(project) == {".vscode/mcp.json": b'{"servers": ['}
    file.write_bytes(b'{"servers": {"devrag-map": }')
    error = init("--remove", code=2)
    assert "It was not changed." in error["message"]
    assert "by hand" in error["hint"]


def test_an_absolute_config_path_is_also_looked_up_in_the_state_folder(
    project: Path,
) -> None:
    config = project / ".code-intel" / "devrag-map.json"
    config.parent.mkdir()
    config.write_text("{}", encoding="utf-8")
    assert locate_config(str(project / "devrag-map.json"), serving=True) == config
    (project / "devrag-map.json").write_text("{}", encoding="utf-8")
    found = locate_config(str(project / "devrag-map.json"), serving=True)
    assert found == project / "devrag-map.json"
