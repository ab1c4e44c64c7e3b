"""Open the project, indexes, sessions and files that tools use.

These modules are shared by several packages of tools. They contain no tools and format no answers.
"""
