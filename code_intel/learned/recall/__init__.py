"""Find the agreements that answer a question, each with a calibrated score.

Only texts and vectors are compared; `status` judges whether an agreement still holds.
"""
