"""Index a corpus of files and search it by words and vectors.

The map (the agreements) and the forest (the source) are corpora with the same tables. `walk` finds
files, `sync` indexes their words, `vectors` embeds their chunks, `indexer` does both in the
background, and `store` answers queries. A database can be rebuilt from the files at any time.
"""
