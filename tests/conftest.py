"""What holds for every test."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A property is about what comes out; how long it takes is a matter of benchmarks. The suite
# draws the same examples each time, so that a change answers for itself alone; new ones are
# looked for with `./setup.sh test --hypothesis-profile=explore`.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("suite")


@pytest.fixture(scope="session", autouse=True)
def folders_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is remembered or cached out of the home of whoever runs the tests; each worker has its own.

    Nor is git told what they have told theirs, to sign or to ignore; that the checkout is trusted they may have.
    """
    config = tmp_path_factory.mktemp("git") / "config"
    config.write_text("[safe]\n\tdirectory = *\n[core]\n\texcludesFile =\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STATE", "CACHE"):
            patch.setenv(f"CODE_INTEL_{name}_DIR", str(tmp_path_factory.mktemp(name.lower())))
        patch.setenv("GIT_CONFIG_GLOBAL", str(config))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        yield


@pytest.fixture(scope="session")
def indexed_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One shop with its words indexed, for whoever copies it."""
    from served import make_shop  # most tests need no server

    return make_shop(tmp_path_factory.mktemp("indexed") / "shop")


@pytest.fixture(scope="session")
def embedded_shop(indexed_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop with its vectors as well, so that no test waits for a model to make them again."""
    from code_intel.tools.shelf import open_project
    from served import settings_of

    root = Path(shutil.copytree(indexed_shop, tmp_path_factory.mktemp("embedded") / "shop"))
    for shelf in open_project(settings_of(root, "faithful")):
        shelf.index.complete()
        shelf.index.close()
    return root
