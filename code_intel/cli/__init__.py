"""The terminal: one file a command, a function that returns an exit code, one error boundary."""
