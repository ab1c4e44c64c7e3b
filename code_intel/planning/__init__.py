"""A goal, give me what a plan found: think first, search, compare, refine, keep (seed 003; docs/decisions/0040)."""
