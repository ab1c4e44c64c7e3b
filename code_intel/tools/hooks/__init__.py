"""Answer the hooks of clients: context for a prompt, what was read, and the write gate."""
