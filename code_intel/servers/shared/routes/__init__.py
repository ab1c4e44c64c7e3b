"""The HTTP routes of an instance; `table` lists those of the API."""
