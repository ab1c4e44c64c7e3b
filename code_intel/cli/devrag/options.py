"""Provide what the `devrag` commands share: options, fields to show, paths, and the index."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.config import IndexConfig
from code_intel.errors import UsageError

if TYPE_CHECKING:  # imported late, so that `devrag serve` answers the MCP handshake quickly
    from code_intel.tools.context.corpus_service import CorpusService

FIELD_ALIASES = {"content": "chunk", "filename": "document"}
"""Names that the original devrag's help uses for fields of results."""


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add `--output`, and list `--config` and `--model-dir` in the help.

    `devrag.line` has parsed those two already, and `args.config` is the loaded IndexConfig.
    """
    parser.add_argument(
        "--config",
        metavar="PATH",
        help="the configuration file (default: the first of config.json, devrag.json and "
        "devrag-forest.json)",
    )
    parser.add_argument("--model-dir", metavar="PATH", help="folder of local models")
    parser.add_argument(
        "--output",
        "--format",
        choices=("json", "text"),
        default="json",
        help="format of the answer",
    )


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Add `--fields`."""
    parser.add_argument(
        "--fields", default="", help="only these fields of each row, separated by commas"
    )


def add_path(parser: argparse.ArgumentParser, name: str = "filepath") -> None:
    """Add the file that a command works on."""
    parser.add_argument(
        name,
        help="a file; a relative path is looked up in the folder of the configuration, then in the "
        "current folder",
    )


def select_fields(
    rows: Sequence[Mapping[str, Any]], fields: str, known: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the rows with only the chosen fields.

    Args:
        rows: The rows.
        fields: Names of fields, separated by commas; empty for all.
        known: The fields that a row may have.

    Raises:
        UsageError: A field is unknown.
    """
    wanted = [name.strip() for name in fields.split(",") if name.strip()]
    names = [name if name in known else FIELD_ALIASES.get(name, name) for name in wanted]
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"There is no field {unknown[0]}.",
            hint=f"Fields: {', '.join(known)}.",
            details={"field": "fields"},
        )
    return [{k: row[k] for k in names if k in row} if names else dict(row) for row in rows]


def resolve_path(config: IndexConfig, text: str) -> str:
    """Return a path relative to the config, or absolute if it exists only in the current folder."""
    if text and not os.path.lexists(config.folder / text) and os.path.lexists(text):
        return str(Path(text).absolute())
    return text


@contextmanager
def open_index(config: IndexConfig, *, readonly: bool = False) -> "Iterator[CorpusService]":
    """Open the index of a config; see `open_service`."""
    from code_intel.tools.context.corpus_service import open_service

    service = open_service(config, readonly=readonly)
    try:
        yield service
    finally:
        service.index.close()


@contextmanager
def open_existing(config: IndexConfig) -> "Iterator[CorpusService]":
    """Open an existing index for writing, without creating, migrating or replacing it.

    Raises:
        NotFoundError: There is no index.
        StorageError: It is damaged, of another version, or not an index.
    """
    with open_index(config, readonly=True) as service:
        service.index.store  # noqa: B018 - raises if it cannot be used
    with open_index(config) as service:
        yield service
