"""Show what is indexed, what is missing, and the status of agreements; write nothing."""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from code_intel.cli.output import emit
from code_intel.cli.project import is_set_up, setup_command
from code_intel.cli.upstreams import upstream_lines, upstream_status
from code_intel.config import find_root, load_settings
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import counted
from code_intel.index.doctor import network_disk_findings
from code_intel.index.facade import Index
from code_intel.index.lease import IndexerLease
from code_intel.index.skipped import SkippedFiles, kept
from code_intel.learned.files.generated import notice
from code_intel.learned.files.git_checks import misshared
from code_intel.learned.recall.calibration import described
from code_intel.learned.status.agreement_status import standings
from code_intel.tools.context.corpus_service import CorpusService, open_project
from code_intel.tools.wire.answers import index_data


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "project", nargs="?", help="the project (default: the one that contains this folder)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the status."""
    settings = load_settings(find_root(Path(args.project).expanduser() if args.project else None))
    services = open_project(settings, readonly=True)
    engines = dict.fromkeys(map(_model_text, services))
    data: dict[str, Any] = {"project": str(settings.root), "embedding": ", ".join(engines)}
    lines = [f"project    {settings.root}", f"embedding  {data['embedding']}"]
    if identity := _map_identity(services[0]):
        data["calibration"] = described(settings, identity)
        lines.append(f"scores     {data['calibration']}")
    for service in services:
        corpus = service.index.config.corpus
        data[corpus] = service_status(service)
        lines.append(f"{corpus:<11}{service_line(data[corpus])}")
        groups = (SkippedFiles(**group) for group in data[corpus].get("skipped_files", ()))
        lines += [f"{'':<11}{group.sentence()}" for group in groups]
    data["upstreams"] = upstream_status(settings)
    lines += upstream_lines(data["upstreams"])
    if not is_set_up(settings):
        lines.append(f"The project is not set up. Run `{setup_command(settings)}`.")
    with Index(settings.forest, readonly=True) as forest:
        counts = Counter(s.listed_status for s in standings(settings, forest))
    data["agreements"] = dict(counts)
    lines.append(
        "agreements " + (", ".join(f"{n} {name}" for name, n in counts.items()) or "none yet")
    )
    data["git"] = [each.what for each in misshared(settings)]
    lines += [f"git        {what}" for what in data["git"]]
    data["learned_pairs"] = notice(settings)
    lines += [f"pairs      {data['learned_pairs']}"] if data["learned_pairs"] else []
    for service in services:
        service.index.close()
    emit(args, data, "\n".join(lines))
    return 0


def _map_identity(service: CorpusService) -> str:
    """Return the identity of the map's model; empty if there is no usable one."""
    return service.embedder.identity if service.embedder.available()[0] else ""


def _model_text(service: CorpusService) -> str:
    """Return the identity of the embedding model, or the reason why none exists."""
    usable, reason = service.embedder.available()
    return service.embedder.identity if usable else f"none: {reason}"


def service_status(service: CorpusService) -> dict[str, Any]:
    """Return the status of one index without creating it."""
    config = service.index.config
    data: dict[str, Any] = {
        "config": str(config.path),
        "database": str(config.db_path),
        "patterns": list(config.patterns),
        "indexer_pid": IndexerLease(config.db_path).holder(),
        "notes": [*config.notes, *(finding.what for finding in network_disk_findings(config))],
    }
    slow = service.embedder.degraded()
    data |= index_data(service.index.freshness((f"embedding: {slow}",) if slow else ()))
    try:
        skipped = kept(service.index.store)
        groups = [group._asdict() for group in skipped]
        count = sum(group.files for group in skipped)
        model = service.index.store.model()
        return data | {"model": model, "skipped": count, "skipped_files": groups}
    except CodeIntelError:  # `freshness` reports the reason
        return data


def service_line(data: dict[str, Any]) -> str:
    """Return the status of an index as one line."""
    if data["state"] == "missing":
        return f"missing ({'; '.join(data['degraded'])})"
    holder = f", indexed by process {data['indexer_pid']}" if data["indexer_pid"] else ""
    notes = f" ({'; '.join(data['degraded'])})" if data["degraded"] else ""
    skipped = f", {data['skipped']} skipped" if data.get("skipped") else ""
    counts = (
        f"{counted(data['files'], 'file')}{skipped}, {counted(data['pending'], 'vector')} to come"
    )
    return f"{data['state']}, {counts}{holder}{notes}"
