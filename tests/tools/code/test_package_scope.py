"""find_definitions, search_text and snippets_get read the project's installed packages."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from code_intel.tools.context.corpus_service import open_project
from projects import Caller, both_eras, code_of, places_of
from served import gateway, settings_of

pytestmark = pytest.mark.anyio
SITE = ".venv/lib/python3.11/site-packages"
KEY = "AKIA" + "Z7QK4NPD2RWTX8LM"
LEFT_PAD = """\
'use strict';

/** Pad a text on its left side. */
function leftPad(text, length, character) {
  return String(text).padStart(length, character || ' ');
}

module.exports = leftPad;
"""


@pytest.fixture
def installed(shop: Path) -> Path:
    """Install two small packages in the shop: `iniconfig`, as pip does, and `left-pad`."""
    spec = find_spec("iniconfig")
    assert spec is not None
    assert spec.origin is not None
    (shop / SITE).mkdir(parents=True)
    (shop / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    shutil.copytree(Path(spec.origin).parent, shop / SITE / "iniconfig")
    pad = shop / "node_modules" / "left-pad"
    pad.mkdir(parents=True)
    (pad / "index.js").write_text(LEFT_PAD, encoding="utf-8")
    (shop / ".gitignore").write_text(".venv\nnode_modules\n", encoding="utf-8")
    return shop


@pytest.mark.covers(
    "field.find_definitions.scope", "field.snippets_get.scope", "field.search_text.scope",
    "rule.packages.found",
)  # fmt: skip
@both_eras
async def test_installed_packages_are_searched_and_read(installed: Path, era: str) -> None:
    async with gateway(installed, era) as call:
        found = await call("find_definitions", symbol="IniConfig", scope="dependencies")
        first = found["definitions"][0]
        assert (first["name"], first["kind"]) == ("IniConfig", "class")
        assert first["file"] == f"{SITE}/iniconfig/__init__.py"
        whole = await call("snippets_get", symbol="IniConfig", scope="dependencies")
        assert (whole["path"], whole["start_line"]) == (first["file"], first["line"])
        assert code_of(whole).startswith("class IniConfig")
        part = await call(
            "snippets_get", path="left-pad/index.js", start_line=4, end_line=5, scope="dependencies"
        )
        assert part["path"] == "node_modules/left-pad/index.js"
        assert "padStart" in code_of(part)
        matches = await call("search_text", pattern="padStart", scope="dependencies")
        assert places_of(matches["matches"]) == [("node_modules/left-pad/index.js", 5)]
        below = await call(
            "search_text", pattern="IniConfig", path="left-pad", scope="dependencies"
        )
        assert below["matches"] == []
        dotted = await call(
            "find_definitions", symbol="iniconfig.SectionWrapper", scope="dependencies"
        )
        assert dotted["definitions"][0]["name"] == "SectionWrapper"


@pytest.mark.covers("rule.packages.apart")
async def test_packages_are_not_indexed_and_not_counted_as_seen(installed: Path) -> None:
    (service,) = open_project(settings_of(installed))[1:]
    service.index.complete(words_only=True)
    service.index.close()
    async with gateway(installed, groups=("session",)) as call:
        await call("start_session", intent="MODIFY", query="the cart total is wrong")
        await call("search_text", pattern="leftPad", scope="dependencies")
        await call("find_definitions", symbol="leftPad", scope="dependencies")
        await call("snippets_get", symbol="leftPad", scope="dependencies")
        assert (await call("get_session_status"))["tool_calls"] == {"start_session": 1}
        assert (await call("find_definitions", symbol="leftPad"))["definitions"] == []
        assert (await call("search_text", pattern="leftPad"))["matches"] == []


@pytest.mark.covers("rule.packages.confined")
async def test_links_and_secrets_of_packages_stay_hidden(installed: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("def outsider():\n    return 1\n", encoding="utf-8")
    package = installed / SITE / "iniconfig"
    (package / "out.py").symlink_to(outside)
    (package / "up").symlink_to(tmp_path)
    (package / ".env").write_text(f"TOKEN={KEY}\n", encoding="utf-8")
    (package / "keys.py").write_text(f'aws_key = "{KEY}"\n', encoding="utf-8")
    async with gateway(installed) as call:
        found = await call("find_definitions", symbol="outsider", scope="dependencies")
        assert found["definitions"] == []
        assert (await call("search_text", pattern="outsider", scope="dependencies"))[
            "matches"
        ] == []
        for path in (
            "iniconfig/out.py",
            "iniconfig/up/outside.py",
            "../../outside.py",
            "/etc/passwd",
        ):
            error = await call.refused("snippets_get", path=path, scope="dependencies")
            assert error["error"] in {"path_outside_root", "not_found", "invalid_argument"}
        shown = code_of(await call("snippets_get", path="iniconfig/keys.py", scope="dependencies"))
        assert KEY not in shown
        assert "aws_key" in shown
        for row in (await call("search_text", pattern="AKIA", scope="dependencies"))["matches"]:
            assert KEY not in str(row)
        await call.refused("snippets_get", path="iniconfig/.env", scope="dependencies")


async def no_packages(call: Caller, tool: str, field: str) -> None:
    error = await call.refused(tool, **{field: "login"}, scope="dependencies")
    assert (error["error"], error["field"]) == ("no_packages", "scope")
    assert "node_modules" in error["hint"]


@pytest.mark.covers("error.no_packages", "error.no_packages.field")
async def test_without_packages_the_answer_says_where_they_are_looked_for(shop: Path) -> None:
    async with gateway(shop) as call:
        await no_packages(call, "find_definitions", "symbol")
        await no_packages(call, "search_text", "pattern")
        await no_packages(call, "snippets_get", "symbol")


async def test_a_search_of_many_packages_is_cut_and_says_so(installed: Path) -> None:
    for number in range(30):
        file = installed / "node_modules" / f"p{number}" / "index.js"
        file.parent.mkdir()
        file.write_text("const needle = 1;\nneedle();\n", encoding="utf-8")
    async with gateway(installed) as call:
        few = await call("search_text", pattern="needle", max_results=5, scope="dependencies")
        assert (few["total_matches"], few["truncated"]) == (5, True)
        missing = await call.refused(
            "search_text", pattern="needle", path="p99", scope="dependencies"
        )
        assert missing["error"] == "not_found"
