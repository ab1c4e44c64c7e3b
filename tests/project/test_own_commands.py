"""The repository's own prompt commands: their names exist, and search finds them."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from code_intel.chunking.front_matter import parse
from code_intel.cli.devrag import DEVRAG_COMMANDS as DEVRAG
from code_intel.cli.main import COMMANDS, CliCommand, parser_of
from code_intel.config import load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.registry import options, place, prompts
from code_intel.registry.finding import find
from code_intel.registry.loading import LoadedRegistry, Registries
from code_intel.registry.meaning import CommandVectors
from code_intel.registry.records import Command, CommandOptions
from code_intel.tools.table import GATEWAY_TOOLS, INDEX_TOOLS

ROOT = Path(__file__).resolve().parents[2]
CLIMPT = ROOT / ".agent" / "climpt"
PROMPTS = sorted(path.relative_to(CLIMPT).as_posix() for path in (CLIMPT / "prompts").rglob("*.md"))
TOOLS = {tool.name for tool in (*GATEWAY_TOOLS, *INDEX_TOOLS)}
VARIABLE = re.compile(r"\{(input_text|input_text_file|destination_path|uv-[\w-]+)\}")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
VALUE = re.compile(r'"?\{[\w-]+\}"?')

SENTENCES: dict[str, tuple[str, str]] = {
    "code-intel-map review pending-agreements": (
        "go through what the map has learned that no human has approved",
        "未確認の合意事項を確かめて承認したい",
    ),
    "code-intel-map confirm-reject agreement": (
        "is this term really about that class? accept it or refuse it",
        "この合意が正しいか判断して、確定か却下をする",
    ),
    "code-intel-map prune outdated-agreements": (
        "clean up stale entries of the map",
        "古くなった合意事項を整理して削除したい",
    ),
    "code-intel-map repair broken-agreements": (
        "an agreement file has git conflict markers in it",
        "シンボルの名前が変わって壊れた合意事項を直す",
    ),
    "code-intel-forest plan search": (
        "my search did not find the code, try again systematically with several queries",
        "一回の検索で見つからないので、検索を計画して何度か探す",
    ),
    "code-intel-forest trace impact": (
        "what will break if I modify this module",
        "このファイルを変更したときの影響範囲を調べる",
    ),
    "code-intel-session write query-frame": (
        "fill in target_feature and observed_issue for what the user asked",
        "ユーザーの依頼からクエリフレームを作る",
    ),
    "code-intel-session investigate bug": (
        "find the root cause of this crash",
        "不具合の原因を調べて修正する",
    ),
    "code-intel-session resume refused-session": (
        "the server says phase_blocked, what now",
        "ツールがフェーズで拒否されたので、セッションを先に進めたい",
    ),
    "code-intel-dev add tool": (
        "implement another MCP tool in the gateway",
        "ゲートウェイに新しいツールを追加する",
    ),
    "code-intel-dev add language": (
        "support Dart with tree-sitter",
        "対応するプログラミング言語を増やす",
    ),
    "code-intel-dev add prompt-command": (
        "create a new command with its prompt file for our registry",
        "レジストリに新しいコマンドとプロンプトを追加する",
    ),
    "code-intel-dev record decision": (
        "write an ADR for what we have just agreed on",
        "設計上の決定を文書に残す",
    ),
    "code-intel-dev regenerate documents": (
        "tools.md is out of date after I changed a docstring",
        "自動生成のドキュメントを作り直す",
    ),
    "code-intel-dev run benchmark": (
        "measure whether latency got worse",
        "ベンチマークを実行して性能の数値を報告する",
    ),
    "code-intel-dev prepare release": (
        "publish the next version",
        "新しいバージョンをリリースする準備",
    ),
}
"""An English and a Japanese request for each command."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedRegistry:
    return Registries(ROOT, tmp_path_factory.mktemp("home")).of()


def _commands() -> tuple[Command, ...]:
    return Registries(ROOT, CLIMPT).of().registry.commands


def _name(command: Command) -> str:
    return f"{command.c1} {command.c2} {command.c3}"


def _takes(command: Command) -> CommandOptions:
    assert command.options is not None
    return command.options


def _files(command: Command) -> dict[tuple[str, str], str]:
    """Return the prompts that a command lists, by edition and adaptation."""
    says = _takes(command)
    pairs = [(edition, end) for edition in says.edition for end in ("", *says.adaptation)]
    folder = f"prompts/{command.c1}/{command.c2}/{command.c3}"
    return {pair: f"{folder}/f_{'_'.join(filter(None, pair))}.md" for pair in pairs}


def _front_and_body(file: str) -> tuple[dict[str, Any], str]:
    parsed = parse((CLIMPT / file).read_text(encoding="utf-8"), yaml.safe_load)
    assert parsed is not None, file
    return parsed


def test_the_registry_has_no_warnings(loaded: LoadedRegistry) -> None:
    assert loaded.registry.notes == ()
    assert 10 <= len(loaded.registry.commands) <= 16


def test_commands_and_prompt_files_match(loaded: LoadedRegistry) -> None:
    listed = [file for command in loaded.registry.commands for file in _files(command).values()]
    assert sorted(listed) == PROMPTS


@pytest.mark.parametrize("command", _commands(), ids=_name)
def test_the_front_matter_of_a_prompt_matches_the_registry(command: Command) -> None:
    for file in _files(command).values():
        front, _ = _front_and_body(file)
        said = {key: front[key] for key in ("c1", "c2", "c3", "description", "usage")}
        assert said == {key: getattr(command, key) for key in said}
        given = {key: tuple(v) if isinstance(v, list) else v for key, v in front["options"].items()}
        says = asdict(_takes(command))
        assert {**asdict(CommandOptions()), **given} == says
        assert front["title"]


@pytest.mark.parametrize("command", _commands(), ids=_name)
def test_options_and_variables_of_a_prompt_match(command: Command) -> None:
    says = _takes(command)
    for file in _files(command).values():
        front, body = _front_and_body(file)
        used = set(VARIABLE.findall(body))
        assert {
            "input_text": "input_text" in used,
            "input_text_file": "input_text_file" in used,
            "destination_path": "destination_path" in used,
        } == {
            "input_text": says.stdin,
            "input_text_file": says.file,
            "destination_path": says.destination,
        }, file
        named = {f"uv-{name}" for row in front.get("uv", []) for name in row}
        assert {name for name in used if name.startswith("uv-")} == named


@pytest.mark.parametrize("command", _commands(), ids=_name)
def test_every_prompt_renders_completely(command: Command) -> None:
    says = _takes(command)
    for (edition, adaptation), file in _files(command).items():
        front, body = _front_and_body(file)
        given: dict[str, str] = {"edition": edition}
        given |= {"adaptation": adaptation} if adaptation else {}
        given |= {"stdin": "what was said"} if says.stdin else {}
        given |= {"file": "README.md"} if says.file else {}
        given |= {"destination": "docs/decisions/9999-a-test.md"} if says.destination else {}
        given |= {f"uv-{name}": "search_map" for row in front.get("uv", []) for name in row}
        asked = options.checked(given, command, ROOT)
        made = prompts.render(place.prompts_of(CLIMPT / "registry.json"), command, asked, ROOT)
        assert made.prompt.startswith(f"# {front['title']}\n")
        assert len(made.prompt) > len(body) / 2
        assert not made.truncated
        assert made.notes == ()
        assert VARIABLE.findall(made.prompt) == []


@pytest.mark.parametrize("c1", sorted({command.c1 for command in _commands()}))
def test_the_config_of_climpt_accepts_every_command(c1: str) -> None:
    app = yaml.safe_load((CLIMPT / "config" / f"{c1}-app.yml").read_text(encoding="utf-8"))
    user = yaml.safe_load((CLIMPT / "config" / f"{c1}-user.yml").read_text(encoding="utf-8"))
    assert app["working_dir"] == ".agent/climpt"
    assert (CLIMPT / app["app_prompt"]["base_dir"]).is_dir()
    words = user["params"]["two"]
    for command in (command for command in _commands() if command.c1 == c1):
        assert re.fullmatch(words["directiveType"]["pattern"], command.c2)
        assert re.fullmatch(words["layerType"]["pattern"], command.c3)


@cache
def _all_text() -> str:
    """Return the source and the pages, which contain all other names."""
    files = [
        *(ROOT / "code_intel").rglob("*.py"),
        *(ROOT / "docs").glob("*.md"),
        ROOT / "pyproject.toml",
    ]
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(files))


def _runs(line: str) -> bool:
    """Whether a line is one that the terminal's own parser takes."""
    program, *words = shlex.split(VALUE.sub("VALUE", line))
    table: Sequence[CliCommand] = DEVRAG if program == "devrag" else COMMANDS
    words = words[2:] if words[0] == "--config" else words
    (row,) = (row for row in table if row.name == words[0])
    numbered = [re.sub(r"^(N|DAYS)$", "3", word) for word in words[1:]]
    if words[1:]:
        parser_of(row, program).parse_args(numbered)
    return True


def _exists(span: str) -> bool:
    """Whether a path of the repository is there; its variables stand for anything."""
    path = re.sub(r"\{[\w-]+\}|<\w+>|\b(C1|C2|C3|NNNN)\b", "*", span.rstrip("/"))
    is_there = any(ROOT.glob(path)) or any(CLIMPT.rglob(path))
    return is_there or path.startswith("benchmarks/results")


@cache
def _is_word(word: str) -> bool:
    """Whether the source or a page contains a word."""
    return bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", _all_text()))


def _is_known(span: str) -> bool:
    words = span.split()
    if words[0] in {"code-intel", "devrag"}:
        return _runs(span)
    if words[0] == "python":
        target = words[2].replace(".", "/") + ".py" if words[1] == "-m" else words[1]
        source = (ROOT / target).read_text(encoding="utf-8")
        return all(word in source for word in words if word.startswith("--"))
    if words[0] == "./setup.sh":
        return (ROOT / "setup.sh").is_file() and all(map(_exists, words[2:]))
    if words[0] == "git":
        return True
    if re.fullmatch(r"[\w.{}<>/-]+", span) and (
        "/" in span or span.endswith((".md", ".toml", ".py"))
    ):
        return _exists(span)
    return (
        span in TOOLS
        or bool(VARIABLE.fullmatch(span))
        or all(map(_is_word, words[: 1 if span[0] == "-" else None]))
    )


def _spans() -> Iterator[tuple[str, str]]:
    for file in PROMPTS:
        _, body = _front_and_body(file)
        for span in sorted(set(SPAN.findall(body))):
            yield file, span


@pytest.mark.parametrize("file", PROMPTS)
def test_commands_files_and_tools_in_a_prompt_exist(file: str) -> None:
    spans = [span for named, span in _spans() if named == file]
    assert len(spans) >= 4
    assert [span for span in spans if not _is_known(span)] == []


def test_the_usage_of_every_command_can_be_parsed() -> None:
    for command in _commands():
        assert command.usage is not None
        assert command.usage.startswith(f"code-intel commands execute {_name(command)}")
        assert _runs(command.usage)


def test_every_command_has_example_requests(loaded: LoadedRegistry) -> None:
    assert list(SENTENCES) == [_name(command) for command in loaded.registry.commands]


@pytest.mark.model
def test_example_requests_find_their_command_among_the_first_three(
    loaded: LoadedRegistry, tmp_path: Path
) -> None:
    settings = load_settings(tmp_path, {})
    embedder = LazyEmbedder(settings, corpus="forest")
    meanings = CommandVectors(embedder, VectorCache(tmp_path / "cache"))
    missed = []
    try:
        assert meanings.of(loaded, 60)[1] == ""
        for name, sentences in SENTENCES.items():
            for sentence in sentences:
                found = find(loaded, [sentence], command_vectors=meanings)
                assert found.degraded == ()
                names = [_name(result.command) for result in found.results]
                if name not in names:
                    missed.append((name, sentence, names))
    finally:
        meanings.close()
    assert missed == []
