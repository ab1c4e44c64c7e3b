"""The command line: one module per command, and one place that handles errors."""
