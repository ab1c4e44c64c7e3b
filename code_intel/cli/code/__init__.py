"""The commands that look up symbols, lines and files in the code as it is now."""
