"""Here is a corpus, give me hits: map and forest are two rows of one table.

The database is a cache: deleting it loses nothing. `store` and `schema` alone speak SQL; `walk` finds
files, `sync` indexes their words, `vectors` embeds, `indexer` does both in the background.
"""
