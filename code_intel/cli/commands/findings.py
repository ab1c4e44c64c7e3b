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

MAX_NAMED = 3
"""Number of commands without a prompt that are named; the others are counted."""
NO_PROMPT = "Write the prompts as described in docs/command-registry.md, or install climpt."


def registry_findings(settings: Settings) -> list[IndexFinding]:
    """Return the findings about a project's registries, if it has any."""
    return list(_findings(settings)) if place.has_registry(settings.root) else []


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
        count = len(loaded.registry.commands)
        yield IndexFinding("info", f"{counted(count, 'command')} of {agent}; {_runs(runner)}.")


def _runs(runner: str) -> str:
    rendered = runner == runners.PROMPTS
    return "code-intel renders their prompts" if rendered else f"{runner} executes them"


def _missing_prompts(loaded: LoadedRegistry) -> Iterator[IndexFinding]:
    """Yield a finding if some commands have no prompt file."""
    folder = place.prompts_of(loaded.registry.path)
    names = [
        each.name
        for each in first_of_each(loaded.registry.commands)
        if not any((folder / name).is_file() for name in prompts.places(each, OptionRequest()))
    ]
    if names:
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        what = f"There is no prompt for {', '.join(names[:MAX_NAMED])}{more}."
        yield IndexFinding("warning", what, NO_PROMPT)
