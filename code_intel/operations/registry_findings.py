"""Check the command registries for `doctor`."""

from collections.abc import Iterator

from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import counted, visible
from code_intel.index.doctor import IndexFinding
from code_intel.registry import place, prompts, runners
from code_intel.registry.bm25 import first_of_each
from code_intel.registry.loading import LoadedRegistry, Registries
from code_intel.registry.options import OptionRequest
from code_intel.registry.sources.discovery import folders

MAX_NAMED = 3
"""Number of commands without a prompt that are named; the others are counted."""
NO_PROMPT = "Write the prompts as described in docs/command-registry.md, or install climpt."


def registry_findings(settings: Settings) -> list[IndexFinding]:
    """Return the findings about a project's registries, if it has any."""
    has_commands = place.has_registry(settings.root) or folders(settings.root)
    return list(_findings(settings)) if has_commands else []


def _findings(settings: Settings) -> Iterator[IndexFinding]:
    registries = Registries(settings.root)
    try:
        agents = registries.agents()
        runner = runners.chosen(settings).name
    except CodeIntelError as error:
        yield IndexFinding("error", error.message, error.hint)
        return
    for agent in agents:
        try:
            loaded = registries.of(agent)
        except CodeIntelError as error:
            yield IndexFinding("error", error.message, error.hint)
            continue
        notes = (visible(f"{agent}: {note}.") for note in loaded.registry.notes)
        yield from (IndexFinding("warning", note) for note in notes)
        if runner == runners.PROMPTS:
            yield from _missing_prompts(loaded)
        count = sum(not one.origin for one in loaded.registry.commands)
        if count or not loaded.registry.folders:
            yield IndexFinding("info", f"{counted(count, 'command')} of {agent}; {_runs(runner)}.")
        if loaded.registry.folders:
            prompts_there = counted(len(loaded.registry.commands) - count, "prompt file")
            where = ", ".join(loaded.registry.folders)
            yield IndexFinding("info", f"{prompts_there} in {where}, offered as commands.")


def _runs(runner: str) -> str:
    rendered = runner == runners.PROMPTS
    return "code-intel renders their prompts" if rendered else f"{runner} executes them"


def _missing_prompts(loaded: LoadedRegistry) -> Iterator[IndexFinding]:
    """Yield a finding if some commands have no prompt file."""
    folder = place.prompts_of(loaded.registry.path)
    names = [
        each.name
        for each in first_of_each(loaded.registry.commands)
        if not each.origin
        and not any((folder / name).is_file() for name in prompts.places(each, OptionRequest()))
    ]
    if names:
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        what = f"There is no prompt for {', '.join(names[:MAX_NAMED])}{more}."
        yield IndexFinding("warning", what, NO_PROMPT)
