"""Add, replace and remove our hooks in a client's hook file, and keep every other byte.

Hooks are arrays by event in the object `hooks`. Our hooks are recognized by their command. A group
that contains only our hooks belongs to init, which rewrites it.
"""

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

from code_intel.cli.setup import blank_files, clients
from code_intel.cli.setup.changes import content
from code_intel.cli.setup.client_hooks import HookFile
from code_intel.cli.setup.clients import GATEWAY, Client
from code_intel.cli.setup.json_text import (
    appended,
    as_strict_json,
    find_member,
    first_object,
    follows_bracket,
    members_of,
    without_member,
)
from code_intel.errors import ConfigError

HookMode = Literal["advise", "enforce", "off"]
KEY = "hooks"
COMMAND = "command -v {program} >/dev/null 2>&1 || exit 0; exec {program} hook {adapter}{option}"
"""Does nothing if the program is missing: a client shows an error for each hook that fails."""
DENYING_COMMAND = (
    "command -v {program} >/dev/null 2>&1 || exit 0; {program} hook {adapter}{option}; "
    "case $? in 0) ;; 2) exit 2 ;; *) echo 'code-intel failed, so this is denied. "
    "Run code-intel doctor.' >&2; exit 2 ;; esac"
)
"""Also denies if the program fails, as when its Python is broken; a client would go on."""
ENFORCE = " --enforce"
BROKEN = "{path} is not a JSON file with an object hooks that contains arrays. It was not changed."
Groups = Mapping[str, Sequence[Mapping[str, Any]]]


class _OurHook(NamedTuple):
    """The place of one of our hooks: its event, group, and position in the group, if it has one."""

    event: str
    group: int
    position: int | None


def mode_of(client: Client, root: Path) -> HookMode | None:
    """Return the mode of our hooks in the client's file, or None."""
    hooks = client.hooks
    document = _read(content(root / hooks.file) or b"") if hooks else None
    if hooks is None or document is None:
        return None
    commands = [_command_at(document, hook) for hook in _our_hooks(hooks, document)]
    if not commands:
        return None
    return "enforce" if any(ENFORCE in command for command in commands) else "advise"


def has_hooks(hooks: HookFile, data: bytes | None) -> bool:
    """Return whether a file's content has our hooks."""
    document = _read(data or b"")
    return document is not None and bool(_our_hooks(hooks, document))


def merge(
    client: Client, hooks: HookFile, path: Path, before: bytes | None, mode: HookMode
) -> bytes | None:
    """Return the content of a hook file with our hooks in a mode; None for no file.

    Raises:
        ConfigError: The file cannot be edited; the hint gives the hooks to add.
    """
    document = _read(before or b"")
    program = _usable_program(hooks, document or {}) or clients.program(client, GATEWAY)
    wanted = {} if mode == "off" else groups_for(hooks, program, enforces=mode == "enforce")
    if before is None:
        return _new_text(hooks, wanted).encode() if wanted else None
    if document is None and wanted:
        hint = f"Correct the file, or add these hooks by hand: {json.dumps({KEY: wanted})}"
        raise ConfigError(BROKEN.format(path=path), hint=hint)
    if document is not None and _present(hooks, document) == wanted:
        return before
    left = removed(hooks, path, before)
    return _with_hooks(left, hooks, wanted) if wanted else left


def removed(hooks: HookFile, path: Path, before: bytes) -> bytes | None:
    """Return the file without our hooks; None if it then contains nothing and `merge` created it.

    Raises:
        ConfigError: It may contain our hooks, but cannot be read.
    """
    if not _may_be_ours(before):
        return before
    document = _read(before)
    if document is None:
        hint = "Remove the hooks that start `code-intel hook` by hand, then run the command again."
        raise ConfigError(BROKEN.format(path=path), hint=hint)
    text = before.decode()
    ours = _our_hooks(hooks, document)
    if not ours:
        return before
    new_text = _new_text(hooks, _present(hooks, document))
    if text == new_text:
        return None
    rest = blank_files.emptied(text, new_text)
    if rest is not None:
        return rest.encode()
    return _without(text, ours).encode()


def groups_for(hooks: HookFile, program: str, *, enforces: bool) -> Groups:
    """Return the hooks that `init` writes, by event."""
    words = {"program": shlex.quote(program), "adapter": hooks.adapter}
    words["option"] = ENFORCE if enforces else ""

    def group(event: str, matcher: str) -> dict[str, Any]:
        form = DENYING_COMMAND if enforces and event in hooks.before_writes else COMMAND
        timeout = hooks.timeouts.get(event, hooks.timeout)
        handler = {**hooks.handler, "command": form.format_map(words), "timeout": timeout}
        return {
            **({"matcher": matcher} if matcher else {}),
            **({KEY: [handler]} if hooks.grouped else handler),
        }

    return {event: [group(event, matcher)] for event, matcher in hooks.events.items()}


def _may_be_ours(before: bytes) -> bool:
    return b" hook " in before and GATEWAY.encode() in before


def _new_text(hooks: HookFile, groups: Groups) -> str:
    document = {**hooks.document, KEY: groups}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _read(before: bytes) -> dict[str, Any] | None:
    """Return a file's document; None if it cannot be read, or if its hooks are not arrays."""
    try:
        text = as_strict_json(before.decode().removeprefix("\ufeff"))
        document = json.loads(text.strip() or "{}")
    except (ValueError, RecursionError):
        return None
    events = document.get(KEY, {}) if isinstance(document, dict) else None
    if not isinstance(events, dict) or not all(isinstance(one, list) for one in events.values()):
        return None
    return dict(document)


def _our_hooks(hooks: HookFile, document: Mapping[str, Any]) -> list[_OurHook]:
    """Return the places of our hooks; of groups that contain only ours, the group."""
    found = []
    for event, groups in document.get(KEY, {}).items():
        for number, group in enumerate(groups):
            inner = group.get(KEY) if isinstance(group, dict) and hooks.grouped else [group]
            if not isinstance(inner, list):
                continue
            ours = [place for place, one in enumerate(inner) if _is_ours(hooks, one)]
            if ours and len(ours) == len(inner):
                found.append(_OurHook(event, number, None))
            else:
                found += [_OurHook(event, number, place) for place in ours]
    return found


def _present(hooks: HookFile, document: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return our hooks in a file by event."""
    found: dict[str, list[Any]] = {}
    for hook in _our_hooks(hooks, document):
        group = document[KEY][hook.event][hook.group]
        one = group if hook.position is None else group[KEY][hook.position]
        found.setdefault(hook.event, []).append(one)
    return found


def _command_at(document: Mapping[str, Any], hook: _OurHook) -> str:
    group = document[KEY][hook.event][hook.group]
    inner = group.get(KEY)
    return str((inner[hook.position or 0] if inner else group)["command"])


def _is_ours(hooks: HookFile, handler: object) -> bool:
    """Return whether a hook starts our program in the form of `init`, with any path and mode."""
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and bool(_program_in(hooks, command))


def _program_in(hooks: HookFile, command: str) -> str:
    """Return the program that one of our commands starts; empty for other commands."""
    forms = (_pattern(form, hooks.adapter) for form in (COMMAND, DENYING_COMMAND))
    match = next(filter(None, (form.fullmatch(command) for form in forms)), None)
    try:
        words = shlex.split(match["program"]) if match else []
    except ValueError:
        return ""
    is_ours = len(words) == 1 and PurePath(words[0]).name.removesuffix(".exe") == GATEWAY
    return words[0] if is_ours else ""


def _pattern(form: str, adapter: str) -> re.Pattern[str]:
    """Return a pattern of a command, with any program and mode."""
    pattern = re.escape(form).replace(r"\{program\}", "(?P<program>.+)", 1)
    pattern = pattern.replace(r"\{program\}", "(?P=program)")
    pattern = pattern.replace(r"\{adapter\}", re.escape(adapter))
    return re.compile(pattern.replace(r"\{option\}", f"(?:{ENFORCE})?"))


def _usable_program(hooks: HookFile, document: Mapping[str, Any]) -> str:
    """Return the program of our hooks in a file; empty without hooks, or if it is missing.

    A name stays, since the file may be shared and the program may be found elsewhere.
    """
    commands = (_command_at(document, hook) for hook in _our_hooks(hooks, document))
    program = next((_program_in(hooks, command) for command in commands), "")
    is_missing = Path(program).is_absolute() and not os.access(program, os.X_OK)
    return "" if is_missing else program


def _with_hooks(left: bytes | None, hooks: HookFile, wanted: Groups) -> bytes:
    """Return a file that has none of our hooks with our hooks."""
    if left is None:
        return _new_text(hooks, wanted).encode()
    text = left.decode()
    if blank_files.is_blank(text):
        return blank_files.filled(text, _new_text(hooks, wanted)).encode()
    return _added(text, wanted).encode()


def _added(text: str, wanted: Groups) -> str:
    """Return the text of an object with our hooks after those of each event."""
    top = first_object(text)
    if find_member(text, top, KEY) is None:
        return appended(text, top, 1, {KEY: wanted})
    for event, groups in wanted.items():
        events = find_member(text, top, KEY)
        assert events is not None  # noqa: S101 - found before
        array = find_member(text, events.value_start, event)
        if array is None:
            text = appended(text, events.value_start, 2, {event: groups})
        else:
            text = appended(text, array.value_start, 3, groups)
    return text


def _without(text: str, ours: Sequence[_OurHook]) -> str:
    """Return the text without our hooks, and without the arrays and object that `_added` wrote."""
    top = first_object(text)
    events = find_member(text, top, KEY)
    assert events is not None  # noqa: S101 - it contains our hooks
    object_existed = follows_bracket(text, events.value_start)
    for hook in reversed(ours):  # so that positions stay valid
        array = find_member(text, events.value_start, hook.event)
        assert array is not None  # noqa: S101 - as above
        if hook.position is None:
            array_existed = follows_bracket(text, array.value_start)
            text = without_member(text, array.value_start, str(hook.group))
            if not array_existed and not members_of(text, array.value_start)[0]:
                text = without_member(text, events.value_start, hook.event)
        else:
            group = find_member(text, array.value_start, str(hook.group))
            assert group is not None  # noqa: S101 - as above
            inner = find_member(text, group.value_start, KEY)
            assert inner is not None  # noqa: S101 - as above
            text = without_member(text, inner.value_start, str(hook.position))
    left, _ = members_of(text, events.value_start)
    return text if left or object_existed else without_member(text, top, KEY)
