"""Fill the placeholders of a client's prompt file. Nothing is run, and no other file is read.

Shell commands (`` !`git status` ``, `!{git status}`) and included files (`@README.md`, `@{docs}`)
stay as text, with the placeholders in them. A value is never replaced again.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from code_intel.foundation.text import counted
from code_intel.registry.checking import reason_of
from code_intel.registry.options import OptionRequest
from code_intel.registry.place import PROMPTS
from code_intel.registry.prompts import MAX_PROMPT_NOTES, bounded, failed, fill, name_of
from code_intel.registry.records import Command, ExecutionResult
from code_intel.registry.sources.discovery import UNUSABLE, parsed
from code_intel.registry.sources.formats import SKILLS, SOURCES, WHOLE

SKILL_DIR = "{CLAUDE_SKILL_DIR}"
SKILL_HEAD = "The files of this skill are in {}.\n\n"
APPENDED = "\n\nARGUMENTS: {}"
"""The end of a prompt that has no place for its arguments, as clients write it."""


def render(root: Path, command: Command, asked: OptionRequest) -> ExecutionResult:
    """Return the prompt of a client's file; raise ExecutionError if it cannot be read any more."""
    source, folder = SOURCES[command.origin], command.file.rpartition("/")[0]
    try:
        prompt = parsed(root, source, root / command.file)
    except UNUSABLE as error:
        why = f"The prompt file cannot be used: {reason_of(error)}."
        raise failed(command, why, "reload lists unusable files.") from None
    marks = source.found(prompt)
    names = dict.fromkeys(filter(None, map(name_of, marks)))
    values = {name.removeprefix("uv-"): value for name, value in asked.variables}
    if asked.stdin is not None:
        values["ARGUMENTS"] = asked.stdin
    unused = [] if names.keys() & WHOLE else [values[name] for name in values if name not in names]
    if values:
        whole = next((values[name] for name in WHOLE if name in values), " ".join(values.values()))
        values |= dict.fromkeys(WHOLE, whole)
    values[SKILL_DIR] = folder
    head = SKILL_HEAD.format(folder) if source.files == SKILLS else ""
    end = APPENDED.format(" ".join(unused)) if unused else ""
    text, is_complete = bounded((head, *fill(prompt.body, marks, values), end))
    missing = tuple(f"uv-{name}" for name in names if name not in values)
    said = (f"{name.removeprefix('uv-')} has no value: pass {name}." for name in missing)
    notes = (*_left(marks), *said)
    return ExecutionResult(
        text,
        PROMPTS,
        not is_complete,
        notes[:MAX_PROMPT_NOTES],
        command.file,
        missing=missing,
    )


def _left(found: Sequence[re.Match[str]]) -> Iterator[str]:
    """Yield a note on what a client would have run or read."""
    kinds = Counter(mark.lastgroup for mark in found)
    for kind, noun, done in (("shell", "shell command", "run"), ("include", "file", "read")):
        if kinds[kind]:
            yield f"{counted(kinds[kind], noun)} in the prompt: left as text, not {done}."
