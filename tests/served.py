"""Index the words of the shop, and serve it in this process over MCP in memory."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp import Client

from code_intel.cli.setup.init import apply, setup
from code_intel.config import Settings, load_settings
from code_intel.config.table import ToolGroup
from code_intel.index.indexer import PAUSE_S, Indexer
from code_intel.servers.gateway import build_gateway
from code_intel.servers.index_server import build_index_server
from code_intel.session.state import Demands
from code_intel.tools.context.corpus_service import open_project
from programs import git
from projects import ERAS, SHOP, Caller

MAX_CONNECTION_S = 240
"""Longest connection of a test; shorter than the time limit of pytest."""
AGREEMENTS = Path(".code-intel") / "agreements"


def make_shop(root: Path) -> Path:
    """Copy the shop to `root` and make it a project."""
    shutil.copytree(SHOP, root)
    return make_project(root)


def make_project(root: Path) -> Path:
    """Set up a project, commit its files, and index the words of both corpora; return `root`."""
    apply(setup(root))
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "All of it")
    services = open_project(settings_of(root))
    for service in services:
        service.index.complete(words_only=True)
        service.index.close()
    return root


def settings_of(root: Path, embedding: str = "off", demands: Demands | None = None) -> Settings:
    """Return a project's settings, by default without an embedding model."""
    environ = {**os.environ, "CODE_INTEL_CACHE_DIR": str(root.parent / "cache")}
    environ |= {"CODE_INTEL_EMBEDDING": embedding}
    environ |= {"CODE_INTEL_GATE_DEMANDS": demands} if demands else {}
    return load_settings(root, environ)


@asynccontextmanager
async def gateway(
    root: Path,
    era: str = ERAS[0],
    embedding: str = "off",
    groups: tuple[ToolGroup, ...] = (),
    demands: Demands | None = None,
) -> AsyncIterator[Caller]:
    """Connect to a gateway in this process; `groups` are listed in addition to the core."""
    settings = settings_of(root, embedding, demands)
    settings = replace(settings, tool_groups=groups or settings.tool_groups)
    with anyio.fail_after(MAX_CONNECTION_S):
        async with Client(build_gateway(settings), mode=era) as client:
            yield Caller(client)


def unbegun(patch: pytest.MonkeyPatch) -> None:
    """Prevent the background scans of servers in this process."""
    patch.setattr("code_intel.servers.protocol.BACKGROUND_DELAY_S", 3600.0)


def at_rest(patch: pytest.MonkeyPatch) -> None:
    """Prevent further scans by the indexers of this process."""
    patch.setattr(Indexer, "_take_turn", lambda _indexer: None)


async def settled(call: Caller) -> None:
    """Wait until a gateway's index of the forest has scanned the disk.

    The scan begins some time after the first answer.
    """
    while (await call("files_search", query="cart"))["index"]["state"] != "fresh":  # noqa: ASYNC110 - there is no event for it
        await anyio.sleep(2 * PAUSE_S)  # a scan waits while questions arrive


@asynccontextmanager
async def index_server(root: Path, corpus: str, era: str = ERAS[0]) -> AsyncIterator[Caller]:
    """Connect to the map or forest server in this process."""
    service = open_project(settings_of(root))[corpus == "forest"]
    with anyio.fail_after(MAX_CONNECTION_S):
        async with Client(
            build_index_server(service.index.config.corpus, lambda: service), mode=era
        ) as client:
            yield Caller(client)
