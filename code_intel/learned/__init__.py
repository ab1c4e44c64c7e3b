"""Store agreements, judge whether they still hold, and find those that answer a question."""
