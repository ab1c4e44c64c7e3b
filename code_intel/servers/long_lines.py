"""Replace a line that is too long by a short one, which names the request if its ends show it."""

import re

MAX_LINE_CHARS = 16 << 20
"""Maximum length of a message. A longer line is discarded and answered with an error."""
TOO_LONG = "a line of more than 16 MiB, of the request "
"""Replaces such a line, followed by the request's id as JSON, if its ends show one."""
END_CHARS = 4096
_TEXT_FIELD = r'"(?:jsonrpc|method)"\s{0,9}:\s{0,9}"[^"\\]{0,200}"\s{0,9}'
_ID_FIELD = r'"id"\s{0,9}:\s{0,9}(-?\d{1,18}|"[^"\\]{0,200}")\s{0,9}'
_ID_AT_START = re.compile(
    rf"\s{{0,9}}\{{\s{{0,9}}(?:{_TEXT_FIELD},\s{{0,9}}){{0,2}}{_ID_FIELD}[,}}]"
)
_ID_AT_END = re.compile(rf",\s{{0,9}}{_ID_FIELD}(?:,\s{{0,9}}{_TEXT_FIELD}){{0,2}}\}}\s{{0,9}}\Z")


def describe_long_line(start: str, end: str) -> str:
    """Return the line that replaces a long one with this start and end."""
    found = _ID_AT_START.match(start[:END_CHARS]) or _ID_AT_END.search(end[-2 * END_CHARS :])
    return f"{TOO_LONG}{found[1] if found else 'null'}\n"
