"""Read and parse files for the index, in several processes if there are many."""
