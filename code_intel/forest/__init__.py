"""Search the source of a project, which gives hypotheses about where something is.

`ranking` orders files for a question, `bundles` select what to read for a goal, `text` searches the
files on disk, `dependencies` follow imports. Sessions and agreements do not belong here.
"""
