"""List the subcommands of each command, such as `code-intel map list`."""

import argparse
import importlib
from collections.abc import Mapping
from keyword import iskeyword
from types import MappingProxyType

from code_intel.cli.main import CliCommand


def _group(package: str, **about: str) -> tuple[CliCommand, ...]:
    """Return the subcommands of a package, which has a module of each name."""
    return tuple(
        CliCommand(name, f"code_intel.cli.{package}.{name}{'_' * iskeyword(name)}", text)
        for name, text in about.items()
    )


SUBCOMMANDS: Mapping[str, tuple[CliCommand, ...]] = MappingProxyType(
    {
        "map": _group(
            "map",
            list="list agreements and notes with their status",
            review="list what waits for a person, with the code",
            show="show one agreement or note in full",
            add="add an unconfirmed agreement, convention, decision or warning",
            confirm="confirm one agreement or note, or all agreements",
            propose="propose agreements from the history, tests and documents",
            rename="change an agreement's symbol or term",
            reject="mark an agreement as wrong, always or for one query",
            delete="move one agreement or note to the trash",
            stats="show how useful the map was",
            check="fail if an agreement is broken, for CI",
            sync="generate learned_pairs.json and update the map's index",
            rebuild="replace learned_pairs.json, or import its edits",
            prune="move outdated agreements to the trash",
            trash="list, show, restore or empty the trash",
            export="write agreements and notes for another project",
            **{"import": "import agreements and notes, unconfirmed"},
        ),
        "map trash": _group(
            "map.trash",
            list="list the trash",
            show="show a file of the trash in full",
            restore="restore a file to its original location",
            empty="permanently remove files from the trash",
        ),
        "plans": _group(
            "plans",
            list="list plans, the most recently used first",
            show="show the queries and results of a plan",
            presets="list presets: named expectations and strategies",
            prune="remove files that are old or above the limits",
            clear="remove plans, cached answers and knowledge pages",
        ),
        "commands": _group(
            "commands",
            search="find commands by purpose",
            describe="show a command's purpose and options",
            execute="execute a command and print its prompt",
            reload="read a registry again and report problems",
            list="list commands, or what they were used for",
        ),
        "snapshot": _group(
            "snapshot",
            write="write the vectors of the source to a file",
            load="load the vectors of files that are the same here",
        ),
        "shared": _group(
            "shared",
            token="create, list, rotate and revoke tokens",  # noqa: S106 - a description
            prune="remove what no branch needs, and old branches",
            delete="remove a repository or a branch from the index",
        ),
        "shared token": _group(
            "shared.token",
            create="create a token and print it",
            list="list the tokens, without secrets",
            rotate="replace a token; the old one counts for some hours more",
            revoke="revoke tokens; servers refuse them within seconds",
        ),
        "session": _group(
            "session",
            list="list sessions, the most recently used first",
            show="show what a session asked, found and did",
        ),
        "workspace": _group(
            "workspace",
            add="add another project of this machine",
            list="list the projects that --all searches",
            remove="remove a project from the list",
        ),
        "upstreams": _group(
            "upstreams",
            list="list the definitions, and whether they are approved",
            approve="show a definition, and approve it on this machine",
            revoke="revoke approvals",
        ),
    }
)


def add_subcommands(
    parser: argparse.ArgumentParser, command: str, *, required: bool = True
) -> None:
    """Declare the subcommands of a command and their options.

    The module of the chosen one becomes `args.subcommand_module`, which is None without a choice.
    """
    names = "|".join(subcommand.name for subcommand in SUBCOMMANDS[command])
    parser.set_defaults(subcommand_module=None)
    choices = parser.add_subparsers(dest="subcommand", required=required, metavar=names)
    for subcommand in SUBCOMMANDS[command]:
        module = importlib.import_module(subcommand.module)
        each = choices.add_parser(
            subcommand.name, help=subcommand.about, description=module.__doc__
        )
        each.formatter_class = argparse.RawDescriptionHelpFormatter
        # Without a default of its own, `map list` keeps the value of `map --json list`.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )
        module.configure(each)
        each.set_defaults(subcommand_module=module)
