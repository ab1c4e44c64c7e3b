"""«What can it do?»  Every operation, declared once, one file a tool.

Here is a call, give me an answer. A tool reaches map and forest only through an injected `Searcher`;
definitions and validity always come from the local index, whatever the upstream.
"""
