"""The tools of the index servers `devrag-map` and `devrag-forest`, one per module."""
