"""Settings and index configurations: valid values, and errors that name invalid ones."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

from code_intel.config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    SETTINGS,
    STATE_FOLDER,
    default_config,
    default_state,
    find_root,
    find_served_root,
    load_index_config,
    load_settings,
    require_single_project,
)
from code_intel.config.find_index_config import locate_config
from code_intel.config.index_config import with_model_dir
from code_intel.errors import ConfigError, StorageError, UsageError
from code_intel.learned.files import pairs


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def toml(root: Path, text: str) -> Path:
    written(root / ".code-intel" / "config.toml", text)
    return root


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("document_patterns", "./docs"),
        ("document_patterns", [1]),
        ("document_patterns", [""]),
        ("document_patterns", {"a": 1}),
        ("documents_dir", 5),
        ("db_path", ""),
        ("db_path", 5),
        ("db_path", None),
        ("db_path", "."),
        ("chunk_size", 0),
        ("chunk_size", -1),
        ("chunk_size", "500"),
        ("chunk_size", 1.5),
        ("chunk_size", True),
        ("search_top_k", 0),
        ("search_top_k", None),
        ("model", "e5"),
        ("model", {"name": ""}),
        ("model", {"dimensions": 0}),
        ("model", {"dimensions": "384"}),
        ("corpus", "wood"),
        ("corpus", ["map"]),
        ("compute", "gpu"),
        ("compute", {"device": 1}),
        ("compute", {"fallback_to_cpu": "yes"}),
        ("update_check", "no"),
        ("model_dir", ""),
        ("model_dir", 5),
    ],
)
def test_an_invalid_value_of_an_index_config_is_named(
    tmp_path: Path, key: str, value: object
) -> None:
    file = written(tmp_path / "my.json", {key: value})
    with pytest.raises(ConfigError) as caught:
        load_index_config(file)
    names = {key, "document_patterns"} if key == "documents_dir" else {key}
    names |= set(value) if isinstance(value, dict) else set()
    assert any(name in caught.value.message for name in names)
    assert "my.json" in caught.value.message
    assert caught.value.exit_code == 2
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"x"', "{} // no", '{"a": 1,}', "\x00", "[" * 100_000],
    ids=range(9),
)
def test_a_config_that_is_not_a_json_object_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"my\.json"):
        load_index_config(written(tmp_path / "my.json", text))


def test_invalid_json_is_reported_with_its_line_and_column(tmp_path: Path) -> None:
    file = written(tmp_path / "my.json", '{\n  "chunk_size": 500,\n}')
    with pytest.raises(ConfigError, match=r"my\.json is not JSON: line 3, column 1: "):
        load_index_config(file)


def test_every_key_of_devrag_is_read(tmp_path: Path) -> None:
    raw = {
        "document_patterns": ["./docs", "./notes/**/*.md"],
        "db_path": "./v.db",
        "chunk_size": 300,
        "search_top_k": 7,
        "compute": {"device": "cpu", "fallback_to_cpu": False},
        "model": {"name": "other", "dimensions": 768},
        "update_check": True,
        "model_dir": "../models",
    }
    (tmp_path / "models").mkdir()
    config = load_index_config(written(tmp_path / "p" / "my.json", raw))
    assert config.patterns == ("./docs", "./notes/**/*.md")
    assert (config.chunk_size, config.top_k) == (300, 7)
    assert (config.device, config.fallback_to_cpu) == ("cpu", False)
    assert (config.model, config.dimensions) == ("other", 768)
    assert config.model_dir == tmp_path / "models"
    assert config.notes == ()


def test_a_model_is_looked_up_in_the_models_folder(tmp_path: Path) -> None:
    for name in ("org/large", "small", "multilingual-e5-small"):
        (tmp_path / "models" / name).mkdir(parents=True)
    for name, found in (
        ("org/large", "models/org/large"), ("other/small", "models/small"), ("none", "none"),
        ("multilingual-e5-small", "multilingual-e5-small"),
        ("intfloat/multilingual-e5-small", "intfloat/multilingual-e5-small"),
    ):  # fmt: skip
        raw = {"model": {"name": name}, "model_dir": "models"}
        config = load_index_config(written(tmp_path / "my.json", raw))
        folder = found.startswith("models/")
        assert config.model == (str(tmp_path / found) if folder else found)
        assert config.notes == ()
    config = load_index_config(written(tmp_path / "my.json", {}))
    away = with_model_dir(config, tmp_path / "away")
    assert "does not exist" in away.notes[0]


def test_empty_patterns_mean_the_default(tmp_path: Path) -> None:
    assert load_index_config(written(tmp_path / "a.json", {"document_patterns": []})).patterns == (
        "./documents",
    )
    both = {"document_patterns": [], "documents_dir": "docs"}
    assert load_index_config(written(tmp_path / "b.json", both)).patterns == ("docs",)


@pytest.mark.parametrize(
    ("raw", "note"),
    [
        ({"chunk_sise": 5}, "chunk_sise is unknown and ignored; did you mean chunk_size?"),
        ({"documentPatterns": ["."]}, "did you mean document_patterns?"),
        ({"document-patterns": ["."]}, "did you mean document_patterns?"),
        (
            {"model": {"dimension": 5}},
            "model.dimension is unknown and ignored; did you mean dimensions?",
        ),
        (
            {"compute": {"devise": "cpu"}},
            "compute.devise is unknown and ignored; did you mean device?",
        ),
        ({"zeta": 1}, "zeta is unknown"),
        ({"compute": {"device": "gpu"}}, "computes on the CPU"),
        ({"compute": {"device": "tpu"}}, "compute.device is tpu"),
    ],
)
def test_unknown_keys_and_devices_are_noted(tmp_path: Path, raw: dict[str, Any], note: str) -> None:
    config = load_index_config(written(tmp_path / "my.json", raw))
    assert len(config.notes) == 1
    assert note in config.notes[0]
    assert dict(config.raw) == raw


def test_comments_in_a_config_cause_no_notes(tmp_path: Path) -> None:
    raw = {"$schema": "x", "_comment": "y", "corpus": "map"}
    assert load_index_config(written(tmp_path / "my.json", raw)).notes == ()


@pytest.mark.parametrize("name", ["multilingual-e5-small", "intfloat/multilingual-e5-small"])
def test_the_built_in_model_has_its_own_dimensions(tmp_path: Path, name: str) -> None:
    raw = {"model": {"name": name, "dimensions": 768}}
    config = load_index_config(written(tmp_path / "my.json", raw))
    assert config.dimensions == 384
    assert "has 384" in config.notes[0]


def test_a_config_is_looked_up_in_the_working_folder_then_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, here = tmp_path / "served", tmp_path / "here"
    written(served / "my.json", {})
    written(served / STATE_FOLDER / "inner.json", {})
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv("CODE_INTEL_ROOT", raising=False)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(served))
    assert locate_config("my.json", serving=True) == served / "my.json"
    assert locate_config("inner.json", serving=True) == served / STATE_FOLDER / "inner.json"
    assert locate_config(None, serving=True) == served / "config.json"
    with pytest.raises(UsageError, match=r"my\.json does not exist"):
        locate_config("my.json", serving=False)
    written(here / "my.json", {})
    assert locate_config("my.json", serving=True) == Path("my.json")
    assert locate_config(None, serving=False) == Path("config.json")


def test_without_a_name_the_config_of_devrag_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / STATE_FOLDER / FOREST_CONFIG, {})
    assert locate_config(None, serving=False) == Path(STATE_FOLDER, FOREST_CONFIG)
    written(tmp_path / FOREST_CONFIG, {})
    assert locate_config(None, serving=False) == Path(FOREST_CONFIG)
    for other in ({"port": 8080}, {"model": "large", "port": 1}):
        written(tmp_path / "config.json", other)
        assert locate_config(None, serving=False) == Path(FOREST_CONFIG)
    assert locate_config("config.json", serving=False) == Path("config.json")
    written(tmp_path / "devrag.json", {})
    assert locate_config(None, serving=False) == Path("devrag.json")
    for text in ('{"chunk_size": 5, "x": 1}', '{"model": {}}', "{}", "{ broken", "[]"):
        written(tmp_path / "config.json", text)
        assert locate_config(None, serving=False) == Path("config.json")


def test_a_config_in_another_encoding_or_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes('{"db_path": "é"}'.encode("latin-1"))
    (tmp_path / "folder.json").mkdir()
    for name in ("latin.json", "folder.json"):
        with pytest.raises(ConfigError, match=name):
            load_index_config(tmp_path / name)


@pytest.mark.parametrize("key", ["db_path", "model_dir"])
def test_a_path_that_the_system_cannot_look_up_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({key: "x" * 300}), encoding="utf-8")
    with pytest.raises(ConfigError, match=key):
        load_index_config(path)


@pytest.mark.parametrize(
    "text", ["a." * 40_000 + "a = 1", "a = " + "[" * 9999, "a = " + "9" * 9999]
)
def test_settings_that_are_too_deep_or_too_large_are_refused_at_once(
    tmp_path: Path, text: str
) -> None:
    """The parser would take 15 s for the first, and raise a RecursionError for the second."""
    path = tmp_path / STATE_FOLDER / "config.toml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    started = thread_time()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path, {})
    assert thread_time() - started < 2


def test_a_config_that_is_a_link_to_nowhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.symlink_to("gone.json")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_index_config(path)


@pytest.mark.parametrize("name", ["config.toml", "config.json", "learned_pairs.json"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_pipes_and_devices_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    """A repository may carry a link to a device."""
    path = tmp_path / STATE_FOLDER / name
    path.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    read: dict[str, Callable[[], object]] = {
        "config.toml": lambda: load_settings(tmp_path, {}),
        "config.json": lambda: load_index_config(path),
        "learned_pairs.json": lambda: pairs.load(path),
    }
    with pytest.raises((ConfigError, StorageError), match=r"not a regular file|leads out"):
        read[name]()


def test_a_missing_config_has_the_defaults_of_devrag(tmp_path: Path) -> None:
    config = load_index_config(tmp_path / "config.json")
    assert config.patterns == ("./documents",)
    assert config.db_path == tmp_path / "vectors.db"
    assert (config.chunk_size, config.top_k, config.dimensions) == (500, 5, 384)


def test_paths_are_relative_to_the_config_and_unknown_keys_stay(tmp_path: Path) -> None:
    raw = {"db_path": "../x/./v.db", "documents_dir": "d", "zeta": {"a": [1]}, "update_check": True}
    config = load_index_config(written(tmp_path / "sub" / "my.json", "\ufeff" + json.dumps(raw)))
    assert config.db_path == tmp_path / "x" / "v.db"
    assert config.folder == tmp_path / "sub"
    assert config.patterns == ("d",)
    assert dict(config.raw) == raw


@pytest.mark.parametrize(
    ("name", "raw", "corpus"),
    [
        (MAP_CONFIG, {}, "map"),
        (FOREST_CONFIG, {"document_patterns": ["./agreements"]}, "forest"),
        (MAP_CONFIG, {"corpus": "forest"}, "forest"),
        ("config.json", {"document_patterns": ["a/agreements/"]}, "map"),
        ("config.json", {"document_patterns": ["docs"]}, "forest"),
        ("config.json", {}, "forest"),
    ],
)
def test_the_corpus_is_the_key_else_the_name_else_the_patterns(
    tmp_path: Path, name: str, raw: dict[str, Any], corpus: str
) -> None:
    assert load_index_config(written(tmp_path / name, raw)).corpus == corpus


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('embedding = "on"', "embedding"),
        ("embedding = false", "embedding"),
        ("expire_days = -1", "expire_days"),
        ("expire_days = 1.5", "expire_days"),
        ("expire_days = true", "expire_days"),
        ('expire_days = "30"', "expire_days"),
        ("expire_days = 99999999999999", "expire_days"),
        ("session_hours = 99999999999999", "session_hours"),
        ("idle_minutes = 99999999999999", "idle_minutes"),
        ("trust_git = 1", "trust_git"),
        ('tokenization_strategy = "words"', "tokenization_strategy"),
        ("not toml", "config.toml"),
        ("expire_days = 1\nexpire_days = 2", "config.toml"),
    ],
)
def test_an_invalid_setting_is_named(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        load_settings(toml(tmp_path, text), {})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CODE_INTEL_EMBEDDING", "on"),
        ("CODE_INTEL_EMBEDDING", ""),
        ("CODE_INTEL_EXPIRE_DAYS", "-1"),
        ("CODE_INTEL_EXPIRE_DAYS", "a month"),
        ("CODE_INTEL_EXPIRE_DAYS", "9" * 5000),
        ("CODE_INTEL_TRUST_GIT", "perhaps"),
        ("CODE_INTEL_SESSION_HOURS", "1.5"),
        ("CODE_INTEL_TOKENIZATION_STRATEGY", "words"),
        ("KIRI_TOKENIZATION_STRATEGY", "words"),
    ],
)
def test_an_invalid_variable_is_named(tmp_path: Path, variable: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path, {variable: value})
    assert variable in caught.value.message
    assert variable in caught.value.hint
    assert len(caught.value.message) < 500


def test_the_environment_overrides_the_file_and_the_file_the_default(tmp_path: Path) -> None:
    toml(tmp_path, 'expire_days = 7\nembedding = "off"\nunknown = 1\n')
    settings = load_settings(tmp_path, {"CODE_INTEL_EXPIRE_DAYS": "0", "CODE_INTEL_TRUST_GIT": "0"})
    assert (settings.expire_days, settings.embedding) == (0, "off")
    assert (settings.trust_git, settings.session_hours) == (False, 24)


def test_the_old_variable_of_the_tokenization_strategy_still_works(
    tmp_path: Path,
) -> None:
    toml(tmp_path, 'tokenization_strategy = "legacy"\n')
    old, new = "KIRI_TOKENIZATION_STRATEGY", "CODE_INTEL_TOKENIZATION_STRATEGY"
    assert load_settings(tmp_path, {}).tokenization_strategy == "legacy"
    assert load_settings(tmp_path, {old: "hybrid"}).tokenization_strategy == "hybrid"
    both = {old: "hybrid", new: "phrase-aware"}
    assert load_settings(tmp_path, both).tokenization_strategy == "phrase-aware"


def test_tool_groups_are_a_list_in_the_file_and_comma_separated_in_the_environment(
    tmp_path: Path,
) -> None:
    toml(tmp_path, 'tool_groups = ["code", "reports"]\n')
    assert load_settings(tmp_path, {}).tool_groups == ("code", "reports")
    variable = "CODE_INTEL_TOOL_GROUPS"
    assert load_settings(tmp_path, {variable: "meaning, code"}).tool_groups == ("meaning", "code")
    assert load_settings(tmp_path, {variable: ""}).tool_groups == ()
    with pytest.raises(ConfigError, match="tool_groups is 'codes'; expected one of session, "):
        load_settings(tmp_path, {variable: "codes"})
    toml(tmp_path, 'tool_groups = "code"\n')
    with pytest.raises(ConfigError, match="tool_groups must be a list of names"):
        load_settings(tmp_path, {})
    toml(tmp_path, "tool_groups = [1]\n")
    with pytest.raises(ConfigError, match="tool_groups is 1; expected one of session, "):
        load_settings(tmp_path, {})


def test_every_setting_has_its_default_without_a_config(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {})
    for row in SETTINGS:
        holder = settings.shared if row.table == "shared" else settings
        assert row.name.endswith("_dir") or getattr(holder, row.name) == row.default
    assert settings.plans_dir == tmp_path / ".gistdex"
    assert settings.agreements == tmp_path / ".code-intel" / "agreements"
    assert list(tmp_path.iterdir()) == []


def test_only_the_environment_sets_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml(tmp_path / "p", 'cache_dir = "cache"')
    monkeypatch.chdir(tmp_path)
    settings = load_settings(tmp_path / "p", {})
    assert not settings.cache_dir.is_relative_to(tmp_path)
    assert "CODE_INTEL_CACHE_DIR" in settings.warnings[0]
    elsewhere = {"CODE_INTEL_CACHE_DIR": str(tmp_path / "cache")}
    assert load_settings(tmp_path / "p", elsewhere).cache_dir == tmp_path / "cache"
    with pytest.raises(ConfigError, match="cache_dir"):
        load_settings(tmp_path / "p", {"CODE_INTEL_CACHE_DIR": "~nobody-has-this-name/x"})


def test_only_the_environment_sets_the_state_folder(tmp_path: Path) -> None:
    toml(tmp_path / "p", f'state_dir = "{tmp_path}/mine"')
    settings = load_settings(tmp_path / "p", {})
    assert settings.state_dir == default_state()
    assert "CODE_INTEL_STATE_DIR" in settings.warnings[0]
    elsewhere = {"CODE_INTEL_STATE_DIR": str(tmp_path / "state")}
    assert load_settings(tmp_path / "p", elsewhere).state_dir == tmp_path / "state"
    with pytest.raises(ConfigError, match="state_dir"):
        load_settings(tmp_path / "p", {"CODE_INTEL_STATE_DIR": "~nobody-has-this-name/x"})


def test_the_configs_that_init_writes_have_the_defaults(tmp_path: Path) -> None:
    bare = load_settings(tmp_path, {})
    for corpus, name in (("map", MAP_CONFIG), ("forest", FOREST_CONFIG)):
        written(tmp_path / name, default_config(corpus))  # type: ignore[arg-type]  # a literal
    full = load_settings(tmp_path, {})
    for one, two in ((bare.map, full.map), (bare.forest, full.forest)):
        # Without a config, git ignores databases in .code-intel only.
        assert one.db_path == tmp_path / ".code-intel" / two.db_path.name
        assert (one.patterns, one.chunk_size, one.top_k, one.corpus) == (
            two.patterns,
            two.chunk_size,
            two.top_k,
            two.corpus,
        )


@pytest.mark.parametrize(
    "mark", [".code-intel", ".git", MAP_CONFIG, FOREST_CONFIG, ".agent/climpt"]
)
def test_a_project_is_found_from_a_folder_below(tmp_path: Path, mark: str) -> None:
    below = tmp_path / "p" / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "p" / mark).mkdir(parents=True)
    assert find_root(below) == tmp_path / "p"


def test_a_repository_has_priority_over_prompt_commands_below(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub" / ".agent" / "climpt").mkdir(parents=True)
    assert find_root(tmp_path / "sub") == tmp_path


def test_a_config_in_the_state_folder_belongs_to_the_project(tmp_path: Path) -> None:
    written(tmp_path / "p" / STATE_FOLDER / FOREST_CONFIG, {})
    assert find_root(tmp_path / "p" / STATE_FOLDER) == tmp_path / "p"


def test_a_state_folder_has_priority_over_a_nearer_repository(tmp_path: Path) -> None:
    (tmp_path / ".code-intel").mkdir()
    (tmp_path / "sub" / ".git").mkdir(parents=True)
    assert find_root(tmp_path / "sub") == tmp_path


def test_home_and_root_are_no_projects_unless_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    home = tmp_path / "home"
    (home / "work" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    for mark in (
        ".git",
        STATE_FOLDER,
        ".agent/climpt",
    ):
        (home / mark).mkdir(parents=True)
        assert find_root(home / "work" / "src") == home / "work" / "src"
    assert require_single_project(find_root(home)) == home
    (home / STATE_FOLDER).rmdir()
    for folder in (home, tmp_path / "link", Path("/")):
        with pytest.raises(UsageError, match="contains all projects"):
            require_single_project(find_root(folder))
    assert require_single_project(home / "work") == home / "work"


def test_a_project_that_is_not_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (written(tmp_path / "file", ""), tmp_path / "missing"):
        with pytest.raises(UsageError, match="is not a folder"):
            find_root(path)


def test_a_server_takes_its_project_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("own", "claude", "cwd"):
        (tmp_path / name / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "cwd")
    told = {
        "CODE_INTEL_ROOT": str(tmp_path / "own"),
        "CLAUDE_PROJECT_DIR": str(tmp_path / "claude"),
    }
    assert find_served_root(told) == tmp_path / "own"
    assert find_served_root({**told, "CODE_INTEL_ROOT": ""}) == tmp_path / "claude"
    assert find_served_root({}) == tmp_path / "cwd"
    assert find_root() == tmp_path / "cwd"
