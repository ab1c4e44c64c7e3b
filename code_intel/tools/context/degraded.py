"""Describe a corpus that did not answer: the reason, since when, and what to do in the meantime.

The other corpus answers in its place. If the map did not answer, this does not count as a miss:
search_forest stays unavailable, the phase does not change, and READY needs understanding or
verification (docs/decisions/0018).
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from code_intel.errors import UpstreamError
from code_intel.records import UpstreamStatus
from code_intel.tools.context.searchers import IN_PROCESS, UnavailableCorpus

MEANWHILE = (
    "Continue with find_definitions, find_references and search_text, which search the project "
    "itself."
)


def hint_of(corpus: UnavailableCorpus) -> str:
    """Return what to do about a corpus that did not answer."""
    error, status = corpus
    if status.where == IN_PROCESS:
        return error.hint
    if status.hint:
        return status.hint
    if status.state == "failed":
        table = f"[upstreams.{status.name}] in .code-intel/config.toml"
        return f"Correct {table} and restart this server."
    when = f" after {status.retry_in:g} s" if status.retry_in else ""
    return f"It will be tried again at the next query{when}. `code-intel doctor` tests it."


def data_of(corpus: UnavailableCorpus) -> dict[str, Any]:
    """Return one item of the field `unavailable`."""
    error, status = corpus
    data = {**status_data(status), "error": error.message, "hint": hint_of(corpus)}
    data.pop("said", None)
    return data | error.details


def unavailable_data(missing: tuple[UnavailableCorpus, ...]) -> dict[str, Any]:
    """Return the field `unavailable`, if a corpus did not answer."""
    return {"unavailable": [data_of(corpus) for corpus in missing]} if missing else {}


def unavailable_lines(missing: tuple[UnavailableCorpus, ...]) -> list[str]:
    """Return a line of text for each corpus that did not answer."""
    return [
        f"No answer from {corpus.error.message.rstrip('.')} (since {corpus.status.since}). "
        f"{hint_of(corpus)}"
        for corpus in missing
    ]


def unavailable_message(missing: tuple[UnavailableCorpus, ...]) -> str:
    """Return a message without the error texts, which may quote another program."""
    names = " and ".join(corpus.status.name for corpus in missing)
    return f"No answer from {names}. `unavailable` gives the reason and says what to do."


def no_answer(missing: tuple[UnavailableCorpus, ...]) -> UpstreamError:
    """Return the error for a query that neither corpus answered."""
    return UpstreamError(
        unavailable_message(missing),
        hint=f"{hint_of(missing[0])} {MEANWHILE}",
        details=unavailable_data(missing),
    )


def status_data(status: UpstreamStatus) -> dict[str, Any]:
    """Return a status on the wire, without empty fields."""
    data = asdict(status) | {"ignored": dict(status.ignored)}
    return {key: value for key, value in data.items() if value not in ("", None, {}, 0)}


def status_text(data: Mapping[str, Any]) -> str:
    """Return a status (of `status_data`) as one line."""
    parts = [f"{data['where']}, {data['state']} since {data['since']}"]
    if data.get("error"):
        last = "its last error: " if data["state"] == "ready" else ""
        parts.append(f"{last}{data['error']}")
    if data.get("said"):
        parts.append(f"its message: “{data['said']}”")
    if data.get("hint"):
        parts.append(data["hint"].rstrip("."))
    if data.get("retry_in"):
        parts.append(f"next attempt in {data['retry_in']:g} s")
    if data.get("restarts"):
        parts.append(f"restarted {data['restarts']} times")
    parts += [f"{count} × {kind} ignored" for kind, count in data.get("ignored", {}).items()]
    return "; ".join(parts)
