"""`init --client`: every client reads its own file, and gets back what was there, to the byte."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.main import main
from code_intel.cli.setup import client_files, clients, mcp_json, mcp_toml
from code_intel.cli.setup.clients import CLIENTS, Client
from code_intel.cli.setup.init import apply, setup
from code_intel.config.find_index_config import locate_config
from code_intel.errors import BusyError
from code_intel.tools.table import GATEWAY_TOOLS
from programs import git
from projects import BIN

BY_NAME = {client.name: client for client in CLIENTS}
Init = Callable[..., dict[str, Any]]


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def write(root: Path, client: Client, text: str | bytes) -> Path:
    file = root / client.file
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def entries(client: Client, file: Path) -> dict[str, Any]:
    """What the client's own kind of parser finds."""
    text = file.read_text("utf-8-sig")
    document = (
        tomllib.loads(text)
        if client.format == "toml"
        else json.loads(mcp_json.plain(text).strip() or "{}")
    )
    return dict(document.get(client.key, {}))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_each_client_gets_its_own_file_once_and_only_then(
    project: Path, init: Init, client: Client
) -> None:
    init("--client", client.name)
    assert {one.file for one in CLIENTS if (project / one.file).exists()} == {client.file}
    found = entries(client, project / client.file)
    assert list(found) == list(clients.SERVERS)
    assert all(clients.is_ours(client, name, entry) for name, entry in found.items())
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    assert {row["action"] for row in init("--client", client.name)["changes"]} == {"keep"}
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before
    init("--remove")
    assert list(project.rglob("*")) == []


JSON_FILES = [
    "",
    "\n",
    "\ufeff",
    "{}",
    "{ }\n",
    "// nothing yet",
    "// nothing yet\n",
    "/* { */\n",
    '{"KEY": {}}',
    '{\n\t"KEY": {\n\t\t"o": {}\n\t}\n}',
    '\ufeff{\r\n  "KEY": {\r\n    "o": {},\r\n  },\r\n}\r\n',
    (
        '/*1*/{/*2*/"a"/*3*/:/*4*/[/*5*/1/*6*/,/*7*/]/*8*/,/*9*/'
        '"KEY"/*10*/:/*11*/{/*12*/"o"/*13*/:{}/*14*/,/*15*/}/*16*/}//17'
    ),
    '{"KEY": {"old": {}}, "KEY": {"o": {"command": "x"}}}',
    '{"inputs": [{"id": "a//b"}], "é": "\\"}"}',
]


@pytest.mark.parametrize("text", JSON_FILES, ids=range(len(JSON_FILES)))
@pytest.mark.parametrize("name", ["claude", "cursor", "vscode", "gemini"])
def test_what_people_wrote_into_a_json_file_stays_to_the_byte(
    project: Path, init: Init, name: str, text: str
) -> None:
    client = BY_NAME[name]
    text = text.replace("KEY", client.key)
    file = write(project, client, text)
    was = entries(client, file)
    init("--client", name)
    assert entries(client, file) == was | {
        key: entries(client, file)[key] for key in clients.SERVERS
    }
    kept = iter(file.read_text("utf-8"))
    assert all(character in kept for character in text.replace("\r", ""))  # in this order
    after = file.read_bytes()
    init("--client", name)
    assert file.read_bytes() == after
    init("--remove")
    assert file.read_bytes() == text.encode()
    assert files(project) == {client.file: text.encode()}


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
def test_what_people_wrote_into_a_toml_file_stays_to_the_byte(
    project: Path, init: Init, text: str
) -> None:
    client = BY_NAME["codex"]
    file = write(project, client, text)
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
    assert files(project) == {client.file: text.encode()}


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


@given(DOCUMENTS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_tables_put_in_are_there_and_taken_out_are_gone(text: str, line: str, ended: bool) -> None:  # noqa: FBT001 - drawn
    text = (text + "\n" * ended).replace("\n", line)
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
    assert mcp_toml.without(merged, "mcp_servers", added) == text


def test_a_dry_run_shows_the_lines_that_change_and_the_run_makes_the_same(
    project: Path, init: Init
) -> None:
    write(project, BY_NAME["gemini"], '{\n  "theme": "dark"\n}\n')
    write(project, BY_NAME["codex"], 'model = "x"\n')
    before = files(project)
    planned = init("--client", "all", "--dry-run")
    assert files(project) == before
    done = init("--client", "all")
    assert planned["changes"] == done["changes"]
    diffs = {row["file"]: row["diff"] for row in done["changes"] if "diff" in row}
    assert diffs.keys() == {".gemini/settings.json", ".codex/config.toml"}
    assert '+[mcp_servers.devrag-map]\n+command = "' in diffs[".codex/config.toml"]
    removed = [line for line in diffs[".gemini/settings.json"].splitlines() if line.startswith("-")]
    assert removed == ["--- .gemini/settings.json", '-  "theme": "dark"']  # a comma was added


BROKEN = {
    "claude": "[]",
    "codex": "mcp_servers = 1\n",
    "cursor": '{"mcpServers": null}',
    "vscode": '{"servers": [',
    "gemini": "\ud83d",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_used_stops_all_before_anything_is_written(
    project: Path, init: Init, name: str
) -> None:
    write(project, BY_NAME[name], BROKEN[name].encode("utf-8", "surrogatepass"))
    before = files(project)
    error = init("--client", "all", code=2)
    assert BY_NAME[name].file in error["message"]
    assert "devrag-forest" in error["hint"]
    assert files(project) == before


def test_files_that_may_not_be_written_and_folders_in_their_place_stop_all(
    project: Path, init: Init
) -> None:
    file = write(project, BY_NAME["vscode"], '{"servers": {}}')
    file.chmod(0o444)
    assert "read-only" in init("--client", "all", code=2)["message"]
    file.chmod(0o644)
    (project / ".cursor").write_bytes(b"")
    assert "is not a folder" in init("--client", "all", code=2)["message"]
    (project / ".cursor").unlink()
    (project / ".mcp.json").mkdir()
    assert "is not a file" in init("--client", "all", code=2)["message"]
    assert files(project) == {".vscode/mcp.json": b'{"servers": {}}'}
    assert not (project / ".code-intel").exists()


def test_what_is_changed_is_kept_out_of_git_until_it_is_as_before(
    project: Path, init: Init
) -> None:
    git(project, "init", "-q")
    (project / ".code-intel").mkdir()
    (project / ".code-intel" / ".gitignore").write_text("*.db\n", encoding="utf-8")
    text = b'{"mcpServers": {"o": {"env": {"TOKEN": "t"}}}}'
    file = write(project, BY_NAME["claude"], text)
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


def test_entries_that_start_nothing_any_more_are_mended_where_they_are(
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
        found = entries(client, moved / client.file)
        assert list(found) == list(clients.SERVERS)
        assert "gone" not in str(found)
        assert {str(moved)} == {entry.get("cwd", str(moved)) for entry in found.values()}
    (moved / ".code-intel" / "agreements" / "kept.md").write_text("# mine\n", encoding="utf-8")
    init("--remove", root=moved)
    assert not any((moved / client.file).exists() for client in CLIENTS)


def test_a_link_is_kept_and_what_it_names_is_merged_and_given_back(
    project: Path, init: Init
) -> None:
    shared = project / "shared.json"
    shared.write_text('{"ui": 1}', encoding="utf-8")
    (project / ".gemini").mkdir()
    (project / ".gemini" / "settings.json").symlink_to(shared)
    init("--client", "gemini")
    assert "devrag-map" in shared.read_text("utf-8")
    init("--remove")
    assert shared.read_text("utf-8") == '{"ui": 1}'
    assert (project / ".gemini" / "settings.json").is_symlink()


def test_a_file_of_five_megabytes_is_merged_and_given_back(project: Path, init: Init) -> None:
    row = '    "k%d": {"a": ["x, }", 1, 2], "b": "// no comment' + " }" * 300 + '"}, // one\n'
    text = "{\n" + "".join(row % number for number in range(8_000)) + "}\n"
    assert len(text) > 5_000_000
    file = write(project, BY_NAME["gemini"], text)
    changes = init("--client", "gemini")["changes"]
    assert next(row for row in changes if row["action"] == "update")["diff"].startswith("(+")
    init("--remove")
    assert file.read_text("utf-8") == text


def test_clients_are_named_one_by_one_in_lists_or_all_at_once(project: Path, init: Init) -> None:
    error = init("--client", "claude,emacs", code=2)
    assert (error["error"], error["field"]) == ("invalid_argument", "client")
    assert "vscode" in error["hint"]
    assert files(project) == {}
    named = init("--client", "codex, cursor", "--client", "Gemini", "--dry-run")
    found = {row["file"] for row in named["changes"]} & {client.file for client in CLIENTS}
    assert found == {BY_NAME[name].file for name in ("codex", "cursor", "gemini")}
    assert len(named["notes"]) == 3


def test_a_path_that_a_client_would_expand_or_cannot_write_is_said(
    init: Init, tmp_path: Path
) -> None:
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
    write(broken, BY_NAME["gemini"], "{}")
    assert init("--client", "gemini", code=2, root=broken)["field"] == "project"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_no_name_of_a_tool_is_longer_than_a_client_takes(client: Client) -> None:
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
        json.dumps(entries(client, root / client.file)[server]).replace(
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


def test_each_entry_starts_its_server_from_anywhere_with_next_to_no_environment(
    init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", MINIMAL["PATH"])  # the programs of this installation are not on it
    root = tmp_path / 'it\'s "my" 日本 \\ project'
    elsewhere = tmp_path / "elsewhere"
    for folder in (root, elsewhere):
        folder.mkdir()
    init("--client", "all", root=root)
    for one, other in (("codex", "gemini"), ("cursor", "vscode")):  # hence one of each is tried
        assert entries(BY_NAME[one], root / BY_NAME[one].file) == entries(
            BY_NAME[other], root / BY_NAME[other].file
        )
    tried = [
        ("claude", "code-intel"),
        ("claude", "devrag-map"),
        ("codex", "code-intel"),
        ("codex", "devrag-forest"),
        ("cursor", "code-intel"),
        ("cursor", "devrag-map"),
    ]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda one: answered(BY_NAME[one[0]], root, one[1], elsewhere), tried)
        assert {answer["serverInfo"]["name"] for answer in found} == set(clients.SERVERS)
    assert list(elsewhere.iterdir()) == []


def test_two_projects_of_one_repository_are_set_up_each_by_itself(
    project: Path, init: Init
) -> None:
    git(project, "init", "-q")
    for name in ("one", "two"):
        (project / name).mkdir()
        init("--client", "claude,codex", root=project / name)
        assert len(init(root=project / name)["notes"]) == 1
    assert {path.name for path in project.iterdir()} == {".git", "one", "two"}
    for name in ("one", "two"):
        for database in ("vectors-forest.db", ".code-intel/vectors-map.db-wal"):
            assert git(project, "check-ignore", f"{name}/{database}")
    assert entries(BY_NAME["codex"], project / "two" / ".codex" / "config.toml")["devrag-map"][
        "cwd"
    ] == str(project / "two")


def test_a_part_of_a_project_that_is_set_up_is_told_to_be_one_of_its_own(
    project: Path, init: Init
) -> None:
    (project / "part").mkdir()
    init()
    (said,) = (note for note in init(root=project / "part")["notes"] if "set up too" in note)
    assert said.startswith(f"{project} is set up")


def test_a_folder_that_git_ignores_with_its_agreements_is_said(project: Path, init: Init) -> None:
    git(project, "init", "-q")
    (project / ".gitignore").write_text(".code-intel/\n", encoding="utf-8")
    assert any("Git ignores .code-intel" in note for note in init()["notes"])
    (project / ".gitignore").write_text("*.pyc\n", encoding="utf-8")
    assert not any("Git ignores" in note for note in init()["notes"])


def test_who_makes_the_state_folder_first_tells_git_to_leave_out_what_is_derived(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    monkeypatch.setenv("CODE_INTEL_CACHE_DIR", str(project.parent / "cache"))
    git(project, "init", "-q")
    (project / "a.py").write_text("def hello():\n    pass\n", encoding="utf-8")
    assert main(["sync", "--", str(project)]) == 0
    assert (
        main(
            [
                "map",
                "add",
                "挨拶",
                "hello",
                "--evidence",
                "it says hello",
                "--project",
                str(project),
            ]
        )
        == 0
    )
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


def test_every_client_has_a_format_a_file_and_a_section_of_the_documentation() -> None:
    assert {client.format for client in CLIENTS} == client_files.FORMATS.keys()
    assert len({client.file for client in CLIENTS}) == len(CLIENTS)
    page = (Path(__file__).parents[3] / "docs" / "clients.md").read_text("utf-8")
    for client in CLIENTS:
        assert f"## {client.name}\n\n- **File**: `{client.file}`" in page
    assert Path(sys.executable).parent == BIN


def test_a_file_that_changes_between_plan_and_run_is_left(project: Path) -> None:
    (project / ".mcp.json").write_bytes(b"{}")
    plan = setup(project)
    (project / ".mcp.json").write_bytes(b'{"theirs": 1}')
    with pytest.raises(BusyError, match="Another program changed"):
        apply(plan)
    assert (project / ".mcp.json").read_bytes() == b'{"theirs": 1}'


def test_a_dry_run_shows_people_the_lines(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".gitignore").write_bytes(b"*.pyc\n")
    assert main(["init", "--dry-run", "--", str(project)]) == 0
    shown = capsys.readouterr().out
    assert "    +vectors-forest.db*\n" in shown
    assert "would be in .code-intel/backup/<time>." in shown
    assert files(project) == {".gitignore": b"*.pyc\n"}


def test_a_project_of_an_earlier_version_is_pointed_to_the_migration(
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


def test_remove_leaves_alone_what_it_cannot_read_and_has_nothing_of_ours(
    project: Path, init: Init
) -> None:
    file = write(project, BY_NAME["vscode"], '{"servers": [')
    init()
    init("--remove")
    assert files(project) == {".vscode/mcp.json": b'{"servers": ['}
    file.write_bytes(b'{"servers": {"devrag-map": }')
    error = init("--remove", code=2)
    assert "was left as it is" in error["message"]
    assert "by hand" in error["hint"]


def test_a_config_named_by_its_absolute_path_is_found_in_the_layout_below_the_state_folder(
    project: Path,
) -> None:
    config = project / ".code-intel" / "devrag-map.json"
    config.parent.mkdir()
    config.write_text("{}", encoding="utf-8")
    assert locate_config(str(project / "devrag-map.json"), serving=True) == config
    (project / "devrag-map.json").write_text("{}", encoding="utf-8")
    found = locate_config(str(project / "devrag-map.json"), serving=True)
    assert found == project / "devrag-map.json"


def test_what_was_indexed_before_a_project_was_set_up_is_taken_back_as_well(
    project: Path, init: Init, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    (project / "a.py").write_bytes(b"def hello():\n    pass\n")
    for step in (lambda: None, init):
        step()
        assert main(["sync", "--", str(project)]) == 0
        capsys.readouterr()
    assert (project / "vectors-forest.db").exists()
    init("--remove")
    assert files(project) == {"a.py": b"def hello():\n    pass\n"}
    assert [path.name for path in project.iterdir()] == ["a.py"]
