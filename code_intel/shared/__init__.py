"""Share the index of many repositories between machines.

`records` has what is shared: generations, layers and files. `milvus` keeps them in Milvus, and is
the only package that imports pymilvus.
"""
