"""Define the folders and formats of the clients' prompt files (`SOURCES`), and parse the files."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.chunking import front_matter
from code_intel.config.reading import toml_values
from code_intel.registry.checking import MAX_TEXT_CHARS, MalformedRegistry

WHOLE = frozenset({"ARGUMENTS", "args"})
"""Placeholders that stand for all arguments."""
SKILLS = "*/SKILL.md"
"""Each skill is a folder with further files."""
BY_USER = "disable-model-invocation"
"""Front matter of a prompt that only the user may start."""
_DECLARED = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")
_LINE = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(.*?)[ \t]*$", re.MULTILINE)


class PromptFile(NamedTuple):
    """A parsed prompt file; `declared` are placeholders that its front matter names."""

    body: str
    description: str = ""
    usage: str = ""
    declared: tuple[str, ...] = ()
    is_by_user: bool = False


class Source(NamedTuple):
    """A folder of a client, its files, and the pattern of `marks`: placeholders and commands."""

    origin: str
    folder: str
    files: str
    parse: Callable[[str], PromptFile]
    marks: str

    def found(self, prompt: PromptFile) -> list[re.Match[str]]:
        """Return what a prompt contains besides text; see `prompts.name_of`."""
        names = "".join(f"|{name}" for name in sorted(prompt.declared, reverse=True))
        marks = self.marks.replace("<declared>", names)
        return list(re.finditer(marks, prompt.body, re.MULTILINE))


def _markdown(text: str) -> PromptFile:
    values, body = front_matter.parse(text, _values) or ({}, text.strip())
    names = re.split(r"[\s,\[\]]+", as_text(values.get("arguments")))
    return PromptFile(
        body,
        as_text(values.get("description")),
        as_text(values.get("argument-hint")),
        tuple(filter(_DECLARED.fullmatch, names)),
        as_text(values.get(BY_USER)).lower() == "true",
    )


def _toml(text: str) -> PromptFile:
    values = toml_values(text)
    if not isinstance(values.get("prompt"), str):
        raise MalformedRegistry("it has no text `prompt`")
    return PromptFile(values["prompt"].strip(), as_text(values.get("description")))


def _values(block: str) -> dict[str, Any]:
    """Return the values of front matter; as clients do, read its lines if it is not YAML."""
    try:
        return front_matter.load(block)
    except ValueError:
        return {key: value.strip("\"'") for key, value in _LINE.findall(block)}


def as_text(value: object) -> str:
    """Return a value as text that a registry may contain; `[a]` is a list in YAML."""
    text = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value or "")
    clean = text.encode("utf-8", "replace").decode().replace("\0", "")
    return clean.strip()[:MAX_TEXT_CHARS]


_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_CLAUDE = (
    r"(?P<shell>!`[^`\n]+`|^```!(?:[^`]|`(?!``))*+```)"
    r"|(?P<include>(?<![\w`@])@(?=[\w~./-]*[./])[\w~./-]+)"
    r"|(?<![\\$])\$(?:ARGUMENTS\[(?P<index>\d{1,2})\]"
    r"|(?P<name>ARGUMENTS|\d{1,2}<declared>|\{CLAUDE_SKILL_DIR\})(?!\w))"
)
_CODEX = r"(?<!\$)\$(?P<name>[1-9]|[A-Z][A-Z0-9_]{0,60})(?!\w)"
_GEMINI = rf"(?P<shell>!{_BRACES})|(?P<include>@{_BRACES})|\{{\{{(?P<name>args)\}}\}}"

SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        source.origin: source
        for source in (
            Source("claude", ".claude/commands", "**/*.md", _markdown, _CLAUDE),
            Source("claude-skill", ".claude/skills", SKILLS, _markdown, _CLAUDE),
            Source("agents-skill", ".agents/skills", SKILLS, _markdown, _CLAUDE),
            Source("codex", ".codex/prompts", "*.md", _markdown, _CODEX),
            Source("gemini", ".gemini/commands", "**/*.toml", _toml, _GEMINI),
        )
    }
)
"""The sources by origin, in the order of their commands."""
