"""List the sources of repositories of a project, for tools and for the terminal."""

from collections.abc import Sequence

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.repositories.checkouts import Checkouts, OpenProjects
from code_intel.tools.context.repositories.sources import RepositorySource


def sources_of(own: CorpusService, projects: OpenProjects) -> Sequence[RepositorySource]:
    """Return the sources; of two repositories with the same name, that of the first is meant.

    Args:
        own: The service of the project's own forest.
        projects: The other projects that this process has open.
    """
    return (Checkouts(own, projects),)
