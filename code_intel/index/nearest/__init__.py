"""Find the vectors of an index that are nearest to a query."""
