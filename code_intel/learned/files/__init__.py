"""Read and change the files of the map: agreements, learned_pairs.json and the trash.

`status` judges whether an agreement holds; `recall` finds those that answer a question.
"""
