"""Index configurations in `.code-intel/` do not change the names of files."""

import json
from pathlib import Path

import pytest

from code_intel.tools.context.corpus_service import open_project
from projects import places_of
from served import gateway, settings_of
from shop_sessions import LOGIN, LOGIN_FILE, explore, start, succeed

pytestmark = pytest.mark.anyio

MOVED = {"devrag-forest.json": "../src", "devrag-map.json": "./agreements"}


@pytest.fixture
def inner(shop: Path) -> Path:
    """Move the index configurations, as earlier versions had them; patterns follow their folder."""
    for database in (*shop.glob("*.db*"), *(shop / ".code-intel").glob("*.db*")):
        database.unlink()
    for name, pattern in MOVED.items():
        raw = json.loads((shop / name).read_text("utf-8"))
        raw |= {"document_patterns": [pattern], "db_path": f"./{name}.db"}
        (shop / ".code-intel" / name).write_text(json.dumps(raw), encoding="utf-8")
        (shop / name).unlink()
    for service in open_project(settings_of(shop)):
        service.index.complete(words_only=True)
        service.index.close()
    return shop


async def test_every_tool_uses_project_paths(inner: Path) -> None:
    assert not (inner.parent / "src").exists()
    async with gateway(inner) as call:
        await start(call, "ログイン機能")
        defined = (await call("find_definitions", symbol=LOGIN, path="./src"))["definitions"]
        assert [row["file"] for row in defined] == [LOGIN_FILE]
        used = (await call("find_references", symbol=LOGIN, path="./src/"))["references"]
        assert used
        assert (LOGIN_FILE, defined[0]["line"]) not in places_of(used)
        hits = (await call("search_smart"))["results"]
        assert LOGIN_FILE in {hit["document"] for hit in hits}
        closure = await call("deps_closure", path=LOGIN_FILE)
        assert "src/auth/passwords.py" in {node["path"] for node in closure["nodes"]}
        assert (await call("snippets_get", symbol=LOGIN))["path"] == LOGIN_FILE


async def test_learned_agreement_has_relative_paths(inner: Path) -> None:
    async with gateway(inner) as call:
        await start(call, "ログイン機能")
        await explore(call, LOGIN, LOGIN_FILE)
        answer = await call("check_write_target", file_path=LOGIN_FILE)
        assert answer["allowed"]
        status = await call("get_session_status")
        assert status["exploration"]["explored_files"] == [LOGIN_FILE]
        assert (await succeed(call, inner, LOGIN_FILE))["cached_pairs"]
        (agreed,) = (await call("list_agreements"))["agreements"]
        assert (agreed["status"], len(agreed["files"])) == ("valid", 1)
        assert agreed["files"][0].startswith(f"{LOGIN_FILE}:")
    (file,) = (inner / ".code-intel" / "agreements").glob("*.md")
    assert str(inner.parent) not in file.read_text("utf-8")
