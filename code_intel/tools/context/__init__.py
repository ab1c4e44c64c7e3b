"""Open what tools work with: the project, its indexes, its sessions and its files.

A module here is shared by tools of several subjects. Nothing here is a tool or formats an answer.
"""
