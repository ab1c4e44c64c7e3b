"""Read test data from text files that consist of sections."""

from pathlib import Path


def read_sections(file: Path) -> list[tuple[str, str]]:
    """Return (heading, text) of each section of a file; a line `=== heading` begins one."""
    parts = file.read_text(encoding="utf-8").split("=== ")[1:]
    return [(head, text) for head, _, text in (part.partition("\n") for part in parts)]
