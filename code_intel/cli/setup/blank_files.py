"""Put the text of a new file into a file that contains only comments, and take it out again."""

from collections.abc import Callable

from code_intel.cli.setup.json_text import as_strict_json


def is_blank(text: str) -> bool:
    """Return whether a JSON file contains nothing but comments."""
    return not as_strict_json(text).strip("\ufeff \t\r\n")


def filled(text: str, new_text: str) -> str:
    """Return a blank file with `new_text`; it ends with a newline only if it did not before."""
    ends_cleanly = not text.strip("\ufeff") or text.endswith("\n")
    return text + new_text.removesuffix("\n") if ends_cleanly else f"{text}\n{new_text}"


def emptied(text: str, new_text: str, is_blank: Callable[[str], bool] = is_blank) -> str | None:
    """Return the text as it was before `filled`; None if it contains anything else."""
    for added in ("\n" + new_text, new_text.removesuffix("\n")):
        rest = text.removesuffix(added)
        if rest != text and is_blank(rest):
            return rest
    return None
