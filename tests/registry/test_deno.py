"""Run a stand-in for climpt with a real Deno, without a network."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest

from code_intel.config import Settings, load_settings
from code_intel.errors import ExecutionError
from code_intel.registry.execution import execute
from code_intel.registry.records import Command, ExecutionResult
from left_behind import none_left
from registry.execution_projects import GROUP, PROMPT, registry_of, write_prompt

deno = pytest.importorskip("deno")
pytestmark = pytest.mark.anyio
STAND_IN = Path(__file__).with_name("stand_in") / "climpt.ts"
NOBODY = "http://127.0.0.1:9"
"""An address without a server."""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Return a folder outside /dev/shm, because Deno reads no files below /dev."""
    with TemporaryDirectory() as folder:
        yield Path(folder).resolve()


@pytest.fixture(scope="module")
def cache() -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        yield Path(folder).resolve()


def settings_of(root: Path, cache: Path, **environ: str) -> Settings:
    """Return settings for a Deno without network access."""
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NOBODY)
    variables = {
        "PATH": str(Path(deno.find_deno_bin()).parent),
        "HOME": str(cache),
        "DENO_DIR": str(cache),
        "JSR_URL": NOBODY,
        "CODE_INTEL_CLIMPT_MODULE": STAND_IN.as_uri(),
        **proxies,
        **environ,
    }
    return load_settings(root, variables)


async def run(
    root: Path, cache: Path, options: Any = None, command: Command = GROUP
) -> ExecutionResult:
    return await execute(settings_of(root, cache), registry_of(root), command, options)


async def test_deno_gets_every_option_as_climpt_does(root: Path, cache: Path) -> None:
    write_prompt(root, PROMPT.replace("# Group", "# Strictly group"), "f_detailed_strict.md")
    options = {
        "edition": "detailed",
        "adaptation": "strict",
        "file": "docs/todo.md",
        "destination": "out/plan.md",
        "stdin": "変更 {uv-style}",
    }
    done = await run(root, cache, {**options, "uv-style": "terse; $(id)"})
    text = "変更 {uv-style}"
    assert done == ExecutionResult(
        "# Strictly group the changes\n\n"
        f"About: {text}\nFile: docs/todo.md\nTo: out/plan.md\nStyle: terse; $(id)\n",
        "deno",
    )


async def test_both_runners_render_the_same_prompt(root: Path, cache: Path) -> None:
    prompts = settings_of(root, cache, CODE_INTEL_COMMAND_RUNNER="prompts")
    mapping = {"file": "docs/todo.md", "destination": "out.md", "stdin": "x"}
    by_deno = await run(root, cache, mapping)
    rendered = await execute(prompts, registry_of(root), GROUP, mapping)
    assert by_deno.prompt == rendered.prompt
    assert (by_deno.runner, rendered.runner) == ("deno", "prompts")


async def test_failure_of_deno_is_reported_with_its_stderr(root: Path, cache: Path) -> None:
    command = Command("climpt-git", "no", "such", "")
    with pytest.raises(ExecutionError) as caught:
        await run(root, cache, command=command)
    wire = caught.value.as_dict()
    assert wire["error"] == "Execution failed"
    assert wire["command"] == "climpt-git no such"
    assert wire["stderr"].startswith("No prompt: ")
    assert (wire["runner"], wire["exit_code"]) == ("deno", 1)
    assert wire["hint"].startswith("If Deno could not download climpt")


@pytest.mark.parametrize(
    "module", ["jsr:@aidevtool/climpt", f"{NOBODY}/climpt.ts", "file:///nowhere/climpt.ts"]
)
async def test_error_of_an_unavailable_module_suggests_prompts(
    root: Path, tmp_path: Path, module: str
) -> None:
    settings = settings_of(root, tmp_path / "empty", CODE_INTEL_CLIMPT_MODULE=module)
    with pytest.raises(ExecutionError) as caught:
        await execute(settings, registry_of(root), GROUP)
    wire = caught.value.as_dict()
    assert wire["runner"] == "deno"
    assert module.rpartition("/")[2] in wire["stderr"]
    assert "CODE_INTEL_COMMAND_RUNNER=prompts" in wire["hint"]
    assert "CODE_INTEL_CLIMPT_MODULE" in wire["hint"]
    rendered = settings_of(root, tmp_path, CODE_INTEL_COMMAND_RUNNER="prompts")
    assert (await execute(rendered, registry_of(root), GROUP)).prompt.startswith("# Group")


async def test_project_files_do_not_configure_deno(root: Path, cache: Path) -> None:
    """A project's import map would replace climpt's code. Its tasks and locks are not read."""
    (root / "deno.json").write_text('{"imports": 7, "lock": "x", nonsense', encoding="utf-8")
    (root / "deno.lock").write_text("nonsense", encoding="utf-8")
    assert (await run(root, cache)).prompt.startswith("# Group the changes")


async def test_cancelled_call_ends_deno(root: Path, cache: Path, tmp_path: Path) -> None:
    module, pids = tmp_path / "hangs.ts", tmp_path / "pids"
    module.write_text(
        f'await Deno.writeTextFile("{pids}", `${{Deno.pid}}`); setInterval(() => {{}}, 1000);',
        encoding="utf-8",
    )
    settings = settings_of(root, cache, CODE_INTEL_CLIMPT_MODULE=module.as_uri())
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(execute, settings, registry_of(root), GROUP)
            while not (pids.exists() and pids.read_text("utf-8")):  # noqa: ASYNC110 - files send no events
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    assert await none_left(tmp_path)
