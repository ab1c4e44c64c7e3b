"""Choose the indexes that the names of a call mean, among all repositories that a project knows."""

from collections.abc import Sequence

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.repositories.checkouts import Checkouts, OpenProjects
from code_intel.tools.context.repositories.sources import Chosen, RepositorySource, choose


def chosen_by(own: CorpusService, projects: OpenProjects, names: Sequence[str]) -> Chosen:
    """Return the indexes that names mean; this blocks.

    A checkout on this machine comes before the same repository on the server.

    Args:
        own: The service of the project's own forest.
        projects: The other projects that this process has open.
        names: The names; see `choose`.

    Raises:
        CodeIntelError: See `choose`.
    """
    sources: list[RepositorySource] = [Checkouts(own, projects)]
    if own.settings.shared.url:
        from code_intel.tools.context.repositories.shared_repositories import SharedRepositories

        sources.append(SharedRepositories(own))
    return choose(sources, names)
