"""Check every agreement and note against the current code. For CI, exits 1 if one fails.

An agreement fails if it is broken, unreadable or in a merge conflict; with --strict also if its
symbol has changed. A convention or warning fails if nothing that it names exists; with --strict
also if a part of it is gone. The word index of the source is updated first. This needs no embedding
model and works in a fresh clone and on a read-only disk. --format annotates the findings in the CI
of GitHub or GitLab: with a path from the root of the repository, and the line at fault, or 1
(docs/ci.md).
"""

import argparse
import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
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
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.notes.note_status import NoteStatus
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.learned.status.validity import lookalike
from code_intel.operations.map.notes import note_row, notes_of
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
NOTE_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "broken": "Correct the names in {file}, or run `code-intel map delete {title}`.",
        "changed": "Correct the names in {file}.",
    }
)
"""The same for notes."""
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
    notes = notes_of(context)
    rows = [_row(context, s, failing) for s in found if s.validity in STATUS_REMEDIES]
    rows += [_note_row(context, s, failing) for s in notes if s.validity in NOTE_REMEDIES]
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
    note_counts = dict(Counter(status.validity for status in notes))
    if notes:
        noted = ", ".join(f"{number} {status}" for status, number in sorted(note_counts.items()))
        lines.append(f"{counted(len(notes), 'note')}: {noted}.")
    data = {"ok": ok, "total": len(found), "counts": counts, "findings": rows}
    return Answer(data | {"notes": len(notes), "note_counts": note_counts}, "\n".join(lines))


def _row(
    context: GatewayContext, standing: AgreementStatus, failing: Collection[str]
) -> dict[str, Any]:
    """Return a finding, its place in the repository, and its remedy."""
    agreement = standing.entry.agreement
    file = encodable(standing.entry.path.name)
    pair = shlex.join([agreement.nl_term, agreement.symbol]) if agreement else ""
    remedy = f"Run `{RENAME_COMMAND}`." if standing.heir else STATUS_REMEDIES[standing.validity]
    return standing_data(standing) | {
        "kind": "agreement",
        "name": f"{agreement.nl_term} → {agreement.symbol}" if agreement else file,
        "path": _path_in_repository(context, standing.entry.path),
        "line": _line(standing.entry),
        "fails": standing.validity in failing,
        "remedy": remedy.format(pair=pair, file=file),
    }


def _note_row(
    context: GatewayContext, status: NoteStatus, failing: Collection[str]
) -> dict[str, Any]:
    """Return the same for a note."""
    file = encodable(status.entry.path.name)
    remedy = NOTE_REMEDIES[status.validity]
    return note_row(status, context) | {
        "name": status.note.title,
        "path": _path_in_repository(context, status.entry.path),
        "line": _line_of_keys(status.entry.path, ("symbols", "files")),
        "fails": status.validity in failing and status.note.kind != "decision",
        "remedy": remedy.format(file=file, title=shlex.quote(status.note.title)),
    }


def _path_in_repository(context: GatewayContext, path: Path) -> str:
    """Return the path of a file from the root of its repository.

    Without git, it begins at the root of the project.
    """
    root = context.settings.root
    prefix = git.run(path.parent, "rev-parse", "--show-prefix")
    if prefix is not None:
        return encodable(f"{os.fsdecode(prefix).rstrip(chr(10))}{path.name}")
    return encodable((path.relative_to(root) if path.is_relative_to(root) else path).as_posix())


def _line(entry: AgreementEntry) -> int:
    """Return the line at fault: that of the problem, else that of the symbol; 1 if unknown."""
    if entry.agreement is None:
        return entry.line or 1
    return _line_of_keys(entry.path, ("symbol",))


def _line_of_keys(path: Path, keys: Iterable[str]) -> int:
    """Return the line of the first of these keys that a file has; 1 if it has none."""
    try:
        text = decode(read_plain(path)) or ""
    except OSError:  # deleted meanwhile
        return 1
    return next(filter(None, (line_of_key(text, key) for key in keys)), 1)
