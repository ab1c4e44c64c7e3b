"""Set a project up and undo it: `code-intel init` and the files it writes."""
