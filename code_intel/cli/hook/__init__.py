"""Answer the hooks of clients: `client` runs first, `own_process` if no gateway listens."""
