"""What holds for every test."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

# A property is about what comes out; how long it takes is a matter of benchmarks. The suite
# draws the same examples each time, so that a change answers for itself alone; new ones are
# looked for with `./setup.sh test --hypothesis-profile=explore`.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("suite")


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what sessions acknowledge out of the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODE_INTEL_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        yield
