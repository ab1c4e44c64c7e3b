"""Open the engine that the configuration of a server names."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a slow import
    from code_intel.shared.milvus import SharedIndex


def add_config(parser: argparse.ArgumentParser) -> None:
    """Declare `--config`."""
    parser.add_argument(
        "--config", type=Path, required=True, metavar="FILE", help="the configuration of the server"
    )


def open_index(args: argparse.Namespace) -> "SharedIndex":
    """Open the index.

    Raises:
        ConfigError: The configuration cannot be used.
        BusyError: The engine is a file, and a server has it open.
        UpstreamError: The engine does not answer.
    """
    from code_intel.servers.shared.settings import read_settings
    from code_intel.shared.milvus import SharedIndex

    settings = read_settings(args.config)
    return SharedIndex.open(
        settings.engine, settings.engine_token(), partitions=settings.engine_partitions
    )
