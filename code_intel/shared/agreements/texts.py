"""Write agreements as they are shared, and read those of others, which are untrusted."""

from dataclasses import replace

from code_intel.chunking.agreement import AgreementProblem, read, render
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import hidden_character, without_hidden
from code_intel.learned.learn import MAX_FIELD_CHARS
from code_intel.learned.status.validity import lookalike
from code_intel.records import Agreement, FileReference
from code_intel.shared.agreements.wire import MAX_TEXT_CHARS

MAX_EVIDENCE = 5
MAX_FILES = 5
MAX_ALIASES = 20
"""Limits of what is shared of an agreement, and of what is read of others' ones."""
MAX_EVIDENCE_CHARS = 400
MAX_PATH_CHARS = 500
MAX_ROLE_CHARS = 30


def shared_text(agreement: Agreement) -> str:
    """Return an agreement as it is shared, without sessions, requests, notes and unknown keys.

    It is empty for one that is not shared, because a person cannot read its names exactly, or
    because it is too long.
    """
    own = limited(agreement)
    text = render(own, language="en") if own else ""
    return text if len(text) <= MAX_TEXT_CHARS else ""


def agreement_from(text: str) -> Agreement | None:
    """Return the agreement of another repository, cut and cleaned; None if it cannot be used."""
    try:
        return limited(read(text))
    except AgreementProblem:
        return None


def limited(agreement: Agreement) -> Agreement | None:
    """Return what is shared of an agreement; None if its names are not legible or too long."""
    names = (agreement.nl_term, agreement.symbol)
    aliases = tuple(
        alias for alias in agreement.aliases
        if len(alias) <= MAX_FIELD_CHARS["alias"] and not hidden_character(alias)
    )[:MAX_ALIASES]  # fmt: skip
    found = Agreement(
        nl_term=agreement.nl_term,
        symbol=agreement.symbol,
        evidence=tuple(_sentence(item) for item in agreement.evidence[-MAX_EVIDENCE:]),
        files=tuple(
            FileReference(file.path, file.line)
            for file in agreement.files[:MAX_FILES]
            if len(file.path) <= MAX_PATH_CHARS and not hidden_character(file.path)
        ),
        learned_at=agreement.learned_at,
        confirmed=agreement.confirmed,
        aliases=aliases,
        digest=agreement.digest,
        role=agreement.role[:MAX_ROLE_CHARS],
    )
    is_long = any(
        len(name) > MAX_FIELD_CHARS[field]
        for name, field in zip(names, ("nl_term", "symbol"), strict=True)
    )
    if is_long or not all(name.strip() for name in names) or hidden_character("".join(names)):
        return None
    if any(masked(name) != name for name in names) or lookalike(found):
        return None
    return replace(found, aliases=tuple(alias for alias in aliases if masked(alias) == alias))


def _sentence(text: str) -> str:
    """Return a sentence on one line, without secrets and invisible characters, cut."""
    return masked(" ".join(without_hidden(text).split()))[:MAX_EVIDENCE_CHARS]
