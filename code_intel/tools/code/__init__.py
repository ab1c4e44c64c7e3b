"""Read source: definitions, references, structure, text and dependencies, one module a tool."""
