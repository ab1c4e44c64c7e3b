"""Attempts to write unexplored or forbidden files."""

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile.agent import LINK, LOGIN, PASSWORDS, SERVICE, Agent
from hostile.attempts import Prize, Script, Write, attempts

TWIN, SWAP, WRONG = "basename twins", "symlink swaps", "the wrong intent or phase"
UNSEEN = "src/payments/gateway.py"


def writing(*files: str, prepare: Callable[[Path], None] | None = None) -> Script:
    """Earn READY, prepare the disk, ask for permission to write."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.ready()
        if prepare:
            prepare(agent.root)
        return Write(handle, files)

    return script


def adding(*files: str, calls: tuple[tuple[str, dict[str, Any]], ...] = ()) -> Script:
    """Earn READY, make calls that show little, and add the files, with lines from memory."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.ready()
        for tool, arguments in calls:
            await agent(tool, session_id=handle, **arguments)
        for file in files:
            await add(agent, handle, file)
        return Write(handle, files)

    return script


async def add(agent: Agent, handle: str, file: str) -> None:
    """Add a file by its path, and with lines of it as quotes."""
    await agent("add_explored_files", session_id=handle, files=[file])
    path = agent.root / file
    lines = path.read_text("utf-8").splitlines() if path.is_file() else [LINK]
    for quote in (*(line for line in lines[:12] if line.strip()), "\n".join(lines[:40])):
        item = {"file": file, "explanation": f"the change needs it: {LINK}", "quote": quote}
        await agent("add_explored_files", session_id=handle, files=[item])


async def everything_by_boilerplate(agent: Agent) -> Prize:
    handle = await agent.ready()
    files = ("src/cart/cart.py", "src/cart/shipping.py", UNSEEN, "src/reports/csv_export.py")
    for pattern in ("^from |^import ", "^from dataclasses import dataclass", "return"):
        await agent("search_text", session_id=handle, pattern=pattern, max_results=1000)
    for file in files:
        await add(agent, handle, file)
    for file in files:
        await agent("snippets_get", session_id=handle, path=file)
        await add(agent, handle, file)
    return Write(handle, (*files, "src/cart/new.py"))


def at_once(intent: str, *, frame: bool = True) -> Script:
    """Ask for permission as soon as the intent allows READY."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed(intent=intent) if frame else await agent.start(intent)
        await agent.look(handle)
        if await agent.phase(handle) == "EXPLORATION":
            await agent.submit(handle)
        await agent("add_explored_files", session_id=handle, files=[SERVICE])
        return Write(handle, (SERVICE, "src/auth/new.py", "new.py"))

    return script


def twin(root: Path) -> None:
    for file in ("src/payments/service.py", "service.py", "web/src/service.py"):
        (root / file).write_text("# a twin\n", encoding="utf-8")


def case_twin(root: Path) -> None:
    (root / "src/auth/Service.py").write_text("# a twin\n", encoding="utf-8")


def linked_file(root: Path) -> None:
    (root / "src/auth/alias.py").symlink_to("../payments/gateway.py")
    (root / "src/auth/out.py").symlink_to("/etc/hostname")
    (root / "src/auth/nowhere.py").symlink_to("/tmp/does-not-exist.py")  # noqa: S108 - never made


def linked_folder(root: Path) -> None:
    (root / "src/auth/inner").symlink_to("../payments")
    (root / "src/auth/outer").symlink_to(root.parent)


def hard_link(root: Path) -> None:
    os.link(root / UNSEEN, root / "src/auth/hard.py")


def recreated(target: str) -> Callable[[Path], None]:
    """Replace the explored file with a link to another one."""

    def prepare(root: Path) -> None:
        (root / SERVICE).unlink()
        (root / SERVICE).symlink_to(target)

    return prepare


def folder_swapped(root: Path) -> None:
    """Replace the explored folder with a link to another one that has files of the same names."""
    (root / "src/auth").rename(root / "src/auth2")
    (root / "src/auth").symlink_to("payments")
    (root / "src/payments/service.py").write_text("# a twin\n", encoding="utf-8")


def decomposed(root: Path) -> None:
    (root / "src/auth/ガイド.py").write_text("# guide\n", encoding="utf-8")


async def swapped_between_calls(agent: Agent) -> Prize:
    handle = await agent.ready()
    path, moved = agent.root / SERVICE, agent.root.parent / "kept.py"
    for _ in range(10):
        assert await agent.may_write(handle, SERVICE)
        path.rename(moved)
        path.symlink_to(moved)
        assert not await agent.may_write(handle, SERVICE)
        path.unlink()
        moved.rename(path)
    path.unlink()
    path.symlink_to("../payments/gateway.py")
    return Write(handle, (SERVICE, UNSEEN))


async def before_ready(agent: Agent) -> Prize:
    for handle in (await agent.framed(), await agent.semantic(), await agent.verification()):
        assert not await agent.may_write(handle, SERVICE)
        answer = await agent("add_explored_files", session_id=handle, files=[SERVICE])
        assert answer["error"] == "phase_blocked"
    ready = await agent.ready()
    await agent("revert_to_exploration", session_id=ready)
    return Write(ready, (SERVICE, PASSWORDS))


async def sessions_of_two_intents(agent: Agent) -> Prize:
    reading = await agent.framed(intent="INVESTIGATE")
    await agent.look(reading)
    await agent.submit(reading)
    assert await agent.phase(reading) == "READY"
    writing = await agent.framed()
    assert not await agent.may_write(writing, SERVICE)
    return Write(reading, (SERVICE,))


async def hundreds_of_files(agent: Agent) -> Prize:
    handle = await agent.ready()
    for number in range(120):
        (agent.root / "src" / f"part_{number}.py").write_text(
            f"def payment_part_{number}() -> int:\n    return {number}\n", encoding="utf-8"
        )
    names = tuple(f"src/part_{number}.py" for number in (60, 119))
    calls: dict[str, dict[str, Any]] = {
        "search_text": {"pattern": "payment_part", "max_results": 1000},
        "context_bundle": {"goal": "payment part", "limit": 20, "compact": True},
        "search_smart": {"query": "payment part", "top_k": 50},
        "files_search": {"query": "payment part", "top_k": 50},
        "find_definitions": {"symbol": "payment_part"},
        "search_files": {"pattern": "**/*.py"},
        "repo_pack": {"path": "src"},
        "query": {"question": "payment part"},
    }
    for tool, arguments in calls.items():
        await agent(tool, session_id=handle, **arguments)
    for file in names:
        await add(agent, handle, file)
    return Write(handle, names)


async def the_clients_settings(agent: Agent) -> Prize:
    file = ".claude/settings.json"
    (agent.root / ".claude").mkdir(exist_ok=True)
    (agent.root / file).write_text('{"hooks": {"PreToolUse": []}}\n', encoding="utf-8")
    handle = await agent.ready()
    await agent("snippets_get", session_id=handle, path=file)
    await add(agent, handle, file)
    return Write(handle, (file, ".claude/settings.local.json", ".Claude/Settings.json"))


async def race(agent: Agent) -> Prize:
    handle = await agent.ready()
    outside = agent.root.parent / "outside"
    outside.mkdir()
    folder = agent.root / "src/auth/later"
    for number in range(20):
        if number % 2:
            folder.unlink()
            folder.mkdir()
            folder.rmdir()
        else:
            folder.symlink_to(outside)
            assert not await agent.may_write(handle, "src/auth/later/new.py")
    folder.symlink_to(outside)
    return Write(handle, ("src/auth/later/new.py",))


def up(file: str) -> str:
    return "/".join([*[".."] * 12, file])


ATTEMPTS = (
    *attempts(
        TWIN,
        {
            "A file of the same name elsewhere passes for the explored one.": (
                "file_not_related",
                writing(
                    "src/payments/service.py", "service.py", "web/src/service.py", prepare=twin
                ),
            ),
            "A file whose name differs in its case alone.": (
                "file_not_related",
                writing("src/auth/Service.py", prepare=case_twin),
            ),
            "A file whose name differs in its Unicode form alone.": (
                "other_spelling",
                writing(unicodedata.normalize("NFD", "src/auth/ガイド.py"), prepare=decomposed),
            ),
            "Files beside and above the explored ones.": (
                "file_not_related",
                writing("src/auth/tokens.py", UNSEEN, "README.md", "src"),
            ),
            "Absolute paths, `..`, `~` and URLs lead out of the project.": (
                "path_outside_root",
                writing(
                    "/etc/hostname",
                    up("etc/hostname"),
                    "../outside.py",
                    "src/auth/../../../outside.py",
                    "//etc/hostname",
                ),
            ),
        },
    ),
    *attempts(
        WRONG,
        {
            "The record of sessions, the settings, git's own files.": (
                "protected_path",
                writing(
                    ".code-intel/sessions/x.jsonl",
                    ".code-intel/state.db",
                    ".code-intel/config.toml",
                    ".mcp.json",
                    "devrag-map.json",
                    ".git/hooks/pre-commit",
                    ".GIT/config",
                    "src/auth/.git/config",
                ),
            ),
            "The client's settings for write permissions are added.": (
                "protected_path",
                the_clients_settings,
            ),
            "New files in unexplored folders or in new trees.": (
                "folder_not_explored",
                writing("src/payments/new.py", "new.py", "lib/deep/new.py", "web/src/new.ts"),
            ),
            "A question is READY from the start, and writes.": (
                "read_only_intent",
                at_once("QUESTION"),
            ),
            "The same without a frame.": ("read_only_intent", at_once("QUESTION", frame=False)),
            "An investigation earns READY, and writes.": (
                "read_only_intent",
                at_once("INVESTIGATE"),
            ),
            "An exploration earns READY, and writes.": ("read_only_intent", at_once("EXPLORE")),
            "Permission is asked for in every phase but READY.": ("not_ready", before_ready),
            "A read-only session explores, a second one writes.": (
                "not_ready",
                sessions_of_two_intents,
            ),
        },
    ),
    *attempts(
        SWAP,
        {
            "A link beside the explored file leads to another one.": (
                "path_outside_root",
                writing(
                    "src/auth/alias.py",
                    "src/auth/out.py",
                    "src/auth/nowhere.py",
                    prepare=linked_file,
                ),
            ),
            "A new file is to be made through a linked folder.": (
                "folder_not_explored",
                writing(
                    "src/auth/inner/new.py",
                    "src/auth/outer/new.py",
                    "src/auth/outer/../new.py",
                    prepare=linked_folder,
                ),
            ),
            "Another name of an unexplored file stands in the explored folder.": (
                "file_not_related",
                writing("src/auth/hard.py", prepare=hard_link),
            ),
            "The explored file is deleted and made again as a link to another one.": (
                "file_not_related",
                writing(SERVICE, UNSEEN, prepare=recreated("../payments/gateway.py")),
            ),
            "The explored file is made again as a link out of the project.": (
                "path_outside_root",
                writing(SERVICE, prepare=recreated("/etc/hostname")),
            ),
            "The explored file is made again as a link to git's settings.": (
                "protected_path",
                writing(SERVICE, ".git/config", prepare=recreated("../../.git/config")),
            ),
            "The explored folder is replaced with a link to another.": (
                "file_not_related",
                writing(
                    SERVICE,
                    "src/payments/service.py",
                    UNSEEN,
                    "src/payments/new.py",
                    prepare=folder_swapped,
                ),
            ),
            "Link and file change places between calls.": (
                "path_outside_root",
                swapped_between_calls,
            ),
            "A link comes and goes where a new folder is to be made.": ("path_outside_root", race),
        },
    ),
    *attempts(
        "searching without looking",
        {
            "Files are added that no call has shown.": (
                "requirements_missing",
                adding(UNSEEN, "src/cart/cart.py"),
            ),
            "Files are added that only a search by meaning has named.": (
                "requirements_missing",
                adding(
                    UNSEEN,
                    calls=(
                        ("search_smart", {"query": "charge a credit card"}),
                        ("context_bundle", {"goal": "credit card"}),
                    ),
                ),
            ),
            "Files are added that only a list of imports has named.": (
                "requirements_missing",
                adding("src/users/repository.py", calls=(("deps_closure", {"path": SERVICE}),)),
            ),
            "Files are added that only a list of names has shown.": (
                "requirements_missing",
                adding(UNSEEN, calls=(("search_files", {"pattern": "**/gateway.py"}),)),
            ),
            "Files are added that only a list of dependents has named.": (
                "requirements_missing",
                adding(
                    "src/users/registration.py",
                    calls=(("analyze_impact", {"target_files": ["src/users/repository.py"]}),),
                ),
            ),
            "Files are opened by lines that stand in every file.": (
                "could stand in any file",
                everything_by_boilerplate,
            ),
            "Files are added out of hundreds that calls have returned.": (
                "requirements_missing",
                hundreds_of_files,
            ),
            "Files outside of the project are added.": (
                "path_outside_root",
                adding("/etc/hostname", "../outside.py", LOGIN),
            ),
        },
    ),
)
