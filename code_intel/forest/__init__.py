"""Where is it? The ranked search of source, and what is built on it."""
