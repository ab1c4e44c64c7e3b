"""Push the index of a commit to the shared index of a team, normally from CI.

The command indexes the project and sends the files that differ from the last push of the branch,
with the vectors that the server does not have. If it is stopped, the next run continues. It pushes
the commit that is checked out: files that git does not track stay on this machine, and with changed
files nothing is pushed. Secrets are masked before they are indexed. The server is `shared.url` of
config.toml, or CODE_INTEL_SHARED_URL; CODE_INTEL_SHARED_TOKEN has the token.

With --whole, all files are sent again, as one layer. `code-intel shared prune` then removes the
texts of earlier commits, if no other branch has them. Use it if a text was pushed by mistake.

With --delete-branch, nothing is pushed: the branch of that name is removed from the server, for a
job that runs when a branch is deleted. It is no error if the server does not have it. --json is
then `server`, `repository`, `branch`, `commit`: that of the branch, or null; `dry_run`.
"""

import argparse
import time
from pathlib import Path
from typing import Any

from code_intel.cli.output import Advance, emit, progress, say
from code_intel.cli.project import add_project, project_of
from code_intel.cli.sync import update_words
from code_intel.config import Settings, ci_branch
from code_intel.config.shared import TOKEN_VARIABLE, URL_VARIABLE, sends_in_clear
from code_intel.embedding.cache import VectorCache
from code_intel.errors import ConfigError, UsageError
from code_intel.foundation import revisions
from code_intel.foundation.text import counted
from code_intel.shared.agreements.pushing import MapPush, push_map
from code_intel.shared.connection import Connection, connection_of
from code_intel.shared.fields import is_branch
from code_intel.shared.pushed_commit import PushedCommit, commit_of
from code_intel.shared.pushing import Pusher, PushReport
from code_intel.tools.context.corpus_service import CorpusService, open_project

MAX_NAMES = 200
"""Maximum files that the JSON of a push names."""
SHOWN_NAMES = 20
CLEAR_TEXT = (
    f"The token is sent in clear text, because shared.url is http. Use https ({URL_VARIABLE})."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--branch",
        metavar="NAME",
        help="the branch that will point to the commit (default: the one that is checked out, or"
        " that the variables of the CI service name)",
    )
    parser.add_argument(
        "--words-only", action="store_true", help="push no vectors, for machines without a model"
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="send all files again, so that no text of earlier commits is kept for this branch",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be sent; send no files"
    )
    parser.add_argument(
        "--delete-branch", metavar="NAME", help="remove this branch from the server; push nothing"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Push the commit that is checked out, or remove a branch."""
    began = time.monotonic()
    settings = project_of(args)
    connection = _connection(settings)
    if args.delete_branch is not None:
        return _delete_branch(args, connection)
    branch = _branch(settings, args.branch)
    notes = [CLEAR_TEXT] if sends_in_clear(settings.shared) else []
    services = open_project(settings)
    try:
        with progress() as advance:
            commit, report = _push(services[1], connection, branch, args, advance)
            shared = _push_map(settings, services, connection, args)
    finally:
        for service in services:
            service.index.close()
        connection.client.close()
    data = _data(connection, commit, report) | {
        "dry_run": args.dry_run,
        "seconds": round(time.monotonic() - began, 1),
        "notes": notes,
        **({"map": shared._asdict()} if shared else {}),
    }
    lines = [*_lines(data), *(_map_lines(shared) if shared else ()), *notes]
    emit(args, data, "\n".join(lines))
    return 0


def _delete_branch(args: argparse.Namespace, connection: Connection) -> int:
    """Remove a branch from the server."""
    branch = _checked(args.delete_branch)
    commit = connection.delete_branch(branch, dry_run=args.dry_run)
    connection.client.close()
    server, repository = connection.client.config.url, connection.repository
    data = {"server": server, "repository": repository, "branch": branch, "commit": commit}
    place = f"{branch} of {repository} at {server}"
    done = "Would remove" if args.dry_run else "Removed"
    text = f"{done} {place} ({commit[:12]})." if commit else f"There is no {place}."
    emit(args, data | {"dry_run": args.dry_run}, text)
    return 0


def _push(
    service: CorpusService,
    connection: Connection,
    branch: str,
    args: argparse.Namespace,
    advance: Advance,
) -> tuple[PushedCommit, PushReport]:
    """Index the project, and push its commit."""
    synced = update_words(service, advance)
    index = service.index
    commit = commit_of(index.store, index.config, branch, synced.failed)
    usable, reason = service.embedder.available()
    if not (usable or args.words_only):
        raise ConfigError(
            f"Vectors cannot be computed: {reason.removesuffix('.')}.",
            hint="Install a model, or push words only with --words-only.",
        )
    pusher = Pusher(
        connection.client,
        connection.repository,
        index.store,
        index.config.folder,
        index.config.chunk_size,
        None if args.words_only else service.embedder,
        VectorCache(Path(service.settings.cache_dir)),
        lambda done, total: advance(done, total, "push: files"),
        whole=args.whole,
        notice=say,
    )
    return commit, pusher.push(commit, dry_run=args.dry_run)


def _push_map(
    settings: Settings,
    services: tuple[CorpusService, CorpusService],
    connection: Connection,
    args: argparse.Namespace,
) -> MapPush | None:
    """Push the agreements if the settings share the map."""
    if not settings.shared.map:
        return None
    for_map, forest = services
    embedder = None if args.words_only else for_map.embedder
    return push_map(
        settings,
        forest.index,
        connection,
        embedder,
        dry_run=args.dry_run,
        whole=args.whole,
        notice=say,
    )


def _map_lines(pushed: MapPush) -> list[str]:
    """Return what was pushed of the map as text."""
    if pushed.skipped:
        return [f"  no agreements: {pushed.skipped}"]
    count = counted(pushed.agreements, "agreement")
    return [
        f"  {count}, {len(pushed.sent)} sent",
        *(f"  {counted(n, 'agreement')} left out: {why}" for why, n in pushed.left_out.items()),
    ]


def _connection(settings: Settings) -> Connection:
    """Return the connection to the server.

    Raises:
        ConfigError: The settings name none, or one that cannot be used.
    """
    shared = settings.shared
    if not shared.url:
        raise ConfigError(
            "The project uses no shared index.",
            hint=f"Run `code-intel init --shared URL`, or set {URL_VARIABLE} and {TOKEN_VARIABLE}.",
            details={"field": "shared.url"},
        )
    if shared.problem:
        raise ConfigError(
            f"The shared index cannot be used: {shared.problem}.",
            hint=f"In CI, set {URL_VARIABLE} to the address of the server.",
            details={"field": "shared.url"},
        )
    connection = connection_of(settings)
    assert connection is not None  # noqa: S101 - checked above
    return connection


def _branch(settings: Settings, named: str | None) -> str:
    """Return the branch to push.

    Raises:
        UsageError: It is not known, or its name cannot be used.
    """
    branch = named or revisions.branch(settings.forest.folder) or ci_branch()
    if not branch:
        raise UsageError(
            "HEAD is detached, and no variable of a CI service names the branch.",
            hint="Name the branch: `code-intel push --branch main`.",
            details={"field": "branch"},
        )
    return _checked(branch)


def _checked(branch: str) -> str:
    """Return the name of a branch.

    Raises:
        UsageError: It cannot be one.
    """
    if not is_branch(branch):
        raise UsageError("branch is not the name of a branch.", details={"field": "branch"})
    return branch


def _data(connection: Connection, commit: PushedCommit, report: PushReport) -> dict[str, Any]:
    """Return what was pushed as JSON."""
    return {
        "server": connection.client.config.url,
        "repository": connection.repository,
        "branch": commit.branch,
        "commit": commit.id,
        "generation": report.generation,
        "base": report.base or None,
        "files": report.files,
        "changed": len(report.changed),
        "deleted": report.deleted,
        "sent": len(report.sent),
        "names": report.sent[:MAX_NAMES],
        "chunks": report.chunks,
        "embedded": report.embedded,
        "reused": report.reused,
        "unusable": report.unusable,
        "sent_bytes": report.sent_bytes,
        "received_bytes": report.received_bytes,
        "left_out": dict(commit.left_out),
    }


def _lines(data: dict[str, Any]) -> list[str]:
    """Return what was pushed as text."""
    done = "Would push" if data["dry_run"] else "Pushed"
    names = [f"  {name}" for name in data["names"][:SHOWN_NAMES]]
    if data["sent"] > len(names):
        names.append(f"  and {data['sent'] - len(names)} more")
    what = f"{data['repository']} {data['branch']} ({data['commit'][:12]}) to {data['server']}"
    changes = f"{data['changed']} changed, {data['deleted']} deleted"
    sent = f"{counted(data['sent'], 'file')} with {counted(data['chunks'], 'chunk')}"
    computed = "to compute" if data["dry_run"] else "computed"
    vectors = f"{data['embedded']} vectors {computed}, {data['reused']} known to the server"
    size = f"{data['sent_bytes']:,} bytes sent, {data['received_bytes']:,} received"
    return [
        f"{done} {what}: {counted(data['files'], 'file')} ({changes})",
        *(names if data["dry_run"] else []),
        f"  {sent}: {vectors}",
        f"  {size}, {data['seconds']} s",
        *([f"  {data['unusable']} chunks without a usable vector"] if data["unusable"] else ()),
        *(f"  {counted(n, 'file')} left out: {why}" for why, n in data["left_out"].items()),
    ]
