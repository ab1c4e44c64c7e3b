"""The tools that lead a session through its phases and learn from its outcome, one per module.

`code_intel.session` contains the rules of the phases.
"""
