"""Choose the indexes that the names of a call mean, among all repositories that a project knows."""

from collections.abc import Sequence

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.repositories.checkouts import Checkouts, OpenProjects
from code_intel.tools.context.repositories.sources import Chosen, choose


def chosen_by(
    own: CorpusService, projects: OpenProjects, names: Sequence[str], *, to_search: bool = False
) -> Chosen:
    """Return the indexes that names mean; this blocks.

    A checkout on this machine comes before the same repository on the server.

    Args:
        own: The service of the project's own forest.
        projects: The other projects that this process has open.
        names: The names; see `choose`.
        to_search: Whether the project's own index on the server is searched while the local one
            is incomplete, as in a fresh clone. Its hits are those of another repository.

    Raises:
        CodeIntelError: See `choose`.
    """
    everything = Checkouts(own, projects)
    if not own.settings.shared.url:
        return choose([everything], names)
    # Imported late: searches without a server need neither pydantic nor HTTP.
    from code_intel.tools.context.repositories.shared_forest import is_complete_locally
    from code_intel.tools.context.repositories.shared_repositories import SharedRepositories

    if not to_search or is_complete_locally(own):
        return choose([everything, SharedRepositories(own)], names)
    others, itself = everything.parts()
    return choose([others, SharedRepositories(own, has_own=True), itself], names)
