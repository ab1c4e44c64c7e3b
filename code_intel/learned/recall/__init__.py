"""Find the agreements that answer a question, each with a calibrated score.

Pure comparison of texts and vectors. Whether an agreement still holds is decided in `status`.
"""
