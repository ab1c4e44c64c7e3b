"""Format the findings of `code-intel map check` for the CI of GitHub and of GitLab.

GitHub reads workflow commands, one per line. GitLab reads a Code Quality report, a JSON array.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from code_intel.foundation.redaction import masked_data
from code_intel.foundation.text import visible

Findings = Sequence[Mapping[str, Any]]

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})
"""What ends a message or a property of a workflow command, and its escape."""
_GITHUB_LEVEL = MappingProxyType({True: "error", False: "warning"})
_GITLAB_SEVERITY = MappingProxyType({True: "major", False: "minor"})
"""The level of a finding that fails the check, and of one that does not."""


def github(findings: Findings) -> str:
    """Return a workflow command for each finding, which annotates its line in a pull request."""
    return "\n".join(map(_command, findings))


def gitlab(findings: Findings) -> str:
    """Return a Code Quality report as JSON in ASCII."""
    return json.dumps(masked_data({"report": [_issue(row) for row in findings]})["report"])


FORMATS: Mapping[str, Callable[[Findings], str]] = MappingProxyType(
    {"github": github, "gitlab": gitlab}
)
"""The formats for CI, beside text and JSON."""


def _command(row: Mapping[str, Any]) -> str:
    properties = {"file": row["path"], "line": row["line"], "title": _title(row)}
    given = ",".join(f"{name}={_line(value, _PROPERTY)}" for name, value in properties.items())
    return f"::{_GITHUB_LEVEL[row['fails']]} {given}::{_line(_message(row), _DATA)}"


def _issue(row: Mapping[str, Any]) -> dict[str, Any]:
    # The line is left out, so that GitLab recognizes a finding that has moved.
    identity = "\0".join((row["path"], row["status"], row["name"]))
    return {
        "description": visible(f"{_title(row)}. {_message(row)}"),
        "check_name": f"code-intel/{row['status']}",
        "fingerprint": hashlib.sha256(identity.encode()).hexdigest(),
        "severity": _GITLAB_SEVERITY[row["fails"]],
        "location": {"path": row["path"], "lines": {"begin": row["line"]}},
    }


def _title(row: Mapping[str, Any]) -> str:
    return f"{row['kind'].capitalize()} is {row['status']}: {row['name']}"


def _message(row: Mapping[str, Any]) -> str:
    return " ".join((*row["reasons"], row["remedy"]))


def _line(value: object, escapes: Mapping[int, str]) -> str:
    return visible(str(value), keep="\r\n").translate(escapes)
