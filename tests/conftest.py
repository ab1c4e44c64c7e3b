"""What holds for every test."""

from hypothesis import settings

# A property is about what comes out; how long it takes is a matter of benchmarks. The suite
# draws the same examples each time, so that a change answers for itself alone; new ones are
# looked for with `./setup.sh test --hypothesis-profile=explore`.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("suite")
