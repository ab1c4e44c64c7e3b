"""What `devrag` commands have in common: options, fields to show, files on the line, an open index."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.config import IndexConfig
from code_intel.errors import UsageError

if TYPE_CHECKING:  # serving imports this before its handshake
    from code_intel.tools.context.corpus_service import CorpusService

FIELDS = {"content": "chunk", "filename": "document"}
"""Other names of result fields, which devrag's help has."""


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the global options, for the help (`line` reads them), and `--output`."""
    parser.add_argument("--config", metavar="PATH", help="the configuration (default: config.json)")
    parser.add_argument("--model-dir", metavar="PATH", help="folder in which a local model may be")
    parser.add_argument(
        "--output", "--format", choices=("json", "text"), default="json", help="how to answer"
    )


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Add `--fields`."""
    parser.add_argument("--fields", default="", help="only these fields of each row, with commas")


def add_path(parser: argparse.ArgumentParser, name: str = "filepath") -> None:
    """Add the file that a command is about."""
    parser.add_argument(name, help="relative to the configuration, else to where you are")


def kept(
    rows: Sequence[Mapping[str, Any]], fields: str, known: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the rows with the fields that were asked for alone, of the `known` that any row may have.

    Raises:
        UsageError: There is no such field.
    """
    wanted = [name.strip() for name in fields.split(",") if name.strip()]
    names = [name if name in known else FIELDS.get(name, name) for name in wanted]
    if odd := [name for name in names if name not in known]:
        raise UsageError(
            f"There is no field {odd[0]}.",
            hint=f"Fields: {', '.join(known)}.",
            details={"field": "fields"},
        )
    return [{k: row[k] for k in names if k in row} if names else dict(row) for row in rows]


def path_of(config: IndexConfig, text: str) -> str:
    """Return a path as tools take it: relative to the config; where only the shell knows it, absolute."""
    if text and not os.path.lexists(config.folder / text) and os.path.lexists(text):
        return str(Path(text).absolute())
    return text


@contextmanager
def opened(config: IndexConfig, *, readonly: bool = False) -> "Iterator[CorpusService]":
    """Hold the index of a config; see `open_service`."""
    from code_intel.tools.context.corpus_service import open_service

    service = open_service(config, readonly=readonly)
    try:
        yield service
    finally:
        service.index.close()


@contextmanager
def opened_as_it_is(config: IndexConfig) -> "Iterator[CorpusService]":
    """Hold an index that is there, for writing; none is made, none is moved away or migrated.

    Raises:
        NotFoundError: There is none.
        StorageError: It is not ours, damaged, or of another version.
    """
    with opened(config, readonly=True) as looking:
        looking.index.store  # noqa: B018 - opened at the first use
    with opened(config) as service:
        yield service
