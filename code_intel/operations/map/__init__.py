"""Change and show the agreements and notes of a project's map, outside any session."""
