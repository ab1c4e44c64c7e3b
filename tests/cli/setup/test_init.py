"""`init`: a plan that is applied as printed, merged into what people wrote, and taken back."""

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.cli.setup import ignore_block, mcp_json
from projects import BIN, Project

SERVERS = ("code-intel", "devrag-map", "devrag-forest")
HAND_WRITTEN = """{
    "$schema": "x", "mcpServers": {
        "zeta": {"command": "z", "args": ["a",  "b"]},
        "alpha": { "url": "http://localhost/ü" , "n": 1.50e3 }
    },
    "other": [1,2 ,3]
}"""


def tree(root: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
        if ".git/" not in path.as_posix()
    }


def init(project: Project, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = project.call("code-intel", "init", *arguments, "--json", check=False)
    assert done.returncode == code, done.stderr
    return dict(json.loads(done.stdout))


def test_a_dry_run_prints_what_the_run_does_and_does_nothing(bare: Project) -> None:
    for arguments in ((), (), ("--remove",), ("--remove",)):
        before = tree(bare.root)
        planned = init(bare, "--dry-run", *arguments)
        assert tree(bare.root) == before
        done = init(bare, *arguments)
        assert planned["changes"] == done["changes"]
        assert planned["notes"] == done["notes"]
        for row in done["changes"]:
            was, now = before.get(row["file"]), tree(bare.root).get(row["file"])
            action = {"create": (None, now), "keep": (was, was), "remove": (was, None)}
            assert (was, now) == action.get(row["action"], (was, now))


def test_the_second_run_leaves_every_byte_and_time(shop: Project) -> None:
    before = tree(shop.root)
    times = {path: path.stat().st_mtime_ns for path in shop.root.rglob("*") if path.is_file()}
    assert {row["action"] for row in init(shop)["changes"]} == {"keep"}
    assert tree(shop.root) == before
    assert times == {path: path.stat().st_mtime_ns for path in times}


def test_what_init_made_in_an_empty_folder_is_gone_after_remove(bare: Project) -> None:
    init(bare)
    assert (bare.root / ".code-intel" / "agreements").is_dir()
    init(bare, "--remove")
    assert tree(bare.root) == {}


@pytest.mark.parametrize(
    "before",
    [
        HAND_WRITTEN,
        HAND_WRITTEN.replace("\n", "\r\n"),
        "\ufeff" + HAND_WRITTEN,
        '{"mcpServers":{"one":{"command":"x"}}}',
        '{"a": 1}\n',
        "{}",
        "{}\n",
        " { }\n",
        "{\n}",
        '{"mcpServers": {}}',
        '{"mcpServers": {\n  }, "a": 1}\n',
        "",
        "\n",
        '{\n\t"mcpServers": {\n\t\t"one": {}\n\t}\n}\n',
    ],
)
def test_what_people_wrote_into_mcp_json_stays_to_the_byte(bare: Project, before: str) -> None:
    file = bare.root / ".mcp.json"
    file.write_bytes(before.encode())
    init(bare)
    after = file.read_bytes().decode()
    old, new = json.loads(before.lstrip("\ufeff\n") or "{}"), json.loads(after.lstrip("\ufeff"))
    foreign = list(old.get("mcpServers", {}))
    assert list(new["mcpServers"]) == [*foreign, *SERVERS]
    assert [key for key in new if key != "mcpServers"] == [
        key for key in old if key != "mcpServers"
    ]
    for name in foreign:
        assert new["mcpServers"][name] == old["mcpServers"][name]
    for line in before.splitlines():
        assert line.strip().rstrip("}, ") in after
    init(bare, "--remove")
    assert file.read_bytes().decode() == before


COMMENTED = """\
// { "mcpServers": {} } is what it was
{
  /* "mcpServers": { "two": {} }, */
  "mcpServers": {
    "one": {"command": "sh", "args": ["-c", "echo // no comment, }"]}, // { the first
    /* and the last */
  },
}
// the end }
"""


@pytest.mark.parametrize(
    "before",
    [
        COMMENTED,
        COMMENTED.replace("\n", "\r\n"),
        '// mine\n{"mcpServers": {}}',
        '{"mcpServers": {"one": {}, }, } ',
        "{ // nothing yet\n}\n",
        '{"a": [1, 2, ], /* { */ "b": "\\"//", }',
        (
            '{\n  "mcpServers": {\n    "a": {}, // of a\n    "b": {} /* of b */ , // of b, too\n'
            "  }\n}\n"
        ),
        '{\n  "mcpServers": {\n    "a": {}, // of a\n    "b": {} // of b\n    // the end\n  }\n}\n',
    ],
)
def test_comments_and_last_commas_in_mcp_json_stay_to_the_byte(bare: Project, before: str) -> None:
    file = bare.root / ".mcp.json"
    file.write_bytes(before.encode())
    init(bare)
    after = file.read_bytes().decode()
    old, new = (json.loads(mcp_json.plain(text)) for text in (before, after))
    foreign = old.get("mcpServers", {})
    assert new == old | {
        "mcpServers": foreign | {name: new["mcpServers"][name] for name in SERVERS}
    }
    kept = iter(after)
    assert all(character in kept for character in before)  # in this order
    assert all(line.count('"b"') for line in after.splitlines() if "// of b" in line)
    init(bare)
    assert file.read_bytes().decode() == after
    init(bare, "--remove")
    assert file.read_bytes().decode() == before


BETWEEN = st.lists(
    st.sampled_from(["\n", " ", "\r\n", "// x ,} \n", "/* y { */", "\t"]), max_size=2
).map("".join)


@st.composite
def commented(draw: st.DrawFn, depth: int = 0) -> str:
    """An object with comments, line ends and last commas wherever they may be."""
    text = "{" + draw(BETWEEN)
    for number in range(count := draw(st.integers(0, 2))):
        value = draw(commented(depth + 1) if depth < 2 else st.just('"v // }"'))
        name = "mcpServers" if number == depth == 0 else f"k{number}"
        text += f'"{name}"{draw(BETWEEN)}:{draw(BETWEEN)}{value}{draw(BETWEEN)}'
        text += "," * (number < count - 1 or draw(st.booleans())) + draw(BETWEEN)
    return text + "}" + draw(BETWEEN)


@given(commented())
def test_what_is_merged_is_there_and_is_taken_back_to_the_byte(text: str) -> None:
    ours: dict[str, dict[str, Any]] = {
        "code-intel": {"command": "c", "args": ["a"]},
        "devrag-map": {"command": "d"},
    }
    before = mcp_json.read(text, "mcpServers")
    assert isinstance(before, dict)
    merged = mcp_json.merged(text, "mcpServers", ours)
    assert mcp_json.read(merged, "mcpServers") == before | ours
    assert mcp_json.without(merged, "mcpServers", list(ours)) == text


@pytest.mark.parametrize("last", ["", ","])
@pytest.mark.parametrize("comment", ["// one }", "/* one } */"])
@pytest.mark.parametrize("end", ["}}", "\n}}", " // two\n}}"])
def test_an_entry_that_people_moved_goes_without_what_stands_around_it(
    comment: str, last: str, end: str
) -> None:
    text = f'{{"mcpServers": {{"one": {{}}, {comment}\n "ours": {{}}{last}{end}'
    left = mcp_json.without(text, "mcpServers", ["ours"])
    assert mcp_json.read(left, "mcpServers") == {"one": {}}
    assert comment in left


def test_an_entry_of_ours_that_was_edited_is_kept(bare: Project) -> None:
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


@pytest.mark.parametrize(
    "before",
    [
        '{"mcpServers": {},, } ',
        '/* mine\n{"mcpServers": {}}',
        "[]",
        '{"mcpServers": []}',
        '"x"',
        "\xff",
        "[" * 10**5,
    ],
    ids=range(7),
)
def test_an_mcp_json_that_is_no_json_is_left_with_what_to_add(bare: Project, before: str) -> None:
    file = bare.root / ".mcp.json"
    file.write_bytes(before.encode("latin-1"))
    for arguments in ((), ("--dry-run",)):
        error = init(bare, *arguments, code=2)
        assert error["error"] == "invalid_config"
        for name in SERVERS:
            assert f'"{name}"' in error["hint"]
    assert tree(bare.root) == {".mcp.json": before.encode("latin-1")}


def test_a_config_that_cannot_be_used_is_refused_before_anything_is_written(bare: Project) -> None:
    (bare.root / "devrag-map.json").write_text("{", encoding="utf-8")
    assert "devrag-map.json" in init(bare, code=2)["message"]
    assert list(tree(bare.root)) == ["devrag-map.json"]


def test_servers_installed_elsewhere_are_named_absolutely_and_still_taken_back(
    bare: Project,
) -> None:
    elsewhere = Project(bare.root, {**bare.env, "PATH": "/usr/bin:/bin"})
    init(elsewhere)
    servers = json.loads((bare.root / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert all(Path(entry["command"]).is_absolute() for entry in servers.values())
    init(bare, "--remove")
    assert tree(bare.root) == {}


def test_programs_that_a_shared_file_calls_by_name_are_asked_for_on_the_path(bare: Project) -> None:
    assert not [note for note in init(bare)["notes"] if "PATH" in note]
    elsewhere = Project(bare.root, {**bare.env, "PATH": "/usr/bin:/bin"})
    before = tree(bare.root)
    done = init(elsewhere)
    assert tree(bare.root) == before  # it is the team's
    (note,) = [note for note in done["notes"] if "PATH" in note]
    assert str(BIN) in note
    assert not [note for note in done["notes"] if "earlier" in note]


def untracked(project: Project) -> Project:
    project.git("rm", "-rq", "--cached", ".")
    return project


def test_remove_keeps_agreements_and_what_was_edited(shop: Project) -> None:
    untracked(shop).call(
        "code-intel", "map", "add", "送料", "shipping_fee", "--evidence", "returns it"
    )
    (shop.root / "devrag-map.json").write_text(
        (shop.root / "devrag-map.json").read_text("utf-8").replace("300", "400"), encoding="utf-8"
    )
    init(shop, "--remove")
    left = tree(shop.root)
    assert "devrag-map.json" in left
    assert "devrag-forest.json" not in left
    assert ".mcp.json" not in left
    assert any(name.startswith(".code-intel/agreements/") for name in left)
    assert "code-intel" not in (shop.root / ".gitignore").read_text("utf-8")
    assert {".code-intel/state.db", ".code-intel/.gitignore"} <= left.keys()
    assert ".code-intel/vectors-map.db" not in left


def test_locks_that_nothing_hides_from_git_go_though_pairs_stay(bare: Project) -> None:
    pairs = bare.root / ".code-intel" / "learned_pairs.json"
    pairs.parent.mkdir()
    pair = {"nl_term": "a", "symbol": "b", "similarity": 1, "session_id": "", "learned_at": ""}
    pairs.write_text(json.dumps({"version": 1, "pairs": [pair]}), encoding="utf-8")
    before = tree(bare.root)
    for name in ("learned.lock", "learned_pairs.json.lock", ".agreements.lock"):
        pairs.with_name(name).touch()
    init(bare, "--remove")
    assert tree(bare.root) == before


def test_what_stays_is_named_before_and_after(shop: Project) -> None:
    assert not init(untracked(shop), "--remove", "--dry-run")["notes"]
    shop.call("code-intel", "map", "add", "送料", "shipping_fee", "--evidence", "returns it")
    planned = init(shop, "--remove", "--dry-run")["notes"]
    assert planned == ["Only you can delete these; they stay in .code-intel: agreements."]
    assert init(shop, "--remove")["notes"] == planned


def test_a_gitignore_in_the_state_folder_gets_our_lines_and_gives_them_back(bare: Project) -> None:
    hides = bare.root / ".code-intel" / ".gitignore"
    hides.parent.mkdir()
    hides.write_bytes(b"# theirs\n*.db\n!logs/\n")
    before = tree(bare.root)
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
    assert tree(bare.root) == before | {".git": None}


def test_what_git_tracks_stays_and_says_so(shop: Project) -> None:
    before = tree(shop.root)
    rows = {row["file"]: row for row in init(shop, "--remove")["changes"]}
    for name in ("devrag-map.json", "devrag-forest.json", ".mcp.json", ".gitignore"):
        assert (rows[name]["action"], rows[name]["why"]) == ("keep", "tracked by git")
        assert tree(shop.root)[name] == before[name]
    assert "vectors-forest.db" not in tree(shop.root)


def test_a_tracked_gitignore_gives_our_block_back_unless_it_was_committed(bare: Project) -> None:
    (bare.root / ".gitignore").write_text("*.pyc\n", encoding="utf-8")
    bare.git("init", "-q")
    bare.git("add", "-A")
    bare.git("commit", "-qm", "Before")
    before = tree(bare.root)
    init(bare)
    init(bare, "--remove")
    assert tree(bare.root) == before


def test_a_project_that_learned_nothing_is_as_it_was(bare: Project) -> None:
    (bare.root / "a.py").write_text("def hello():\n    pass\n", encoding="utf-8")
    before = tree(bare.root)
    init(bare)
    bare.call("code-intel", "sync")
    bare.call("code-intel", "search", "hello")
    assert (bare.root / ".code-intel" / "state.db").exists()
    init(bare, "--remove")
    assert tree(bare.root) == before


def test_remove_takes_the_database_and_nothing_that_is_called_alike(bare: Project) -> None:
    for config in ("devrag-map.json", "devrag-forest.json"):
        name = {"db_path": f"./{config[7:10]}.db", "document_patterns": ["*.py"]}
        (bare.root / config).write_text(json.dumps(name), encoding="utf-8")
    mine = {"map.db.devrag-bak": b"1", "map.dbnotes.md": b"2", "for.db-old": b"3"}
    for file, data in mine.items():
        (bare.root / file).write_bytes(data)
    before = tree(bare.root)
    init(bare)
    bare.call("code-intel", "sync")
    assert (bare.root / "for.db").exists()
    init(bare, "--remove")
    assert tree(bare.root) == before


def test_a_database_of_another_program_stays(bare: Project) -> None:
    init(bare)
    with sqlite3.connect(bare.root / "vectors-forest.db") as other:
        other.execute("CREATE TABLE documents(id)")
    other.close()
    init(bare, "--remove")
    assert list(tree(bare.root)) == ["vectors-forest.db"]


def test_databases_in_the_project_are_hidden_from_git_wherever_they_are(bare: Project) -> None:
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


IGNORES = [b"", b"*.pyc\n", b"*.pyc", b"a\r\nb\r\n", b"a\r\nb", b"\xff\n", b"\n"]


@pytest.mark.parametrize("ignore", IGNORES)
def test_our_block_in_gitignore_comes_once_and_goes(bare: Project, ignore: bytes) -> None:
    file = bare.root / ".gitignore"
    file.write_bytes(ignore)
    init(bare)
    init(bare)
    assert file.read_bytes().startswith(ignore)
    assert file.read_bytes().count(b"vectors-forest.db") == 1
    init(bare, "--remove")
    assert file.read_bytes() == ignore


@given(st.none() | st.binary(max_size=20), st.lists(st.sampled_from(["a.db*", "b/c.db*"])))
def test_a_block_put_in_and_taken_out_leaves_every_byte(
    before: bytes | None, lines: list[str]
) -> None:
    merged = ignore_block.merged(before, lines)
    assert ignore_block.merged(merged, lines) == merged
    assert merged is None or ignore_block.without(merged) == before


def test_links_within_the_project_stay_links_and_what_they_name_is_written_and_given_back(
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
def test_nothing_is_written_through_a_link_that_leads_out_of_the_project(
    bare: Project, tmp_path: Path, name: str
) -> None:
    """A cloned repository may contain a link such as `.gitignore -> ../.bashrc`."""
    home = tmp_path / "home" if name != "in git" else bare.root / ".git"
    home.mkdir(exist_ok=True)
    aim = home / "startup" if name in {".gitignore", ".mcp.json", "in git"} else home
    if aim != home:
        aim.write_bytes(b"{}")
    (bare.root / name.replace("in git", ".mcp.json")).symlink_to(aim)
    before = {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}
    for options in (["--dry-run"], []):
        clients = ("--client", "codex", "--client", "claude")
        done = bare.call("code-intel", "init", *clients, *options, check=False)
        assert done.returncode == 2
        assert "leads out of the project" in done.stderr
    assert {file: file.read_bytes() for file in home.rglob("*") if file.is_file()} == before
    assert not (bare.root / "devrag-map.json").exists(), "all is planned before anything is written"


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
def test_the_root_and_the_home_folder_are_no_projects(bare: Project, project: str) -> None:
    home = Path(bare.env["HOME"])
    (home / "x").mkdir()
    (home / "link").symlink_to(home)
    error = init(bare, project.format(home=home), code=2)
    assert (error["error"], error["field"]) == ("invalid_argument", "project")
    assert tree(home) == {"x": None, "link": None}


def test_a_file_or_nothing_is_no_project(bare: Project) -> None:
    (bare.root / "file").write_text("x", encoding="utf-8")
    for name in ("file", "missing", "file/x"):
        assert init(bare, name, code=2)["field"] == "project"
    assert list(tree(bare.root)) == ["file"]


ENTRIES = st.dictionaries(
    st.text(max_size=8), st.dictionaries(st.text(max_size=3), st.text()), max_size=4
)
DOCUMENTS = st.builds(
    lambda before, servers, after: {**before, **servers, **after},
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(), max_size=3),
    st.just({}) | st.builds(lambda entries: {"mcpServers": entries}, ENTRIES),
    st.dictionaries(st.text(max_size=5), st.lists(st.text(max_size=3)), max_size=2),
).filter(lambda document: isinstance(document.get("mcpServers", {}), dict))
STYLES = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(DOCUMENTS, ENTRIES, STYLES, st.sampled_from(["", "\n"]))
def test_entries_put_in_are_there_and_taken_out_are_gone(
    document: dict[str, Any], added: dict[str, Any], style: int | None, end: str
) -> None:
    text = json.dumps(document, indent=style, ensure_ascii=bool(end)) + end
    old = document.get("mcpServers", {})
    new = {name: entry for name, entry in added.items() if name not in old}
    merged = mcp_json.merged(text, "mcpServers", new)
    assert json.loads(merged) == {**document, "mcpServers": old | new}
    assert list(json.loads(merged)["mcpServers"]) == [*old, *new]
    again = mcp_json.without(merged, "mcpServers", list(new))
    if new:
        assert again == text
    assert json.loads(again).get("mcpServers", {}) == old
