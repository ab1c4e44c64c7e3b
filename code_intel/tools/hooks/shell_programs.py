"""Define which arguments of common programs name files to write, and what is searched for."""

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

_VALUE_OPTIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "touch": frozenset({"-d", "-r", "-t", "--date", "--reference"}),
        "truncate": frozenset({"-s", "-r", "--size", "--reference"}),
        "sed": frozenset({"-e", "-f", "-l", "--expression", "--file"}),
        "perl": frozenset({"-e", "-E", "-I", "-M"}),
        "install": frozenset({"-m", "-o", "-g"}),
        "sort": frozenset({"-o", "-k", "-t", "-S", "-T", "--output"}),
        "curl": frozenset({"-o", "-X", "-H", "-d", "-u", "--output"}),
        "wget": frozenset({"-O", "-P", "--output-document"}),
        "git restore": frozenset({"-s", "--source"}),
    }
)
"""The options that take a value, by program."""
_SEARCH_VALUES = frozenset(
    {
        "-A", "-B", "-C", "-m", "-g", "-t", "-T", "-M", "-j", "-e", "-f", "--after-context",
        "--before-context", "--context", "--max-count", "--glob", "--iglob", "--type",
        "--type-not", "--include", "--exclude", "--exclude-dir", "--max-depth", "--sort",
        "--color", "--regexp", "--file", "--extension", "--exclude-from",
    }
)  # fmt: skip
"""The same of the programs that search in files."""
_FILE_NAME_TESTS = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename"})
"""The tests of `find` that compare names."""
_SUFFIXED = {"sed": "-i", "perl": "-i"}
"""Options whose value is attached and optional, as in `-i.bak`."""


class Arguments(NamedTuple):
    """The arguments of a program, taken apart.

    Attributes:
        flags: The names of all options: `-n`, `--output`.
        values: The values of the options that take one.
        operands: The other arguments.
    """

    flags: frozenset[str]
    values: Mapping[str, Sequence[str]]
    operands: Sequence[str]

    def value(self, *names: str) -> list[str]:
        """Return the values of an option with these names."""
        return [value for name in names for value in self.values.get(name, ())]


def take_apart(
    arguments: Sequence[str], value_options: frozenset[str], suffixed: str = ""
) -> Arguments:
    """Return the arguments of a program, taken apart.

    >>> take_apart(["-nA", "3", "login", "src"], frozenset({"-A"})).operands
    ['login', 'src']
    """
    flags: set[str] = set()
    values: dict[str, list[str]] = {}
    operands: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            operands += rest
            break
        if argument.startswith("--"):
            name, has_value, value = argument.partition("=")
            flags.add(name)
            if has_value or (name in value_options and rest):
                values.setdefault(name, []).append(value if has_value else rest.pop(0))
        elif argument.startswith("-") and len(argument) > 1:
            for place, letter in enumerate(argument[1:], start=2):
                flags.add(f"-{letter}")
                if f"-{letter}" in value_options:
                    value = argument[place:] or (rest.pop(0) if rest else "")
                    values.setdefault(f"-{letter}", []).append(value)
                    break
                if f"-{letter}" == suffixed:
                    break
        else:
            operands.append(argument)
    return Arguments(frozenset(flags), values, operands)


def written_by(
    program: str, arguments: Sequence[str], is_folder: Callable[[str], bool]
) -> list[str]:
    """Return the files that a program writes, moves or deletes; [] if that is unknown.

    Args:
        program: Its name; that of `git` with the subcommand.
        arguments: Its arguments.
        is_folder: Whether a word names a folder.
    """
    rule = _WRITERS.get(program)
    if rule is None:
        return []
    options = _VALUE_OPTIONS.get(program, frozenset())
    if program in {"dd", "git checkout"}:
        return rule(Arguments(frozenset(), {}, arguments), is_folder)
    return rule(take_apart(arguments, options, _SUFFIXED.get(program, "")), is_folder)


def searched_by(program: str, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the patterns that a program searches for, and the words that say where.

    >>> searched_by("rg", ["-n", "-e", "login", "-e", "logout", "src"])
    (['login', 'logout'], ['src'])
    """
    if program == "find":
        patterns = [value for name, value in pairwise(arguments) if name in _FILE_NAME_TESTS]
        return patterns, []
    if program not in _SEARCHERS:
        return [], []
    given = take_apart(arguments, _SEARCH_VALUES)
    if "--files" in given.flags:  # rg lists file names
        return [], []
    patterns = given.value("-e", "--regexp")
    named = patterns or "-f" in given.flags or "--file" in given.flags
    if named:
        return patterns, list(given.operands)
    return list(given.operands[:1]), list(given.operands[1:])


_Rule = Callable[[Arguments, Callable[[str], bool]], list[str]]


def _all(given: Arguments, _: Callable[[str], bool]) -> list[str]:
    return list(given.operands)


def _copied(given: Arguments, is_folder: Callable[[str], bool]) -> list[str]:
    """Return where files are copied to."""
    *sources, target = given.operands or [""]
    if not sources:
        return []
    if not is_folder(target):
        return [target]
    return [f"{target.rstrip('/')}/{os.path.basename(source)}" for source in sources]  # noqa: PTH119 - words


def _moved(given: Arguments, is_folder: Callable[[str], bool]) -> list[str]:
    return [*given.operands[:-1], *_copied(given, is_folder)]


def _edited_by_sed(given: Arguments, _: Callable[[str], bool]) -> list[str]:
    if not given.flags & {"-i", "--in-place"}:
        return []
    has_script = given.flags & {"-e", "-f", "--expression", "--file"}
    return list(given.operands if has_script else given.operands[1:])


def _edited_by_perl(given: Arguments, _: Callable[[str], bool]) -> list[str]:
    return list(given.operands) if "-i" in given.flags and given.flags & {"-e", "-E"} else []


def _output(*names: str) -> _Rule:
    return lambda given, _: given.value(*names)


def _restored(given: Arguments, _: Callable[[str], bool]) -> list[str]:
    is_index_only = given.flags & {"-S", "--staged"} and not given.flags & {"-W", "--worktree"}
    return [] if is_index_only else list(given.operands)


def _after_dashes(given: Arguments, _: Callable[[str], bool]) -> list[str]:
    """Return the files of `git checkout BRANCH -- FILES`."""
    words = list(given.operands)
    return words[words.index("--") + 1 :] if "--" in words else []


def _of_dd(given: Arguments, _: Callable[[str], bool]) -> list[str]:
    return [word[3:] for word in given.operands if word.startswith("of=")]


_WRITERS: Mapping[str, _Rule] = MappingProxyType(
    {
        "tee": _all,
        "sponge": _all,
        "ed": _all,
        "rm": _all,
        "unlink": _all,
        "shred": _all,
        "touch": _all,
        "truncate": _all,
        "cp": _copied,
        "install": _copied,
        "ln": _copied,
        "mv": _moved,
        "sed": _edited_by_sed,
        "gsed": _edited_by_sed,
        "perl": _edited_by_perl,
        "dd": _of_dd,
        "sort": _output("-o", "--output"),
        "curl": _output("-o", "--output"),
        "wget": _output("-O", "--output-document"),
        "git rm": _all,
        "git mv": _moved,
        "git restore": _restored,
        "git checkout": _after_dashes,
    }
)
"""What a program writes, by its arguments."""
_SEARCHERS = frozenset({"rg", "grep", "egrep", "fgrep", "zgrep", "ag", "ack", "git grep", "fd"})
