import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_intel.config import IndexConfig
from code_intel.errors import StorageError, UsageError
from code_intel.index import walk
from code_intel.index.ignore import walk_folder
from code_intel.records import Corpus
from index.samples import index_config
from programs import git


def config(folder: Path, *patterns: str, corpus: Corpus = "forest") -> IndexConfig:
    return index_config(folder, *patterns, corpus=corpus, db_path=folder / "vectors-forest.db")


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}\n", encoding="utf-8")


def listed(root: Path) -> list[str]:
    """Return the existing files that git lists."""
    output = git(root, "ls-files", "-co", "--exclude-standard", "-z")
    return sorted({name for name in output.split("\0") if name and (root / name).is_file()})


def names(config: IndexConfig) -> list[str]:
    return sorted(walk.scan(config).files)


PATTERNS = {
    ".": "a.md docs/a.md docs/api/b.md docs/api/c.py docs/deep/api/d.md src/b.py",
    "docs": "docs/a.md docs/api/b.md docs/api/c.py docs/deep/api/d.md",
    "./docs/": "docs/a.md docs/api/b.md docs/api/c.py docs/deep/api/d.md",
    "docs/**": "docs/a.md docs/api/b.md docs/api/c.py docs/deep/api/d.md",
    "docs/**/": "docs/a.md docs/api/b.md docs/api/c.py docs/deep/api/d.md",
    "docs/**/*.md": "docs/a.md docs/api/b.md docs/deep/api/d.md",
    "docs/*.md": "docs/a.md",
    "docs/*": "docs/a.md docs/api/b.md docs/api/c.py docs/deep/api/d.md",
    "docs/**/?.md": "docs/a.md docs/api/b.md docs/deep/api/d.md",
    "docs/**/api/*.md": "docs/api/b.md docs/deep/api/d.md",
    "d*/api/*.md": "docs/api/b.md",
    "**/*.md": "a.md docs/a.md docs/api/b.md docs/deep/api/d.md",
    "**/*.py": "docs/api/c.py src/b.py",
    "src/[a-c].py": "src/b.py",
    "a.md": "a.md",
}


@pytest.fixture(scope="module", params=["plain", "repository"])
def pattern_tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("patterns")
    write(root, *PATTERNS["."].split())
    if request.param == "repository":
        git(root, "init", "-q")
    return root


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_folders_files_and_globs(pattern_tree: Path, pattern: str) -> None:
    assert names(config(pattern_tree, pattern)) == PATTERNS[pattern].split()


def test_files_outside_the_folder_of_the_config_have_absolute_names(tmp_path: Path) -> None:
    write(tmp_path, "lib/a.py", "project/b.py", "abs/c.py")
    found = names(config(tmp_path / "project", ".", "../lib", str(tmp_path / "abs")))
    assert found == sorted(["b.py", f"{tmp_path}/lib/a.py", f"{tmp_path}/abs/c.py"])


def test_a_missing_folder_gives_a_warning_and_is_not_created(tmp_path: Path) -> None:
    scan = walk.scan(config(tmp_path, "docs"))
    assert scan.warnings == ["document_patterns: docs does not exist."]
    assert not (tmp_path / "docs").exists()


def test_the_map_takes_markdown_even_if_git_ignores_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, ".code-intel/agreements/a.md", ".code-intel/agreements/b.txt", "c.md")
    (tmp_path / ".gitignore").write_text(".code-intel/\n", encoding="utf-8")
    assert names(config(tmp_path, ".code-intel/agreements", corpus="map")) == [
        ".code-intel/agreements/a.md"
    ]


def test_the_forest_excludes_the_files_of_code_intel(tmp_path: Path) -> None:
    write(
        tmp_path, ".code-intel/agreements/a.md", "vectors-forest.db-wal", "vectors-map.db", "b.py"
    )
    scan = walk.scan(config(tmp_path))
    assert list(scan.files) == ["b.py"]
    assert scan.skipped == {}


def test_skipped_files_have_a_reason(tmp_path: Path) -> None:
    write(tmp_path, ".env", ".env.example", "keys/id_rsa", "server.pem", "a.min.js", "ok.py")
    with (tmp_path / "big.py").open("wb") as big:
        big.truncate((1 << 20) + 1)
    os.mkfifo(tmp_path / "pipe")
    scan = walk.scan(config(tmp_path))
    assert sorted(scan.files) == [".env.example", "ok.py"]
    assert scan.skipped == {
        ".env": "may hold secrets",
        "keys/id_rsa": "may hold secrets",
        "server.pem": "may hold secrets",
        "a.min.js": "generated",
        "big.py": "larger than 1 MiB",
        "pipe": "not a regular file",
    }


@pytest.mark.parametrize("repository", [True, False])
def test_links_that_lead_out_are_named(tmp_path: Path, *, repository: bool) -> None:
    write(tmp_path, "secret.txt", "project/a.py", "project/sub/b.py")
    project = tmp_path / "project"
    if repository:
        git(project, "init", "-q")
    (project / "escape.txt").symlink_to(tmp_path / "secret.txt")
    (project / "up").symlink_to(tmp_path)
    (project / "loop").symlink_to(project)
    (project / "inside.py").symlink_to(project / "a.py")
    (project / "broken").symlink_to(project / "nowhere")
    scan = walk.scan(config(project))
    assert sorted(scan.files) == ["a.py", "sub/b.py"]
    assert scan.skipped == {
        "escape.txt": "a link that leads out of the folder",
        "up": "a link that leads out of the folder",
    }


def test_a_tracked_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "outside/a.py", "project/sub/a.py")
    project = tmp_path / "project"
    git(project, "init", "-q")
    git(project, "add", ".")
    (project / "sub" / "a.py").unlink()
    (project / "sub").rmdir()
    (project / "sub").symlink_to(tmp_path / "outside")
    scan = walk.scan(config(project))
    assert scan.files == {}
    assert "sub/a.py" in scan.skipped


def test_unusual_names_are_found_and_undecodable_ones_skipped(tmp_path: Path) -> None:
    strange = [
        "-rf.py",
        "a b.py",
        "new\nline.py",
        "tab\t.py",
        'quo"te.py',
        "認証.py",
        "🙂.py",
        "#x.py",
    ]
    write(tmp_path, *strange)
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.py"))).write_text("x", encoding="utf-8")
    for repository in (False, True):
        if repository:
            git(tmp_path, "init", "-q")
        scan = walk.scan(config(tmp_path))
        assert sorted(scan.files) == sorted(strange)
        assert scan.skipped == {"bad\\udcff.py": "name is not valid UTF-8"}
        globbed = walk.scan(config(tmp_path, "**/*.py"))
        assert (globbed.files, globbed.skipped) == (scan.files, scan.skipped)


def test_an_invalid_ignore_pattern_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b.log")
    (tmp_path / ".gitignore").write_text("!\n[9-0]\n*.log\n", encoding="utf-8")
    assert names(config(tmp_path)) == [".gitignore", "a.py"]
    git(tmp_path, "init", "-q")
    assert names(config(tmp_path)) == [".gitignore", "a.py"]


def test_a_pattern_with_many_stars_takes_no_longer(tmp_path: Path) -> None:
    """`re` would need more steps than there are atoms."""
    long = "a" * 200
    write(tmp_path, f"{long}/x.py", f"{long}b/x.py", "日本語/x.py", "日本語b/x.py")
    lines = (
        "*a" * 20 + "b",
        "***********/******s",
        "日*本*語*b",
        b"*\xff*\xfe*a*b*".decode("latin-1"),
    )
    (tmp_path / ".gitignore").write_text("\n".join(lines), encoding="utf-8")
    kept = sorted((".gitignore", f"{long}/x.py", "日本語/x.py"))
    assert sorted(walk_folder(tmp_path, rules=True)) == kept


def test_an_ignored_folder_named_by_a_pattern_is_walked(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, "generated/a.py")
    (tmp_path / ".gitignore").write_text("generated/\n", encoding="utf-8")
    assert names(config(tmp_path, "generated")) == ["generated/a.py"]


@pytest.mark.parametrize("path", ["../other.py", "/etc/passwd", "link/x.py"])
def test_a_named_file_outside_the_patterns_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(UsageError) as refused:
        walk.locate(config(tmp_path), path)
    assert refused.value.error == "path_outside_root"
    assert refused.value.message.startswith("path not within any configured document directory: ")


def test_a_named_file_may_be_given_relative_or_absolute(tmp_path: Path) -> None:
    write(tmp_path, "src/a.py")
    assert walk.locate(config(tmp_path, "src"), "src/a.py")[0] == "src/a.py"
    assert walk.locate(config(tmp_path, "src"), tmp_path / "src" / "a.py")[0] == "src/a.py"


def test_a_file_that_does_not_match_the_glob_is_not_covered(tmp_path: Path) -> None:
    place = config(tmp_path, "src/*.ts")
    real = walk.locate(place, "src/a.py")[1]
    assert not walk.is_covered(place, real)
    assert walk.is_covered(place, walk.locate(place, "src/a.ts")[1])


@pytest.mark.parametrize("name", ["src/.hidden.md", "src/a..b.md", "src/..c", "src/x/../d.md"])
def test_dots_in_names_stay_inside_the_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path, "src/x/y")
    assert walk.locate(config(tmp_path, "src"), name)[0] == os.path.normpath(name)


def test_brackets_are_part_of_an_existing_name(tmp_path: Path) -> None:
    write(tmp_path, "docs [1]/a.md", "docs 1/b.md", "x/[ab].md", "x/a.md")
    assert names(config(tmp_path, "docs [1]")) == ["docs [1]/a.md"]
    assert names(config(tmp_path, "docs [123]")) == ["docs 1/b.md"]
    assert names(config(tmp_path, "x/[ab].md")) == ["x/[ab].md"]


PART = st.sampled_from(["a", "b", "ab", "c.py", "d.log", "[x]", "日本"])
PATH = st.lists(PART, min_size=1, max_size=4).map("/".join)
GLOB = st.sampled_from(["a", "b", "ab", "*.py", "d.*", "*", "**", "?", "[ab]", "日本", "a*", "!a"])
RULE = st.builds(
    # `**/` at the end of a rule is left out: pathspec takes it for `**`.
    lambda negated, anchored, parts, folder: (
        f"{negated}{anchored}{'/'.join(parts)}{'' if parts[-1] == '**' else folder}"
    ),
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(GLOB, min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)
RULES = st.lists(st.one_of(RULE, st.sampled_from(["", "# a", "\\#a", "a ", "\\!a"])), max_size=5)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sets(PATH, min_size=1, max_size=12), RULES, st.tuples(PART, RULES), st.booleans())
def test_ignore_rules_are_those_of_git(
    tmp_path_factory: pytest.TempPathFactory,
    paths: set[str],
    top: list[str],
    nested: tuple[str, list[str]],
    tracked: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    """Compare the walk without git, and the scan with it, to the files that git lists."""
    root = tmp_path_factory.mktemp("tree")
    for path in sorted(paths):
        target = root / path
        if not (any(parent.is_file() for parent in target.parents) or target.exists()):
            write(root, path)
    (root / ".gitignore").write_text("\n".join(top), encoding="utf-8")
    if (root / nested[0]).is_dir():
        (root / nested[0] / ".gitignore").write_text("\n".join(nested[1]), encoding="utf-8")
    git(root, "init", "-q")
    assert sorted(walk_folder(root, rules=True)) == listed(root)
    if tracked:
        git(root, "add", "-A", "-f", "--", min(paths).partition("/")[0])
    assert names(config(root)) == listed(root)


def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_a_hanging_git_stops_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "p/a.py")
    fake_git(tmp_path, monkeypatch, "exec tail -f /dev/null")
    monkeypatch.setattr(walk, "GIT_TIMEOUT_S", 0.1)
    with pytest.raises(StorageError, match="git did not answer"):
        walk.scan(config(tmp_path / "p"))


def test_our_rules_replace_a_failing_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "p/a.py", "p/node_modules/b.js")
    fake_git(tmp_path, monkeypatch, "echo 'dubious ownership' >&2; exit 128")
    assert names(config(tmp_path / "p")) == ["a.py"]


def test_bases_are_named_as_documents_are(tmp_path: Path) -> None:
    (tmp_path / "p" / "src").mkdir(parents=True)
    (tmp_path / "away").mkdir()
    place = config(tmp_path / "p", ".", "./src", "../away", str(tmp_path / "away"))
    away = (tmp_path / "away").resolve().as_posix()
    assert walk.bases(place) == ["src", away, away]
