"""Say what is indexed, what is missing, and the status of the agreements; write nothing."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from code_intel.config import Settings
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
from code_intel.learned.status.snapshot import SnapshotCache
from code_intel.operations.project import is_set_up, setup_command
from code_intel.operations.shared_server import shared_line, shared_status
from code_intel.operations.upstreams import upstream_lines, upstream_status
from code_intel.tools.context.corpus_service import CorpusService, open_project
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.answers import index_data


def project_status(settings: Settings) -> Answer:
    """Return the status of a project, with indexes that are opened for it; this blocks."""
    services = open_project(settings, readonly=True)
    try:
        with Index(settings.forest, readonly=True) as forest:
            data = status_data(settings, services, forest)
    finally:
        for service in services:
            service.index.close()
    return Answer(data, "\n".join(_lines(settings, data)))


def status_data(
    settings: Settings,
    services: Sequence[CorpusService],
    forest: Index,
    cache: SnapshotCache | None = None,
) -> dict[str, Any]:
    """Return the status of a project whose indexes are open; this blocks.

    Args:
        settings: The project.
        services: The map and the forest.
        forest: The index of the source.
        cache: A cache of the agreements, for servers.
    """
    engines = dict.fromkeys(map(_model_text, services))
    data: dict[str, Any] = {"project": str(settings.root), "embedding": ", ".join(engines)}
    if identity := _map_identity(services[0]):
        data["calibration"] = described(settings, identity)
    for service in services:
        data[service.index.config.corpus] = service_status(service)
    data["upstreams"] = upstream_status(settings)
    if (shared := shared_status(settings)) is not None:
        data["shared"] = shared
    known = standings(settings, forest, cache=cache)
    data["agreements"] = dict(Counter(each.listed_status for each in known))
    data["git"] = [each.what for each in misshared(settings)]
    data["learned_pairs"] = notice(settings)
    return data


def _lines(settings: Settings, data: Mapping[str, Any]) -> Iterator[str]:
    yield f"project    {settings.root}"
    yield f"embedding  {data['embedding']}"
    if "calibration" in data:
        yield f"scores     {data['calibration']}"
    for corpus in ("map", "forest"):
        yield f"{corpus:<11}{service_line(data[corpus])}"
        groups = (SkippedFiles(**group) for group in data[corpus].get("skipped_files", ()))
        yield from (f"{'':<11}{group.sentence()}" for group in groups)
    yield from upstream_lines(data["upstreams"])
    yield from shared_line(data.get("shared"))
    if not is_set_up(settings):
        yield f"The project is not set up. Run `{setup_command(settings)}`."
    counts = ", ".join(f"{n} {name}" for name, n in data["agreements"].items())
    yield f"agreements {counts or 'none yet'}"
    yield from (f"git        {what}" for what in data["git"])
    if data["learned_pairs"]:
        yield f"pairs      {data['learned_pairs']}"


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
