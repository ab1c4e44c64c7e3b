"""Index a corpus of files and search it by words and vectors.

Map and forest are two corpora with the same tables. `walk` finds files, `sync` indexes their words,
`vectors` embeds their chunks, `indexer` does both in the background, `store` answers. The database
is a cache. Agreements, sessions and ranking do not belong here.
"""
