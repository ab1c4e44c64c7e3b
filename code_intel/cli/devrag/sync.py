"""Update the index and exit: words first, then vectors.

Files that cannot be read are listed, but the command succeeds.
"""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output
from code_intel.cli.output import progress
from code_intel.cli.sync import compute_vectors, update_words
from code_intel.tools.context.corpus_service import open_service
from code_intel.tools.documents.sync import report_data, report_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)
    parser.add_argument("--words-only", action="store_true", help="do not compute vectors now")


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Update the index."""
    service = open_service(args.config)
    try:
        with progress() as advance:
            report = update_words(service, advance)
            if not args.words_only:
                report.warnings += compute_vectors(service, advance)
        data = report_data(report) | {"pending": service.index.freshness().pending}
        return 0, data, report_text(report)
    finally:
        service.index.close()
