"""Entries of `.mcp.json` from earlier versions work, and `init` leaves them unchanged."""

import json
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from projects import BIN, Project
from sampling import sampled

SINGLE = (
    '{\n  "mcpServers": {\n    "devrag": {\n      "type": "stdio",\n'
    '      "command": "/usr/local/bin/devrag"\n    }\n  }\n}\n'
)


async def search_over_stdio(
    cwd: Path, env: dict[str, str], log: Path, *arguments: str, query: str
) -> tuple[str, list[str]]:
    """Start devrag over stdio and search; return the server's name and the documents."""
    parameters = StdioServerParameters(
        command=str(BIN / "devrag"), args=list(arguments), cwd=cwd, env=env
    )
    with anyio.fail_after(60), log.open("a", encoding="utf-8") as errors:
        async with Client(stdio_client(parameters, errlog=errors)) as client:
            await client.call_tool("sync", {})
            answer = await client.call_tool("search", {"query": query})
            assert answer.structured_content is not None
            assert client.server_info is not None
            rows = answer.structured_content["results"]
            return client.server_info.name, [row["document"] for row in rows]


@pytest.mark.anyio
async def test_devrag_without_arguments_serves_the_forest(shop: Project, tmp_path: Path) -> None:
    name, documents = await search_over_stdio(
        shop.root, dict(shop.env), tmp_path / "log", query="shipping_fee"
    )
    assert (name, documents[0]) == ("devrag-forest", "src/cart/shipping.py")
    assert not (shop.root / "config.json").exists()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "variable", sampled(["CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"], "CLAUDE_PROJECT_DIR")
)
async def test_a_relative_config_is_found_in_the_project_of_the_environment(
    shop: Project, tmp_path: Path, variable: str
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    name, documents = await search_over_stdio(
        away,
        dict(shop.env) | {variable: str(shop.root)},
        tmp_path / "log",
        "--config",
        "devrag-forest.json",
        query="shipping_fee",
    )
    assert (name, documents[0]) == ("devrag-forest", "src/cart/shipping.py")
    assert list(away.iterdir()) == []


def test_init_keeps_the_entry_and_its_files(bare: Project) -> None:
    (bare.root / ".mcp.json").write_text(SINGLE, encoding="utf-8")
    config = '{"documents_dir": "./documents"}'
    (bare.root / "config.json").write_text(config, encoding="utf-8")
    for arguments in ((), ("--remove",)):
        bare.call("code-intel", "init", *arguments)
        servers = json.loads((bare.root / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]
        assert servers["devrag"] == {"type": "stdio", "command": "/usr/local/bin/devrag"}
        assert (bare.root / "config.json").read_text(encoding="utf-8") == config
    assert (bare.root / ".mcp.json").read_text(encoding="utf-8") == SINGLE


def test_configs_in_the_state_folder_are_found(bare: Project) -> None:
    (bare.root / ".code-intel").mkdir()
    (bare.root / "src").mkdir()
    (bare.root / "src" / "a.py").write_text("def sail(): pass\n", encoding="utf-8")
    (bare.root / ".code-intel" / "devrag-forest.json").write_text(
        '{"document_patterns": ["../src"], "db_path": "./vectors-forest.db"}', encoding="utf-8"
    )
    for arguments in (("--config", "devrag-forest.json"), ()):
        synced = json.loads(bare.call("devrag", *arguments, "sync").stdout)["data"]
        assert synced["added"] + synced["unchanged"] == 1
    assert not (bare.root / ".code-intel" / ".code-intel").exists()
    assert not (bare.root / "vectors.db").exists()
