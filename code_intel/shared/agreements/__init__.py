"""Share the agreements of repositories, so that the map can be asked across them (0098).

Agreements stay in git. What is pushed of them is a copy without sessions and requests, in a second
index of the same engine, with the names and the permissions of the repositories.
"""
