"""`init` applies the plan that it prints; `init --remove` restores the project."""

import json
import shlex
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.setup import ignore_block, mcp_json
from projects import BIN, Project, file_tree

SERVERS = ("code-intel", "devrag-map", "devrag-forest")


def init(project: Project, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = project.call("code-intel", "init", *arguments, "--json", check=False)
    assert done.returncode == code, done.stderr
    return dict(json.loads(done.stdout))


def test_a_dry_run_prints_the_changes_of_the_run_and_makes_none(bare: Project) -> None:
    for arguments in ((), (), ("--remove",), ("--remove",)):
        before = file_tree(bare.root)
        planned = init(bare, "--dry-run", *arguments)
        assert file_tree(bare.root) == before
        done = init(bare, *arguments)
        assert planned["changes"] == done["changes"]
        assert planned["notes"] == done["notes"]
        for row in done["changes"]:
            was, now = before.get(row["file"]), file_tree(bare.root).get(row["file"])
            action = {"create": (None, now), "keep": (was, was), "remove": (was, None)}
            assert (was, now) == action.get(row["action"], (was, now))


SPACES = st.lists(
    st.sampled_from(["\n", " ", "\r\n", "// x ,} \n", "/* y { */", "\t"]), max_size=2
).map("".join)


@st.composite
def json_with_comments(draw: st.DrawFn, depth: int = 0) -> str:
    """An object with comments, line ends and trailing commas wherever they may be."""
    text = "{" + draw(SPACES)
    for number in range(count := draw(st.integers(0, 2))):
        value = draw(json_with_comments(depth + 1) if depth < 2 else st.just('"v // }"'))
        name = "mcpServers" if number == depth == 0 else f"k{number}"
        text += f'"{name}"{draw(SPACES)}:{draw(SPACES)}{value}{draw(SPACES)}'
        text += "," * (number < count - 1 or draw(st.booleans())) + draw(SPACES)
    return text + "}" + draw(SPACES)


ENTRIES = st.dictionaries(
    st.text(min_size=3, max_size=8), st.dictionaries(st.text(max_size=3), st.text()), max_size=4
)


@given(json_with_comments(), ENTRIES)
def test_merged_entries_are_read_and_removing_them_restores_the_text(
    text: str, entries: dict[str, Any]
) -> None:
    before = mcp_json.read(text, "mcpServers")
    assert isinstance(before, dict)
    merged = mcp_json.merged(text, "mcpServers", entries)
    after = mcp_json.read(merged, "mcpServers")
    assert after == before | entries
    assert list(after) == [*before, *entries]
    assert not entries or mcp_json.removed(merged, "mcpServers", list(entries)) == text


@pytest.mark.parametrize("last", ["", ","])
@pytest.mark.parametrize("comment", ["// one }", "/* one } */"])
@pytest.mark.parametrize("end", ["}}", "\n}}", " // two\n}}"])
def test_removing_a_moved_entry_keeps_the_comment_beside_it(
    comment: str, last: str, end: str
) -> None:
    text = f'{{"mcpServers": {{"one": {{}}, {comment}\n "ours": {{}}{last}{end}'
    left = mcp_json.removed(text, "mcpServers", ["ours"])
    assert mcp_json.read(left, "mcpServers") == {"one": {}}
    assert comment in left


def test_an_edited_entry_is_kept(bare: Project) -> None:
    edited = {
        "mcpServers": {"code-intel": {"command": "mine", "args": ["serve"], "env": {"A": "1"}}}
    }
    (bare.root / ".mcp.json").write_text(json.dumps(edited), encoding="utf-8")
    init(bare)
    servers = json.loads((bare.root / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert list(servers) == list(SERVERS)
    assert servers["code-intel"] == edited["mcpServers"]["code-intel"]
    init(bare, "--remove")
    assert json.loads((bare.root / ".mcp.json").read_text("utf-8")) == edited


def test_an_invalid_config_is_refused_before_any_write(bare: Project) -> None:
    (bare.root / "devrag-map.json").write_text("{", encoding="utf-8")
    assert "devrag-map.json" in init(bare, code=2)["message"]
    assert list(file_tree(bare.root)) == ["devrag-map.json"]


def test_programs_outside_the_path_get_absolute_entries_that_remove_finds(
    bare: Project,
) -> None:
    elsewhere = Project(bare.root, {**bare.env, "PATH": "/usr/bin:/bin"})
    init(elsewhere)
    servers = json.loads((bare.root / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert all(Path(entry["command"]).is_absolute() for entry in servers.values())
    init(bare, "--remove")
    assert list(bare.root.rglob("*")) == []


def test_init_notes_that_a_shared_entry_needs_its_program_on_the_path(bare: Project) -> None:
    assert not [note for note in init(bare)["notes"] if "PATH" in note]
    elsewhere = Project(bare.root, {**bare.env, "PATH": "/usr/bin:/bin"})
    before = file_tree(bare.root)
    done = init(elsewhere)
    assert file_tree(bare.root) == before  # the file is shared
    (note,) = [note for note in done["notes"] if "PATH" in note]
    assert str(BIN) in note
    assert not [note for note in done["notes"] if "earlier" in note]


def test_remove_keeps_and_names_agreements_and_edited_configs(shop: Project) -> None:
    shop.git("rm", "-rq", "--cached", ".")
    assert not init(shop, "--remove", "--dry-run")["notes"]
    shop.call("code-intel", "map", "add", "送料", "shipping_fee", "--evidence", "returns it")
    config = shop.root / "devrag-map.json"
    config.write_text(config.read_text("utf-8").replace("300", "400"), encoding="utf-8")
    planned = init(shop, "--remove", "--dry-run")["notes"]
    assert planned == ["Kept in .code-intel, for you to delete or keep: agreements."]
    assert init(shop, "--remove")["notes"] == planned
    left = file_tree(shop.root)
    assert "devrag-map.json" in left
    assert "devrag-forest.json" not in left
    assert ".mcp.json" not in left
    assert any(name.startswith(".code-intel/agreements/") for name in left)
    assert "code-intel" not in (shop.root / ".gitignore").read_text("utf-8")
    assert {".code-intel/state.db", ".code-intel/.gitignore"} <= left.keys()
    assert ".code-intel/vectors-map.db" not in left


def test_remove_deletes_locks_and_keeps_pairs(bare: Project) -> None:
    pairs = bare.root / ".code-intel" / "learned_pairs.json"
    pairs.parent.mkdir()
    pair = {"nl_term": "a", "symbol": "b", "similarity": 1, "session_id": "", "learned_at": ""}
    pairs.write_text(json.dumps({"version": 1, "pairs": [pair]}), encoding="utf-8")
    before = file_tree(bare.root)
    for name in ("learned.lock", "learned_pairs.json.lock", ".agreements.lock"):
        pairs.with_name(name).touch()
    init(bare, "--remove")
    assert file_tree(bare.root) == before


def test_a_gitignore_in_the_state_folder_is_extended_and_restored(bare: Project) -> None:
    hides = bare.root / ".code-intel" / ".gitignore"
    hides.parent.mkdir()
    hides.write_bytes(b"# theirs\n*.db\n!logs/\n")
    before = file_tree(bare.root)
    init(bare)
    bare.git("init", "-q")
    for name, ignored in (("state.db", True), (".x.lock", True), ("trash/a.md", True),
                          ("agreements/a.md", False), ("logs/a", False)):  # fmt: skip
        code = 0 if ignored else 1
        path = str(hides.parent / name)
        done = subprocess.run(
            ["git", "check-ignore", "-q", path], cwd=bare.root, env=dict(bare.env), check=False
        )
        assert done.returncode == code, name
    assert {row["action"] for row in init(bare)["changes"]} == {"keep"}
    init(bare, "--remove")
    assert file_tree(bare.root) == before


def test_remove_keeps_files_that_git_tracks(shop: Project) -> None:
    before = file_tree(shop.root)
    rows = {row["file"]: row for row in init(shop, "--remove")["changes"]}
    for name in ("devrag-map.json", "devrag-forest.json", ".mcp.json", ".gitignore"):
        assert (rows[name]["action"], rows[name]["why"]) == ("keep", "tracked by git")
        assert file_tree(shop.root)[name] == before[name]
    assert "vectors-forest.db" not in file_tree(shop.root)


def test_remove_says_how_to_remove_files_that_git_tracks(shop: Project) -> None:
    (note,) = init(shop, "--remove")["notes"]
    command = note.partition("`")[2].partition("`")[0]
    shop.git(*shlex.split(command)[1:])
    assert init(shop, "--remove")["notes"] == []
    left = file_tree(shop.root)
    assert not {"devrag-map.json", "devrag-forest.json", ".mcp.json"} & left.keys()
    assert "code-intel" not in left[".gitignore"].decode()


def test_remove_restores_a_tracked_gitignore_whose_block_was_not_committed(bare: Project) -> None:
    (bare.root / ".gitignore").write_text("*.pyc\n", encoding="utf-8")
    bare.git("init", "-q")
    bare.git("add", "-A")
    bare.git("commit", "-qm", "Before")
    before = file_tree(bare.root)
    init(bare)
    init(bare, "--remove")
    assert file_tree(bare.root) == before


def test_remove_restores_a_project_that_was_indexed_before_and_after_init(bare: Project) -> None:
    (bare.root / "a.py").write_text("def hello():\n    pass\n", encoding="utf-8")
    before = file_tree(bare.root)
    bare.call("code-intel", "sync")
    init(bare)
    bare.call("code-intel", "sync")
    bare.call("code-intel", "search", "hello")
    assert (bare.root / ".code-intel" / "state.db").exists()
    init(bare, "--remove")
    assert file_tree(bare.root) == before


def test_remove_deletes_databases_and_keeps_files_with_similar_names(bare: Project) -> None:
    for config in ("devrag-map.json", "devrag-forest.json"):
        name = {"db_path": f"./{config[7:10]}.db", "document_patterns": ["*.py"]}
        (bare.root / config).write_text(json.dumps(name), encoding="utf-8")
    mine = {"map.db.devrag-bak": b"1", "map.dbnotes.md": b"2", "for.db-old": b"3"}
    for file, data in mine.items():
        (bare.root / file).write_bytes(data)
    before = file_tree(bare.root)
    init(bare)
    bare.call("code-intel", "sync")
    assert (bare.root / "for.db").exists()
    init(bare, "--remove")
    assert file_tree(bare.root) == before


def test_remove_keeps_a_database_of_another_program(bare: Project) -> None:
    init(bare)
    with sqlite3.connect(bare.root / "vectors-forest.db") as other:
        other.execute("CREATE TABLE documents(id)")
    other.close()
    init(bare, "--remove")
    assert list(file_tree(bare.root)) == ["vectors-forest.db"]


def test_databases_anywhere_in_the_project_are_ignored_by_git(bare: Project) -> None:
    (bare.root / "devrag-forest.json").write_text(
        '{"db_path": "./data/my [x].db"}', encoding="utf-8"
    )
    (bare.root / "devrag-map.json").write_text('{"db_path": "../map.db"}', encoding="utf-8")
    bare.git("init", "-q")
    init(bare)
    bare.call("code-intel", "sync")
    assert (bare.root / "data" / "my [x].db").exists()
    listed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"],
        cwd=bare.root, capture_output=True, text=True, encoding="utf-8", check=True,
    ).stdout  # fmt: skip
    assert ".db" not in listed


@pytest.mark.parametrize("ignore", [b"", b"a\r\nb", b"\xff\n"])
def test_init_adds_its_gitignore_block_once_and_remove_restores_it(
    bare: Project, ignore: bytes
) -> None:
    file = bare.root / ".gitignore"
    file.write_bytes(ignore)
    init(bare)
    init(bare)
    assert file.read_bytes().startswith(ignore)
    assert file.read_bytes().count(b"vectors-forest.db") == 1
    init(bare, "--remove")
    assert file.read_bytes() == ignore


@given(st.none() | st.binary(max_size=20), st.lists(st.sampled_from(["a.db*", "b/c.db*"])))
def test_removing_a_merged_block_restores_every_byte(
    before: bytes | None, lines: list[str]
) -> None:
    merged = ignore_block.merged(before, lines)
    assert ignore_block.merged(merged, lines) == merged
    assert merged is None or ignore_block.removed(merged) == before


def test_links_within_the_project_stay_links_and_their_targets_are_restored(
    bare: Project,
) -> None:
    shared = bare.root / "shared"
    shared.mkdir()
    for name, text in ((".gitignore", "*.pyc"), (".mcp.json", '{"a": 1}')):
        (shared / name).write_text(text, encoding="utf-8")
        (bare.root / name).symlink_to(shared / name)
    init(bare)
    assert "code-intel" in (shared / ".gitignore").read_text("utf-8")
    assert "code-intel" in (shared / ".mcp.json").read_text("utf-8")
    init(bare, "--remove")
    assert (bare.root / ".gitignore").is_symlink()
    assert (bare.root / ".mcp.json").is_symlink()
    assert (shared / ".gitignore").read_text("utf-8") == "*.pyc"
    assert (shared / ".mcp.json").read_text("utf-8") == '{"a": 1}'


@pytest.mark.parametrize("name", [".gitignore", ".mcp.json", ".codex", ".code-intel", "in git"])
def test_init_refuses_a_link_that_leads_out_of_the_project(
    bare: Project, tmp_path: Path, name: str
) -> None:
    """A cloned repository may contain a link such as `.gitignore -> ../.bashrc`."""
    home = tmp_path / "home" if name != "in git" else bare.root / ".git"
    home.mkdir(exist_ok=True)
    aim = home / "startup" if name in {".gitignore", ".mcp.json", "in git"} else home
    if aim != home:
        aim.write_bytes(b"{}")
    (bare.root / name.replace("in git", ".mcp.json")).symlink_to(aim)
    before = file_tree(home)
    for options in (["--dry-run"], []):
        clients = ("--client", "codex", "--client", "claude")
        done = bare.call("code-intel", "init", *clients, *options, check=False)
        assert done.returncode == 2
        assert "leads out of the project" in done.stderr
    assert file_tree(home) == before
    assert not (bare.root / "devrag-map.json").exists()


@pytest.mark.parametrize("name", ["quo'te\"s $HOME 日本語", "-dash\nb"])
def test_a_project_may_have_any_name(tmp_path: Path, env: dict[str, str], name: str) -> None:
    root = tmp_path / "in" / name
    root.mkdir(parents=True)
    (root / "a.py").write_text("def hello():\n    pass\n", encoding="utf-8")
    project = Project(root, env)
    project.call("code-intel", "init")
    project.call("code-intel", "sync")
    found = json.loads(project.call("code-intel", "search", "hello", "--json").stdout)
    assert found["results"][0]["document"] == "a.py"
    outside = Project(tmp_path, env)
    assert outside.call("code-intel", "status", "--", str(root)).returncode == 0
    config = str(root / "devrag-forest.json")
    answer = json.loads(outside.call("devrag", f"--config={config}", "search", "hello").stdout)
    assert answer["data"]["results"][0]["document"] == "a.py"


@pytest.mark.parametrize(
    "project", ["/", "~", "~/", "{home}", "{home}/x/..", "{home}/link", "//", "/usr/.."]
)
def test_the_root_and_the_home_folder_are_refused(bare: Project, project: str) -> None:
    home = Path(bare.env["HOME"])
    (home / "x").mkdir()
    (home / "link").symlink_to(home)
    error = init(bare, project.format(home=home), code=2)
    assert (error["error"], error["field"]) == ("invalid_argument", "project")
    assert sorted(path.name for path in home.rglob("*")) == ["link", "x"]


def test_a_file_or_a_missing_folder_is_refused(bare: Project) -> None:
    (bare.root / "file").write_text("x", encoding="utf-8")
    for name in ("file", "missing", "file/x"):
        assert init(bare, name, code=2)["field"] == "project"
    assert list(file_tree(bare.root)) == ["file"]
