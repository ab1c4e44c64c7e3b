"""Who uses a symbol, and what it uses."""
