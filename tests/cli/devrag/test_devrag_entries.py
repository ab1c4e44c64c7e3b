"""Entries of `.mcp.json` from earlier versions.

They still work, and `init` leaves them unchanged.
"""

import json
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from projects import BIN, Project

SINGLE = (
    '{\n  "mcpServers": {\n    "devrag": {\n      "type": "stdio",\n'
    '      "command": "/usr/local/bin/devrag"\n    }\n  }\n}\n'
)


async def found(
    cwd: Path, env: dict[str, str], log: Path, *arguments: str, query: str
) -> tuple[str, list[str]]:
    """Start what an entry starts, ask it, and return its name and the documents it found."""
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
async def test_the_single_entry_of_a_project_that_was_set_up_serves_its_forest(
    shop: Project, tmp_path: Path
) -> None:
    name, documents = await found(shop.root, dict(shop.env), tmp_path / "log", query="shipping_fee")
    assert (name, documents[0]) == ("devrag-forest", "src/cart/shipping.py")
    assert not (shop.root / "config.json").exists()


@pytest.mark.anyio
@pytest.mark.parametrize("variable", ["CODE_INTEL_ROOT", "CLAUDE_PROJECT_DIR"])
async def test_a_relative_config_is_found_in_the_project_that_the_client_names(
    shop: Project, tmp_path: Path, variable: str
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    name, documents = await found(
        away,
        dict(shop.env) | {variable: str(shop.root)},
        tmp_path / "log",
        "--config",
        "devrag-forest.json",
        query="shipping_fee",
    )
    assert (name, documents[0]) == ("devrag-forest", "src/cart/shipping.py")
    assert list(away.iterdir()) == []


def test_init_leaves_the_single_entry_and_its_files_as_they_are(bare: Project) -> None:
    (bare.root / ".mcp.json").write_text(SINGLE, encoding="utf-8")
    config = '{"documents_dir": "./documents"}'
    (bare.root / "config.json").write_text(config, encoding="utf-8")
    for arguments in ((), ("--remove",)):
        bare.call("code-intel", "init", *arguments)
        servers = json.loads((bare.root / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]
        assert servers["devrag"] == {"type": "stdio", "command": "/usr/local/bin/devrag"}
        assert (bare.root / "config.json").read_text(encoding="utf-8") == config
    assert (bare.root / ".mcp.json").read_text(encoding="utf-8") == SINGLE


def test_a_folder_of_its_own_for_the_configs_is_found_too(bare: Project) -> None:
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
