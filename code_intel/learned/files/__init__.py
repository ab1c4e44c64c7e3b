"""Read and change the files of the map: agreements, learned_pairs.json and the trash.

What an agreement is worth is decided in `status`; which one answers, in `recall`.
"""
