"""Show, approve and revoke the definitions of upstreams in a project's `config.toml`."""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.config import UPSTREAMS, Settings, UpstreamConfig
from code_intel.config.confinement import could_be_written_by
from code_intel.config.upstream_approval import APPROVED_UPSTREAMS, approved_rows
from code_intel.config.upstreams import absolute_path
from code_intel.errors import NotFoundError, StorageError, UsageError
from code_intel.foundation import durable
from code_intel.foundation.state_folder import is_within, project_digest
from code_intel.foundation.text import mixed_word

Row = tuple[str, str, str]

STARTS = "It starts this program with your rights, at questions and in `code-intel doctor`."
OWN_PROGRAM = "The program is a file of the project: each commit can change it without a question."
RUNS_IN = "It runs in {cwd}, from where many programs load code and settings."
SENDS = "It sends questions about the project to this address."
TOKEN = "It sends the content of {file} to this address."  # noqa: S105
LOOKS_LIKE = "It contains letters that look like others, in {word}."
LONG = "Its definition has {count:,} characters. Read all of it before you approve it."
LONG_CHARS = 2000
VARIABLES = "It uses these variables of your environment: {names}."
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")


class ProposedUpstream(NamedTuple):
    """A definition of the file.

    Attributes:
        name: The upstream.
        digest: Its digest.
        definition: The keys of the table as they are written.
        is_approved: Whether the user has approved it.
        effects: What it does if it is approved.
        problem: Why no approval counts, or empty.
    """

    name: str
    digest: str
    definition: dict[str, Any]
    is_approved: bool
    effects: tuple[str, ...]
    problem: str


def proposals(settings: Settings) -> list[ProposedUpstream]:
    """Return the definitions of a project."""
    return [_proposal(settings, config) for config in settings.upstreams.values()]


def proposal(settings: Settings, name: str) -> ProposedUpstream:
    """Return one definition.

    Raises:
        NotFoundError: The project has none of this name.
    """
    for each in proposals(settings):
        if each.name == name:
            return each
    raise NotFoundError(
        f"{settings.state / 'config.toml'} has no table [upstreams.{name}].",
        hint="`code-intel upstreams list` shows the tables of the project.",
        details={"field": "name"},
    )


def approve(settings: Settings, name: str, digest: str) -> None:
    """Note that the user has approved a definition, instead of an earlier one of this name.

    Raises:
        UsageError: The definition has another digest, or no approval would count.
        StorageError: The user's state folder cannot be written.
    """
    found = proposal(settings, name)
    if found.digest != digest:
        raise UsageError(
            f"The definition of {name} has the digest {found.digest}, not {digest[:64]}.",
            hint=f"See what it does now: `code-intel upstreams approve {name} --dry-run`.",
            details={"field": "digest"},
        )
    if could_be_written_by(settings.root, settings.state_dir):
        raise UsageError(
            f"The state folder {settings.state_dir} is inside the project, so an approval there"
            " would not count.",
            hint="Set CODE_INTEL_STATE_DIR to a folder outside the project.",
            details={"field": "state_dir"},
        )
    own = project_digest(settings.root)
    _change(settings, lambda rows: [*_without(rows, own, (name,)), (own, name, digest)])


def revoke(settings: Settings, names: Sequence[str] = UPSTREAMS, *, dry_run: bool = False) -> int:
    """Remove approvals of a project, also of definitions that have changed; return how many.

    Raises:
        StorageError: The user's state folder cannot be written.
    """
    own = project_digest(settings.root)
    file = settings.state_dir / APPROVED_UPSTREAMS
    before = _rows(file)
    revoked = len(before) - len(_without(before, own, names))
    if revoked and not dry_run:
        _change(settings, lambda rows: _without(rows, own, names))
    return revoked


def _without(rows: Sequence[Row], project: str, names: Sequence[str]) -> list[Row]:
    return [row for row in rows if not (row[0] == project and row[1] in names)]


def _change(settings: Settings, change: Callable[[list[Row]], list[Row]]) -> None:
    """Replace the file of approvals under a lock; only its owner can read it."""
    file = settings.state_dir / APPROVED_UPSTREAMS
    durable.make_folder(file.parent, 0o700)
    with durable.locked(file.with_name(f"{file.name}.lock")):
        rows = change(_rows(file))
        if not file.exists():
            durable.create(file, b"", 0o600)
        durable.replace(file, "".join(f"{' '.join(row)}\n" for row in rows).encode())


def _rows(file: Path) -> list[Row]:
    try:
        return approved_rows(file)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{file} cannot be read: {error}.", hint="Correct or remove the file."
        ) from error


def _proposal(settings: Settings, config: UpstreamConfig) -> ProposedUpstream:
    definition = dict(config.definition)
    effects = (
        _of_url(settings, definition)
        if definition.get("url")
        else _of_command(settings, definition)
    )
    if variables := dict.fromkeys(_VARIABLE.findall(_texts(definition))):
        effects.append(VARIABLES.format(names=", ".join(variables)))
    if (count := len(_texts(definition))) > LONG_CHARS:
        effects.append(LONG.format(count=count))
    if word := mixed_word(_texts(definition)):
        effects.append(LOOKS_LIKE.format(word=ascii(word)))
    problem = "" if config.is_approved else config.problem
    return ProposedUpstream(
        config.name, config.digest, definition, config.is_approved, tuple(effects), problem
    )


def _of_command(settings: Settings, definition: dict[str, Any]) -> list[str]:
    """Return what a program does, and where it comes from."""
    command = str(definition["command"])
    cwd = os.path.realpath(absolute_path(settings.root, definition.get("cwd", ".")))
    effects = [STARTS]
    program = _program(settings, command)
    if program:
        effects.append(f"The program is now {program}.")
        if is_within(program, settings.root):
            effects.append(OWN_PROGRAM)
    return [*effects, RUNS_IN.format(cwd=cwd)]


def _program(settings: Settings, command: str) -> str:
    """Return the file that a command names now, links resolved; empty if it is not found."""
    if "${" in command:
        return ""
    if "/" in command or "\\" in command:
        return os.path.realpath(absolute_path(settings.root, command))
    found = shutil.which(command, path=settings.passed_on.get("PATH", ""))
    return os.path.realpath(found) if found else ""


def _of_url(settings: Settings, definition: dict[str, Any]) -> list[str]:
    effects = [SENDS]
    if token_file := definition.get("token_file"):
        file = os.path.realpath(absolute_path(settings.root, token_file))
        effects.append(TOKEN.format(file=file))
    return effects


def _texts(value: object) -> str:
    """Return all texts in the values of a definition."""
    if isinstance(value, dict):
        return " ".join(map(_texts, value.values()))
    return " ".join(map(_texts, value)) if isinstance(value, list) else str(value)
