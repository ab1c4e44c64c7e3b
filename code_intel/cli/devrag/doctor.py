"""Check the index. Exits with 1 if something does not work."""

import argparse
from typing import Any

from code_intel.cli.devrag.options import add_output
from code_intel.index.doctor import examine
from code_intel.tools.context.corpus_service import devrag_sync


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Print every finding."""
    found = examine(args.config, command=devrag_sync(args.config))
    rows = [{"level": f.level, "what": f.what, "remedy": f.remedy} for f in found]
    failed = any(f.level == "error" for f in found)
    text = "\n".join(f"{f.level:<8}{f.what} {f.remedy}".rstrip() for f in found)
    return int(failed), {"ok": not failed, "findings": rows}, text
