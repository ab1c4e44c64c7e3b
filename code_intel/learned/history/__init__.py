"""Store what happened: outcomes, decisions, feedback on agreements, and counts of them."""
