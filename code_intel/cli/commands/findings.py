"""What `doctor` finds of the registries of commands: whether they can be used, and who executes what they have."""

from collections.abc import Iterator

from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import counted, visible
from code_intel.index.doctor import Finding
from code_intel.registry import place, prompts, runners
from code_intel.registry.bm25 import first_of_each
from code_intel.registry.learning import Experience
from code_intel.registry.loading import Loaded, Registries
from code_intel.registry.options import Asked

NAMED = 3
"""Commands without a prompt that are named; of the others it is said how many there are."""
NO_PROMPT = "Write their prompts, as docs/command-registry.md shows, or install climpt."

PUT_ASIDE = "The next execution that is noted puts it aside, or remove .code-intel/commands.json."
NEWER = "Use the newer code-intel for it, or remove .code-intel/commands.json."


def registry_findings(settings: Settings) -> list[Finding]:
    """Return what there is to say of a project's own registries; nothing where it has none."""
    return list(_findings(settings)) if place.has_registry(settings.root) else []


def _findings(settings: Settings) -> Iterator[Finding]:
    kept = Experience(settings.root).kept()
    if kept.note:
        yield Finding("warning", kept.note, NEWER if kept.newer else PUT_ASIDE)
    registries = Registries(settings.root)
    try:
        agents = registries.agents()
        runner = runners.chosen(settings).name
    except CodeIntelError as error:
        yield Finding("error", error.message, error.hint)
        return
    for agent in agents:
        try:
            loaded = registries.of(agent)
        except CodeIntelError as error:
            yield Finding("error", error.message, error.hint)
            continue
        notes = (visible(f"{agent}: {note}.") for note in loaded.registry.notes)
        yield from (Finding("warning", note) for note in notes)
        if runner == runners.PROMPTS:
            yield from _without_prompt(loaded)
        count = len(loaded.registry.commands)
        yield Finding(
            "info", f"{counted(count, 'command')} of {agent} can be found; {_by(runner)}."
        )


def _by(runner: str) -> str:
    return "their prompts are rendered here" if runner == runners.PROMPTS else f"{runner} executes"


def _without_prompt(loaded: Loaded) -> Iterator[Finding]:
    """Yield what says that commands have no prompt, where nobody but us would have one."""
    folder = place.prompts_of(loaded.registry.path)
    bare = [
        each.name
        for each in first_of_each(loaded.registry.commands)
        if not any((folder / name).is_file() for name in prompts.places(each, Asked()))
    ]
    if bare:
        more = f" and {len(bare) - NAMED} more" if len(bare) > NAMED else ""
        what = f"There is no prompt for {', '.join(bare[:NAMED])}{more}."
        yield Finding("warning", what, NO_PROMPT)
