"""Check every agreement against the current code. For CI, exits 1 if one fails.

An agreement fails if it is broken, unreadable or in a merge conflict; with --strict also if its
symbol has changed. The word index of the source is updated first. This needs no embedding model and
works in a fresh clone and on a read-only disk. --format annotates the findings in the CI of GitHub
or GitLab: with a path from the root of the repository, and the line at fault, or 1 (docs/ci.md).
"""

import argparse
import os
import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from code_intel.chunking.agreement import line_of_key
from code_intel.chunking.agreement_body import encodable
from code_intel.chunking.decode import decode
from code_intel.cli.map.annotations import FORMATS
from code_intel.cli.map.context import run_without_writing
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.errors import UsageError
from code_intel.foundation import git
from code_intel.foundation.text import counted, visible
from code_intel.index.safe_files import read_plain
from code_intel.learned.files.agreements import AgreementEntry, relative
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.learned.status.validity import lookalike
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.search.list_agreements import standing_data

RENAME_COMMAND = "code-intel map rename {pair}"
STATUS_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "broken": f"Its symbol is gone: `{RENAME_COMMAND} --to SYMBOL`, or "
        "`code-intel map delete {pair}`.",
        "conflict": "Resolve the merge in {file}.",
        "invalid": "Correct {file}, or delete it.",
        "changed": "Read the code. If it still holds, run `code-intel map confirm {pair}`.",
    }
)
"""The remedy for each status that is reported as a finding; other statuses are only counted."""
FAILING = frozenset({"broken", "conflict", "invalid"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--strict", action="store_true", help="also fail if a symbol has changed")
    parser.add_argument(
        "--format",
        choices=("text", *FORMATS, "json"),
        default="text",
        help="how findings are printed (default: text); json is the same as --json",
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the findings; return 1 if an agreement fails."""
    if args.json and args.format in FORMATS:
        raise UsageError(
            f"--json and --format {args.format} exclude each other.", details={"field": "format"}
        )
    args.json = args.json or args.format == "json"
    answer = run_without_writing(
        project_of(args), lambda context: run_in_thread(_checked, context, strict=args.strict)
    )
    annotate = FORMATS.get(args.format)
    text = annotate(answer.data["findings"]) if annotate else answer.text
    if text:
        emit(args, answer.data, text)
    return 0 if answer.data["ok"] else 1


def _checked(context: GatewayContext, *, strict: bool) -> Answer:
    found = standings(context.settings, context.forest)
    counts = dict(Counter(standing.listed_status for standing in found))
    failing = FAILING | {"changed"} if strict else FAILING
    folder = _folder_in_repository(context)
    rows = [
        _row(s, folder / relative(context.settings.agreements, s.entry.path), failing)
        for s in found
        if s.validity in STATUS_REMEDIES
    ]
    rows.sort(key=lambda row: (not row["fails"], row["file"]))
    ok = not any(row["fails"] for row in rows)
    summary = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
    lines = [
        visible(f"{row['status']:<9}{row['name']}: {' '.join(row['reasons'])} {row['remedy']}")
        for row in rows
    ]
    warnings = [
        (s.entry.path.name, lookalike(s.entry.agreement)) for s in found if s.entry.agreement
    ]
    lines += [visible(f"warning  {file}: {warning}") for file, warning in warnings if warning]
    lines.append(f"{counted(len(found), 'agreement')}{f': {summary}' if summary else ''}.")
    return Answer(
        {"ok": ok, "total": len(found), "counts": counts, "findings": rows}, "\n".join(lines)
    )


def _row(
    standing: AgreementStatus, path: PurePosixPath, failing: Collection[str]
) -> dict[str, Any]:
    """Return a finding, its place in the repository, and its remedy."""
    agreement = standing.entry.agreement
    file = encodable(standing.entry.path.name)
    pair = shlex.join([agreement.nl_term, agreement.symbol]) if agreement else ""
    remedy = f"Run `{RENAME_COMMAND}`." if standing.heir else STATUS_REMEDIES[standing.validity]
    return standing_data(standing) | {
        "name": f"{agreement.nl_term} → {agreement.symbol}" if agreement else file,
        "path": encodable(str(path)),
        "line": _line(standing.entry),
        "fails": standing.validity in failing,
        "remedy": remedy.format(pair=pair, file=file),
    }


def _folder_in_repository(context: GatewayContext) -> PurePosixPath:
    """Return the path of the agreements folder from the root of its repository.

    Without git, it begins at the root of the project.
    """
    folder, root = context.settings.agreements, context.settings.root
    prefix = git.run(folder, "rev-parse", "--show-prefix") if folder.is_dir() else None
    if prefix is not None:
        return PurePosixPath(os.fsdecode(prefix).rstrip("\n"))
    return PurePosixPath(folder.relative_to(root) if folder.is_relative_to(root) else folder)


def _line(entry: AgreementEntry) -> int:
    """Return the line at fault: that of the problem, else that of the symbol; 1 if unknown."""
    if entry.agreement is None:
        return entry.line or 1
    try:
        return line_of_key(decode(read_plain(entry.path)) or "", "symbol") or 1
    except OSError:  # deleted meanwhile
        return 1
