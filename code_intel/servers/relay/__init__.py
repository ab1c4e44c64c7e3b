"""Let the servers of a project share one process: all but the first are relays of lines (0099)."""
