"""Show what is indexed and what is missing. Nothing is written."""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output
from code_intel.operations.status import service_line, service_status
from code_intel.tools.context.corpus_service import open_service


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Print the status."""
    service = open_service(args.config, readonly=True)
    try:
        data = service_status(service)
        return 0, data, "\n".join([service_line(data), *args.config.notes])
    finally:
        service.index.close()
