"""Measure the answers of every tool on a large repository, with the largest parameters allowed.

    python -m benchmarks.answer_sizes [--tree FOLDER] [--json OUT]
    python -m benchmarks.answer_sizes --typical

The tree is copied, set up and indexed by words only; the default is the standard library of this
Python. It gets a map of 2,000 agreements. Tokens are estimated as for answers: four ASCII
characters, or one other character. `text` is what a model reads, `data` the structured content. A
row fails when either is over its budget, or when the answer was cut and names no way to the rest: a
cursor, or words on what to narrow. The exit code is 1 then.

With `--typical`, one session works on this package with default parameters. The table has the
characters of `tools/list` and of each answer in both forms: clients show a model the data (Claude
Code) or the text.
"""

import argparse
import asyncio
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client, types

from code_intel.cli.setup.init import apply, setup
from code_intel.config import Settings, load_settings
from code_intel.servers.commands import build_commands_server
from code_intel.servers.gateway import build_gateway
from code_intel.servers.index_server import build_index_server
from code_intel.tools.context.corpus_service import CorpusService, open_project
from code_intel.tools.table import COMMAND_TOOLS, GATEWAY_TOOLS, INDEX_TOOLS
from code_intel.tools.wire.answers import MAX_ANSWER_TOKENS, tokens

TEXT = 4000
"""Tokens that the text of an answer may take when fifty hits are asked for."""
TEXT_BY_DEFAULT = 2000
"""Tokens that the text of a search may take when nothing but the question is given."""
WHOLE = frozenset({"execute", "command_execute", "list", "command_list"})
"""Tools whose text is a prompt or a list to choose from, and may be as long as an answer."""
AGREEMENTS = 2000
WIDE = "^"
"""A pattern that every line matches."""
WAYS = re.compile(
    r"next_cursor|next_after|narrow with|narrow the|raise \w+|start_line|smaller top_k|"
    r"(?:rest|complete plan) is in|describe shows|prints all"
)

LAST = 4
"""Lines at the end of a text, where the way to the rest is named; others may be quoted code."""


class Row(NamedTuple):
    """One call: its arguments, tokens of both halves, whether it was cut, the way to the rest."""

    server: str
    tool: str
    asked: str
    text: int
    data: int
    cut: bool
    way: str
    default: bool = False
    text_chars: int = 0
    data_chars: int = 0

    @property
    def problem(self) -> str:
        """What is wrong with the answer, or the empty string."""
        short = TEXT_BY_DEFAULT if self.default else TEXT
        most = MAX_ANSWER_TOKENS if self.tool in WHOLE else short
        if self.data > MAX_ANSWER_TOKENS or self.text > most:
            return "over its budget"
        return "cut, and no way to the rest" if self.cut and not self.way else ""


@dataclass
class Caller:
    """A connected client that notes the size of every answer."""

    client: Client
    server: str
    rows: list[Row] = field(default_factory=list)

    async def __call__(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """Call a tool, note its answer's size, and return its data."""
        result = await self.client.call_tool(tool, arguments)
        data: Mapping[str, Any] = result.structured_content or {}
        text = "\n".join(
            block.text for block in result.content if isinstance(block, types.TextContent)
        )
        cut = any(data.get(key) for key in ("truncated", "next_cursor"))
        way = "next_cursor" if data.get("next_cursor") else ""
        said = WAYS.search("\n".join((*text.splitlines()[-LAST:], *data.get("warnings", ()))))
        way = way or (said[0] if said else "")
        asked = ", ".join(f"{key}={_short(value)}" for key, value in arguments.items())
        shown = json.dumps(data, ensure_ascii=False)
        default = set(arguments) <= {"query", "goal"}
        sizes = tokens(text), tokens(shown)
        chars = len(text), len(shown)
        self.rows.append(Row(self.server, tool, asked, *sizes, cut, way, default, *chars))
        return data


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 24 else f"{text[:20]}…"


async def ask_gateway(call: Caller, folder: str, file: str) -> None:
    """Call every tool of the gateway; `folder` and `file` are large ones, relative to the root."""
    query = "open a file and parse the header of every message in it " * 60
    session = (await call("start_session", intent="MODIFY", query=query))["session_id"]
    quoted = {"value": "parse the header", "quote": "parse the header"}
    await call("set_query_frame", target_feature=quoted, session_id=session)
    words = "parse the header of a message"
    for tool in ("search_smart", "search_map", "search_forest", "files_search"):
        await call(tool, query=words)
    await call("context_bundle", goal=words)
    await call("gistdex_query_plan", goal=words)
    await call(
        "gistdex_query_plan",
        goal="parse the header of a message and open the file",
        initialQueries=[f"{name} header" for name in ("parse", "message", "file", "open", "read")],
        maxIterations=20,
        expectedResults={"minMatches": 50, "confidence": 1, "keywords": ["nowhere", "header"]},
    )
    for tool in ("search_smart", "search_map", "search_forest"):
        await call(tool, query=words, top_k=50)
    await call("search_text", pattern=WIDE, max_results=1000, context_lines=10)
    await call("search_text", pattern="self", path=file, max_results=1000, context_lines=10)
    await call("files_search", query="parse header message file open read", limit=100)
    await call("context_bundle", goal="parse the header of a message and open the file", limit=20)
    await call("find_definitions", symbol="get")
    await call("find_references", symbol="self")
    await call("deps_closure", path=file, max_depth=10)
    await call("snippets_get", path=file, start_line=1, end_line=100_000)
    await call("query", question="where is the header of a message parsed?", path=".")
    await call("search_files", pattern="**/*")
    await call("get_symbols", path=folder)
    await call("get_symbols", path=file)
    await call("analyze_structure", file_path=file)
    await call("get_function_at_line", file_path=file, line_number=300)
    await call("analyze_impact", target_files=[file])
    await call("repo_pack", path=folder)
    hits = [row["document"] for row in (await call("search_forest", query="header"))["results"]]
    await call("semantic_rerank", query="header", candidates=hits * 10)
    await finish(call, session, [f"symbol_{number}" for number in range(50)], file)


async def finish(call: Caller, session: str, symbols: list[str], file: str) -> None:
    """Submit as much as is taken, and record it."""
    await call("validate_symbol_relevance", target_feature="header", symbols_identified=symbols)
    await call("confirm_symbol_relevance", relevant_symbols=symbols, code_evidence="it " * 600)
    files = [f"{number}/{file}" for number in range(50)]
    await call("submit_understanding", symbols_identified=symbols, files_analyzed=files)
    guesses = [f"guess {number} {'x' * 900}" for number in range(50)]
    await call("submit_semantic", hypotheses=guesses, devrag_reason="architecture_unknown")
    verified = [
        {
            "hypothesis": guess,
            "status": "rejected",
            "evidence": {"tool": "search_text", "target": "x", "result": "y"},
        }
        for guess in guesses
    ]
    await call("submit_verification", verified=verified)
    await call("add_explored_files", files=files)
    await call("check_write_target", file_path=file)
    await call("revert_to_exploration", reason="x" * 500)
    await call("get_session_status", session_id=session)
    await call("add_agreement", nl_term="語" * 200, symbol="get", code_evidence="証拠" * 500)
    await call("list_agreements", limit=500)
    await call("record_outcome", outcome="success", analysis={"root_cause": "x" * 4000})
    await call("get_outcome_stats")


async def ask_commands(call: Caller, prefix: str = "") -> None:
    """Call the tools of the command registry; the gateway's session is READY from its start."""
    if prefix:
        await call("start_session", intent="QUESTION", query="how is a message parsed?")
    named = {"c1": "message", "c2": "parse", "c3": "header-0"}
    await call(f"{prefix}search", query="parse the header of a message")
    await call(f"{prefix}search", query="parse the header of a message", limit=20)
    await call(f"{prefix}search", query="quaternion", limit=20)
    await call(f"{prefix}list")
    await call(f"{prefix}describe", **named)
    await call(f"{prefix}execute", **named)
    await call(f"{prefix}reload")


async def ask_index(call: Caller, file: str) -> None:
    """Call every tool of an index server."""
    await call("search", query="parse the header of a message", top_k=50)
    await call("list_documents", limit=1000)
    await call("index_markdown", filepath="notes.md")
    await call("index_code", filepaths=[file])
    await call("reindex_document", filename=file)
    await call("add_frontmatter", filepath="notes.md", tags=["x"] * 50)
    await call("update_frontmatter", filepath="notes.md", domain="y")
    await call("delete_document", filename="notes.md")
    await call("sync")


async def measure(settings: Settings) -> list[Row]:
    """Return a row for each call, and one for each tool that was not called."""
    folder, file = largest(settings.root)
    rows: list[Row] = []
    services = open_project(settings)
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(connected(build_gateway(settings), "gateway"))
        await ask_gateway(gateway, folder, file)
        await ask_commands(gateway, "command_")
        rows += gateway.rows
        alone = await stack.enter_async_context(
            connected(build_commands_server(settings), "climpt")
        )
        await ask_commands(alone)
        rows += alone.rows
    for service in services:
        async with connected(build_server(service), service.index.config.corpus) as call:
            await ask_index(call, file)
            rows += call.rows
    called = {row.tool for row in rows}
    offered = (*GATEWAY_TOOLS, *INDEX_TOOLS, *COMMAND_TOOLS)
    missing = [t.name for t in offered if t.name not in called]
    if missing:
        raise SystemExit(f"not measured: {', '.join(missing)}")
    return rows


@asynccontextmanager
async def connected(server: Any, name: str) -> AsyncIterator[Caller]:
    """Connect to a server in this process."""
    async with Client(server) as client:
        yield Caller(client, name)


CHANGE = "cut the text of an answer to its token budget"
SYMBOL = "bounded_text"
FILE = "tools/wire/answers.py"


async def ask_typical(call: Caller) -> None:
    """Call the listed tools as an agent does that changes one function."""
    await call("start_session", intent="MODIFY", query=CHANGE)
    await call("search_smart", query=CHANGE)
    await call("find_definitions", symbol=SYMBOL)
    await call("find_references", symbol=SYMBOL)
    await call("search_text", pattern=rf"\b{SYMBOL}\b")
    await call("snippets_get", symbol=SYMBOL)
    quoted = {"value": "token budget", "quote": "token budget"}
    await call("set_query_frame", target_feature=quoted)
    await call("submit_understanding", symbols_identified=[SYMBOL], files_analyzed=[FILE])
    guess = f"{SYMBOL} cuts the text of an answer"
    await call("submit_semantic", hypotheses=[guess], devrag_reason="architecture_unknown")
    await call("find_definitions", symbol=SYMBOL)
    evidence = {"tool": "find_definitions", "target": SYMBOL, "result": "it is defined once"}
    verified = {"hypothesis": guess, "status": "confirmed", "evidence": evidence}
    await call("submit_verification", verified=[verified])
    await call("check_write_target", file_path=FILE)
    await call("revert_to_exploration", reason="the wrong function")
    await call("record_outcome", outcome="partial")


async def measure_typical(settings: Settings) -> list[tuple[str, int, int]]:
    """Return each tool with the characters of its answer as JSON and as text."""
    async with connected(build_gateway(settings), "gateway") as call:
        tools = [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True)
            for tool in (await call.client.list_tools()).tools
        ]
        listed = len(json.dumps(tools, ensure_ascii=False))
        await ask_typical(call)
        return [
            (f"tools/list of {len(tools)}", listed, listed),
            *((row.tool, row.data_chars, row.text_chars) for row in call.rows),
        ]


def print_typical() -> None:
    """Measure a typical session on this package, and print the table."""
    package = Path(__file__).resolve().parents[1] / "code_intel"
    with tempfile.TemporaryDirectory() as folder:
        settings = prepare(package, Path(folder) / "tree", agreements=0)
        rows = asyncio.run(measure_typical(settings))
    print(f"{'tool':28} {'JSON':>7} {'text':>7}")
    for tool, data, text in rows:
        print(f"{tool:28} {data:>7} {text:>7}")
    print(f"{'sum':28} {sum(row[1] for row in rows):>7} {sum(row[2] for row in rows):>7}")


def build_server(service: CorpusService) -> Any:
    """Return the map or the forest server of a project."""
    return build_index_server(service.index.config.corpus, lambda: service)


def largest(root: Path) -> tuple[str, str]:
    """Return the folder with the most files and the largest file that is indexed, relative."""
    files = [path for path in root.rglob("*.py") if path.stat().st_size < 1 << 20]
    folders = {path.parent for path in files} - {root}
    folder = max(folders, key=lambda each: sum(path.parent == each for path in files))
    file = max(files, key=lambda path: path.stat().st_size)
    return folder.relative_to(root).as_posix(), file.relative_to(root).as_posix()


def prepare(tree: Path, root: Path, agreements: int = AGREEMENTS) -> Settings:
    """Copy, set up and index a tree, words only, and give it a map."""
    skip = shutil.ignore_patterns("site-packages", "__pycache__", ".git", ".code-intel", ".venv")
    shutil.copytree(tree, root, ignore=skip, symlinks=True)
    (root / "notes.md").write_text("# Notes\n\nA note.\n", encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *arguments], cwd=root, check=True, stdin=subprocess.DEVNULL)
    apply(setup(root))
    folder = root / ".code-intel" / "agreements"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(agreements):
        front = f"---\nnl_term: parse header {number}\nsymbol: get\n---\n"
        body = f"\n## Evidence\n\n- {'証拠 parses a header ' * 40}\n"
        (folder / f"{number}.md").write_text(front + body, encoding="utf-8")
    write_commands(root)
    settings = replace(
        load_settings(root),
        embedding="off",
        state_dir=root.parent / "state",
        command_runner="prompts",
    )
    for service in open_project(settings):
        service.index.complete(words_only=True)
        service.index.close()
    return settings


def write_commands(root: Path, commands: int = 200) -> None:
    """Give a tree a registry of commands of the largest size, and a prompt as long as allowed."""
    listed = [
        {
            "c1": "message",
            "c2": "parse",
            "c3": f"header-{number}",
            "description": "parse the header of a message " * 66,
            "usage": "before anything else " * 95,
        }
        for number in range(commands)
    ]
    agent = root / ".agent" / "climpt"
    prompt = agent / "prompts" / "message" / "parse" / "header-0" / "f_default.md"
    prompt.parent.mkdir(parents=True)
    prompt.write_text("Parse the header of each message.\n" * 7000, encoding="utf-8")
    (agent / "registry.json").write_text(json.dumps({"tools": {"commands": listed}}), "utf-8")


def main() -> int:
    """Measure and print the table; 1 when a row fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, default=Path(sysconfig.get_paths()["stdlib"]))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--typical", action="store_true")
    args = parser.parse_args()
    if args.typical:
        print_typical()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measure(prepare(args.tree, Path(folder) / "tree")))
    print(f"{'server':8} {'tool':28} {'text':>6} {'data':>6}  {'cut':4} {'the rest by':16} asked")
    for row in rows:
        cut = "yes" if row.cut else ""
        print(
            f"{row.server:8} {row.tool:28} {row.text:>6} {row.data:>6}  {cut:4} {row.way:16.16} "
            f"{row.asked[:60]}{f'  <- {row.problem}' if row.problem else ''}"
        )
    print(f"budgets: text {TEXT_BY_DEFAULT} by default, {TEXT} at most; data {MAX_ANSWER_TOKENS}")
    if args.json:
        args.json.write_text(
            json.dumps([{**row._asdict(), "problem": row.problem} for row in rows]),
            encoding="utf-8",
        )
    return 1 if any(row.problem for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
