"""Move a session through its phases and learn from its outcome, one module a tool.

What may happen in which phase is decided in `code_intel.session`.
"""
