"""What holds for every test."""

from hypothesis import settings

# A property is about what comes out; how long it takes is a matter of benchmarks.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")
