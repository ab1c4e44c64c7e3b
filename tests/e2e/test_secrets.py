"""Secrets of every kind are planted everywhere; none is answered and none is stored."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from planted import Plant, pieces, planted
from projects import Caller, Project
from served import index_server

pytestmark = pytest.mark.anyio

KINDS = planted(7)
ASKED = planted(8)  # arrive in calls only
WRITTEN = planted(9)  # in an agreement written by hand
SYNC = 2
"""Index of the output of `sync`."""
HAND = ".code-intel/agreements/by-hand.md"


def source(kinds: dict[str, Plant]) -> str:
    """Return Python in which every kind is a comment, a docstring, a default and a literal."""
    functions = []
    for number, (text, line) in enumerate(blocks(kinds)):
        functions.append(
            f"# {line}\ndef connect_{number}(value=r'''{text}'''):\n"
            f'    r"""Number {number}: {line}"""\n    return call("{line}", r\'\'\'\n{text}\n'
            f"''')\n"
        )
    return "\n\n".join(functions)


def prose(kinds: dict[str, Plant]) -> str:
    return "\n\n".join(f"## Carriers\n\n{line}\n\n```\n{text}\n```" for text, line in blocks(kinds))


def blocks(kinds: dict[str, Plant]) -> list[tuple[str, str]]:
    """Return the kinds nine at a time: as they are, and as one line."""
    texts = [text for text, _ in kinds.values()]
    groups = ["\n".join(texts[start : start + 9]) for start in range(0, len(texts), 9)]
    return [(group, group.replace("\n", "\\n")) for group in groups]


def agreement(kinds: dict[str, Plant]) -> str:
    evidence = "\n".join(f"- {text}".replace("\n", "\n  ") for text, _ in kinds.values())
    password = kinds["unquoted password"].secrets[0]
    return (
        f"---\ndoc_type: agreement\nschema: 1\nnl_term: 配送業者の設定\nsymbol: connect_0\n"
        f"password: {password}\naliases:\n  - carrier set-up\n---\n# 配送業者の設定 → connect_0\n\n"
        f"Note: {kinds['GitHub classic'].text}\n\n## Code evidence\n{evidence}\n\n## Files\n"
        f"- src/carriers.py\n"
    )


def everything_asked(kinds: dict[str, Plant]) -> str:
    return " ".join(text.replace("\n", " ") for text, _ in kinds.values())


def cut(text: str, length: int) -> str:
    """Return the beginning, up to the end of a word, so that no secret is cut in half."""
    return text[:length].rpartition(" ")[0]


def leaks(blob: bytes, *sets: dict[str, Plant]) -> list[str]:
    folded = blob.lower()
    return [
        kind
        for kinds in sets
        for kind, (_, secrets) in kinds.items()
        if any(piece.encode() in folded for secret in secrets for piece in pieces(secret))
    ]


def kept_files(project: Project) -> Iterator[Path]:
    for folder in (project.root, Path(project.env["CODE_INTEL_CACHE_DIR"])):
        for path in folder.rglob("*"):
            ours = {".code-intel", ".gistdex"} & {*path.parts}
            own = ours or "vectors-" in path.name or folder != project.root
            if path.is_file() and own and ".git" not in path.parts and path != project.root / HAND:
                yield path


def rows_of(database: Path) -> Iterator[Any]:
    """Yield every value of every table, and every term of the word index."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    tables = (
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    for (table,) in list(connection.execute(tables)):
        yield from connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - a name of the schema
    if list(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'words'")):
        connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, words, row)")
        yield from connection.execute("SELECT term FROM temp.terms")
    connection.close()


async def ask_everything(call: Caller) -> list[object]:
    """Call the tools with secrets in every argument; return all answers."""
    told: list[object] = []

    async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
        result = await call.client.call_tool(tool, arguments)
        told.append(result.model_dump_json())
        return dict(result.structured_content or {})

    asked = everything_asked(ASKED)
    token = ASKED["GitHub classic"].text
    query = f"配送業者の設定を {token} で直す {cut(asked, 3800)}"
    planned = await ask(
        "gistdex_query_plan",
        goal=f"connect carriers {token}",
        initialQueries=[cut(asked, 300), token],
        expectedResults={"keywords": ["connect", token], "confidence": 0.4},
        maxIterations=4,
    )
    assert planned["savedAt"]
    assert planned["structuredKnowledgePath"]
    session = await ask("start_session", intent="MODIFY", query=query)
    assert session["session_id"]
    framed = await ask(
        "set_query_frame",
        target_feature={"value": f"配送業者の設定を {token}", "quote": f"配送業者の設定を {token}"},
    )
    assert framed["query_frame"]["slot_sources"]["target_feature"] == "FACT"
    await ask("search_smart")
    await ask("search_smart", query=cut(asked, 3900))
    await ask("search_map", query=token)
    await ask("search_forest", query=cut(asked, 3900))
    for pattern in ("7q", "z2", "PRIVATE", "^[A-Za-z0-9+/]{64}$", token, ASKED["OpenAI"].text):
        found = await ask("search_text", pattern=pattern, context_lines=5, max_results=1000)
        assert found["total_matches"] or pattern in {token, ASKED["OpenAI"].text}
    await ask("search_text", pattern="x", path="certs/server.key")
    await ask("search_text", pattern=token, path=token)
    for path in ("certs/server.key", "src/carriers.py", token):
        await ask("snippets_get", path=path)
        await ask("deps_closure", path=path, direction="both")
    for symbol in ("connect", "connect_0", "connect_2", token):
        await ask("find_definitions", symbol=symbol)
        await ask("find_references", symbol=symbol)
        await ask("snippets_get", symbol=symbol)
    await ask("add_explored_files", files=["src/carriers.py", token])
    await ask("validate_symbol_relevance", target_feature=token, symbols=["connect_0", token])
    await ask(
        "confirm_symbol_relevance", relevant_symbols=["connect_0"], code_evidence=cut(asked, 1900)
    )
    await ask(
        "submit_understanding",
        symbols_identified=[
            {"symbol": "connect_0", "explanation": cut(asked, 1900), "quote": cut(asked, 3900)},
            token,
        ],
        new_symbols=[{"name": token, "file": token, "beside": token}],
        entry_points=["connect_0"],
        files_analyzed=["src/carriers.py", token],
        existing_patterns=[cut(asked, 1500)],
        notes=cut(asked, 900),
    )
    await ask("submit_semantic", hypotheses=[cut(asked, 900)], devrag_reason="architecture_unknown")
    await ask(
        "submit_verification", verified=[{"hypothesis": cut(asked, 900), "status": "rejected"}]
    )
    await ask("check_write_target", file_path=token)
    await ask("get_session_status", session_id=token)
    await ask("get_session_status")
    await ask("list_agreements")
    await ask("list_agreements", nl_term=token)
    added = await ask(
        "add_agreement", nl_term=f"鍵 {token}", symbol="connect_1", code_evidence=cut(asked, 1900)
    )
    assert added["success"]
    await ask(
        "add_agreement",
        nl_term="鍵 2",
        symbol=token,
        code_evidence=cut(asked, 1900),
        related_files=[token],
    )
    await ask(
        "record_outcome", outcome="failure", analysis={"root_cause": cut(asked, 3000), token: token}
    )
    await ask("record_outcome", outcome=token)
    await ask(token)
    await ask("revert_to_exploration", reason=cut(asked, 900))
    return told


FILES = {
    "src/carriers.py": source(KINDS),
    "docs/carriers.md": prose(KINDS),
    "conf/carriers.yaml": everything_asked(KINDS),
    "certs/server.key": KINDS["private key"].text,
    HAND: agreement(WRITTEN),
}
NPM = ASKED["npm"].text
COMMANDS = (
    ["init"],
    ["sync", "--json"],
    ["search", "--forest", "--top-k", "50", "--json", cut(everything_asked(ASKED), 2000)],
    ["map", "add", f"運送 {ASKED['Stripe'].text}", "connect_2", "--evidence", NPM],
)


@pytest.fixture
def project(bare_project: Project) -> Project:
    """Plant the secrets in a project that is searched by words only."""
    for name, text in FILES.items():
        (bare_project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (bare_project.root / name).write_text(text, encoding="utf-8")
    return Project(bare_project.root, {**bare_project.env, "CODE_INTEL_EMBEDDING": "off"})


@pytest.fixture
def told(project: Project) -> list[object]:
    """Run the commands in this process; return their output."""
    runs = [project.run("code-intel", *words, check=False) for words in COMMANDS]
    return [text for ran in runs for text in (ran.stdout, ran.stderr)]


async def test_no_secret_is_stored_or_answered(project: Project, told: list[object]) -> None:
    root = project.root
    async with project.connect("code-intel", "serve") as call:
        told += await ask_everything(call)
    ran = project.run("devrag", "--config", "devrag-forest.json", "search", "connect", NPM)
    told += [ran.stdout, ran.stderr]
    for corpus in ("map", "forest"):
        async with index_server(root, corpus) as call:
            for tool, arguments in (
                ("search", {"query": "carrier 配送業者 key password", "top_k": 90}),
                ("search", {"query": NPM}),
                ("search", {"query": "x", "directory": NPM}),
                ("list_documents", {}),
                ("sync", {}),
            ):
                result = await call.client.call_tool(tool, arguments)
                told.append(result.model_dump_json())
    listed = project.run("code-intel", "map", "list", "--json").stdout
    told.append(listed)

    assert leaks("\n".join(map(str, told)).encode(), KINDS, ASKED, WRITTEN) == []
    assert json.loads(str(told[SYNC]))["forest"]["masked"] > len(KINDS)
    assert "connect_0" in str(told)
    assert (root / HAND).read_text(encoding="utf-8") == FILES[HAND]
    kept = list(kept_files(project))
    assert {path.name for path in kept} >= {"vectors-map.db", "vectors-forest.db", "state.db"}
    assert {"plans", "knowledge"} <= {path.parent.name for path in kept}
    for path in [*kept, root.parent / "stderr.log"]:
        assert leaks(path.read_bytes(), KINDS, ASKED, WRITTEN) == [], path
        if path.suffix == ".db":
            values = "\n".join(str(row) for row in rows_of(path))
            assert leaks(values.encode(), KINDS, ASKED, WRITTEN) == [], path
            compact = values.replace("\n", "").replace("('", "").replace("',)", "")
            assert leaks(compact.encode(), KINDS, ASKED, WRITTEN) == [], path
    mine = next(row for row in json.loads(listed)["agreements"] if row["file"] == "by-hand.md")
    assert mine["symbol"] == "connect_0"
    assert "x*****" in str(mine["evidence"])
