"""Search the words of an index, and search some of its chunks alone."""
