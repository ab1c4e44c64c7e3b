"""Search the source of a project; the results are hypotheses, which a session then verifies.

`ranking` orders files for a question, `bundles` selects the code to read for a task, `text`
searches the files on disk, and `dependencies` follows imports.
"""
