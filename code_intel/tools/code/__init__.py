"""The tools that read source: definitions, references, structure, text and dependencies."""
