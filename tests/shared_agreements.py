"""Share agreements through an instance of the shared server, as `code-intel push` does."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from code_intel.config import SharedConfig
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.index.facade import Index
from code_intel.records import Agreement, FileReference
from code_intel.shared.agreements.candidates import MAP_BRANCH
from code_intel.shared.agreements.pushing import AgreementSource
from code_intel.shared.agreements.texts import shared_text
from code_intel.shared.agreements.wire import MAP_PREFIX
from code_intel.shared.client import SharedClient
from code_intel.shared.pushed_commit import PushedCommit
from code_intel.shared.pushing import Pusher
from served import settings_of
from servers.shared.instances import Instance

if TYPE_CHECKING:
    from code_intel.config.settings import Settings

COMMIT = "ab" * 20


def agreement_of(
    shop: Path, term: str, symbol: str, evidence: str = "It is.", aliases: tuple[str, ...] = ()
) -> Agreement:
    """Return an agreement about a symbol of the shop, with the digest of its code."""
    with Index(settings_of(shop).forest) as forest:
        found = forest.store.definitions(symbol, exact=True, limit=2)
    digest, file = (found[0].digest, found[0].file) if found else ("0" * 16, "src/elsewhere.py")
    return Agreement(
        term, symbol, (evidence,), (FileReference(file, 3),), confirmed=True, aliases=aliases,
        digest=digest,
    )  # fmt: skip


def share(
    running: Instance,
    repository: str,
    agreements: Sequence[Agreement],
    settings: "Settings | None" = None,
    *,
    token: str = "",
    commit: str = COMMIT,
) -> None:
    """Push agreements to a repository; with vectors if there are settings with a model."""
    texts = {f"agreements/{at}.md": shared_text(each) for at, each in enumerate(agreements)}
    push_texts(running, repository, texts, settings, token=token, commit=commit)


def push_texts(
    running: Instance,
    repository: str,
    texts: dict[str, str],
    settings: "Settings | None" = None,
    *,
    token: str = "",
    commit: str = COMMIT,
) -> None:
    """Push the texts of agreements, by path."""
    token = token or running.token(f"push:{repository}")
    config = SharedConfig(f"http://127.0.0.1:{running.port}", repository, map=True, token=token)
    source = AgreementSource(texts)
    embedder = LazyEmbedder(settings, corpus="map") if settings else None
    with closing(SharedClient(config)) as client:
        pusher = Pusher(client, repository, source, running.folder, 0, embedder, prefix=MAP_PREFIX)
        pusher.push(PushedCommit(commit, MAP_BRANCH, source.documents, {}))


@contextmanager
def using(
    running: Instance, monkeypatch: pytest.MonkeyPatch, *grants: str, shares_map: bool = True
) -> Iterator[None]:
    """Let the projects of this process use the instance, as its user would."""
    monkeypatch.setenv("CODE_INTEL_SHARED_URL", f"http://127.0.0.1:{running.port}")
    monkeypatch.setenv("CODE_INTEL_SHARED_TOKEN", running.token(*(grants or ("read:**",))))
    monkeypatch.setenv("CODE_INTEL_SHARED_REPOSITORY", "mine/shop")
    monkeypatch.setenv("CODE_INTEL_SHARED_MAP", str(shares_map).lower())
    yield
