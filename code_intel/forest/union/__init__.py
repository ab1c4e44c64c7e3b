"""The parts of an index that consists of several, and how their hits are compared."""
