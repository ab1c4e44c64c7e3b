"""Check configurations, databases, agreements, sessions, hooks and command registries."""

from collections.abc import Mapping

from code_intel.config import Settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import CodeIntelError, EmbeddingError
from code_intel.foundation.text import counted, visible
from code_intel.index.doctor import IndexFinding, examine
from code_intel.index.facade import Index
from code_intel.learned.files.generated import notice
from code_intel.learned.files.git_checks import misshared
from code_intel.learned.recall.calibration import RECALIBRATE, fitted, own
from code_intel.learned.status.agreement_status import standings
from code_intel.operations.permissions import permission_findings
from code_intel.operations.plans import PLAN_FILE_KINDS
from code_intel.operations.project import is_set_up, setup_command
from code_intel.operations.registry_findings import registry_findings
from code_intel.operations.shared_server import shared_findings
from code_intel.operations.upstreams import upstream_findings
from code_intel.planning import place
from code_intel.planning import settings as plan_settings
from code_intel.session import journal
from code_intel.tools.context.corpus_service import project_sync
from code_intel.tools.context.gateway import sessions_of
from code_intel.tools.declaration import Answer
from code_intel.tools.hooks.failures import MAX_AGE, recent_failures

ADVICE = {
    "broken": "Its symbol is gone. Correct the file, or delete it.",
    "conflict": "Resolve the merge in this file.",
    "invalid": "Correct the file's front matter, or delete it.",
}
ADVICE_FOR_EMPTY = (
    "Restore it with git or `code-intel map rebuild --from pairs`, learn the agreement again, or "
    "delete the file."
)

HEADS_INSIDE_PROJECT = (
    "The heads that protect sessions are inside the project, where an agent can change them.",
    "Set CODE_INTEL_STATE_DIR to a folder outside the project.",
)


def examine_project(settings: Settings) -> Answer:
    """Check everything; return each finding with its remedy; this blocks and loads the models."""
    map_embedder = LazyEmbedder(settings, corpus="map")
    forest_embedder = LazyEmbedder(settings, corpus="forest", shared_with=map_embedder)
    return findings_of(settings, {"map": map_embedder, "forest": forest_embedder})


def findings_of(settings: Settings, embedders: Mapping[str, LazyEmbedder]) -> Answer:
    """Check a project with the given embedders, `map` and `forest`; this blocks.

    `data` has `ok` and `findings` {area, level, what, remedy}.
    """
    findings = [
        (
            "embedding",
            [*_embedding_findings(embedders), *_calibration_findings(settings, embedders)],
        ),
        *_project_findings(settings, embedders),
        ("commands", registry_findings(settings)),
    ]
    rows = [
        {"area": area, "level": f.level, "what": f.what, "remedy": f.remedy}
        for area, group in findings
        for f in group
    ]
    failed = any(row["level"] == "error" for row in rows)
    lines = [
        f"{row['level']:<8}{row['area']:<11}{row['what']} {row['remedy']}".rstrip() for row in rows
    ]
    return Answer({"ok": not failed, "findings": rows}, "\n".join(lines))


def _embedding_findings(embedders: Mapping[str, LazyEmbedder]) -> list[IndexFinding]:
    """Load every embedding engine, which shows damaged files and unsupported processors."""
    found: dict[str, IndexFinding] = {}
    for corpus, model in embedders.items():
        try:
            model.load()
        except EmbeddingError as error:
            reason = model.available()[1] or error.message
            remedy = "" if error.hint in reason else error.hint
            found[reason] = IndexFinding(
                "warning", f"No vectors: {reason.removesuffix('.')}.", remedy
            )
            continue
        slow = model.degraded()
        found[corpus] = (
            IndexFinding("warning", f"The {corpus}'s {slow}")
            if slow
            else IndexFinding("info", f"Embedding model of the {corpus}: {model.identity}.")
        )
    return list(found.values())


def _calibration_findings(
    settings: Settings, embedders: Mapping[str, LazyEmbedder]
) -> list[IndexFinding]:
    """Return a warning if the map's model has no calibration, or a damaged one."""
    identity = _model_identity(embedders["map"])
    try:
        if not identity or own(settings, identity) or fitted(identity):
            return []
    except EmbeddingError as error:
        return [IndexFinding("warning", error.message, RECALIBRATE)]
    what = f"{identity} has no calibration, so only exact terms lead to READY."
    return [IndexFinding("warning", what, RECALIBRATE)]


def _model_identity(model: LazyEmbedder) -> str | None:
    return model.identity if model.available()[0] else None


def _project_findings(
    settings: Settings, embedders: Mapping[str, LazyEmbedder]
) -> list[tuple[str, list[IndexFinding]]]:
    """Return the findings about a project, each with its area."""
    if not is_set_up(settings):
        what = f"{settings.root} is not set up."
        return [("project", [IndexFinding("warning", what, f"Run `{setup_command(settings)}`.")])]
    command = project_sync(settings)
    return [
        ("project", permission_findings(settings)),
        ("map", examine(settings.map, model=_model_identity(embedders["map"]), command=command)),
        (
            "forest",
            examine(settings.forest, model=_model_identity(embedders["forest"]), command=command),
        ),
        ("agreements", _agreement_findings(settings)),
        ("sessions", _session_findings(settings)),
        ("plans", _plan_findings(settings)),
        ("upstreams", upstream_findings(settings)),
        ("shared", shared_findings(settings)),
        ("hooks", _hook_findings(settings)),
    ]


def _agreement_findings(settings: Settings) -> list[IndexFinding]:
    with Index(settings.forest, readonly=True) as forest:
        found = standings(settings, forest)
    findings = [
        IndexFinding(
            "warning",
            visible(f"{s.entry.path.name} is {s.validity}: {' '.join(s.reasons)}"),
            ADVICE_FOR_EMPTY if s.entry.is_empty else advice,
        )
        for s in found
        if (advice := ADVICE.get(s.validity))
    ]
    findings += [IndexFinding("warning", *each) for each in misshared(settings)]
    if note := notice(settings):
        findings.append(IndexFinding("warning", note))
    return findings or [IndexFinding("info", f"{counted(len(found), 'agreement')} can be read.")]


def _session_findings(settings: Settings) -> list[IndexFinding]:
    paths = sessions_of(settings)
    files = journal.journal_files(paths)
    found = (
        [IndexFinding("warning", *HEADS_INSIDE_PROJECT)]
        if paths.heads.is_relative_to(settings.root)
        else []
    )
    for file in files:
        try:
            journal.inspect(paths, file.name)
        except CodeIntelError as error:
            found.append(
                IndexFinding("warning", error.message, "Delete the file and start a new session.")
            )
    return found or [IndexFinding("info", f"{counted(len(files), 'session')} can be replayed.")]


def _plan_findings(settings: Settings) -> list[IndexFinding]:
    """Return the damaged files of query plans, or the number of files."""
    try:
        root = place.root_of(settings)
        listings = {name: kind.listing(root) for name, kind in PLAN_FILE_KINDS.items()}
        notes = tuple(plan_settings.load(root).unknown_keys())
    except CodeIntelError as error:
        return [IndexFinding("warning", error.message, error.hint)]
    remedy = "Delete the file. The next plan creates it again."
    found = [IndexFinding("warning", note, "Correct the key, or remove it.") for note in notes]
    found += [
        IndexFinding("warning", visible(f"{kind}/{name}: {reason}"), remedy)
        for kind, listing in listings.items()
        for name, reason in listing.damaged.items()
    ]
    counts = ", ".join(f"{len(listing.rows)} {kind}" for kind, listing in listings.items())
    return found or [IndexFinding("info", f"{counts} in {root.name}.")]


def _hook_findings(settings: Settings) -> list[IndexFinding]:
    """Return the number of hooks that failed lately, and the last failure."""
    try:
        failures = recent_failures(settings.state)
    except CodeIntelError as error:
        return [IndexFinding("warning", error.message, error.hint)]
    if not failures:
        return [IndexFinding("info", f"No hook has failed in the last {MAX_AGE.days} days.")]
    last = failures[-1]
    problem = ": ".join(filter(None, (last.error, last.message)))
    what = (
        f"{counted(len(failures), 'hook failure')} in the last {MAX_AGE.days} days. "
        f"The last one, of {last.client} at {last.at}: {problem}"
    )
    where = f"It happened in {last.where}. " if last.where else ""
    remedy = f"{where}All are in .code-intel/logs/hook_failures.jsonl."
    return [IndexFinding("warning", visible(what), visible(remedy))]
