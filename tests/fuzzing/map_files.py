"""Files of the map that others write: agreements, notes, pairs and exports."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from code_intel.chunking import decode
from code_intel.errors import CodeIntelError
from fuzzing.engine import JSON_WORDS, Target

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


AGREEMENT = """---
nl_term: "ログイン機能"
symbol: AuthService.login
related_files:
  - path: src/auth.py
    line: 12
similarity: 0.9
aliases: [sign in, "ログイン"]
learned_at: 2026-03-01T12:00:00+00:00
session_id: s-1
---

# ログイン機能 → AuthService.login

## 根拠

- login checks the password
- `AuthService` is called by the form
"""


NOTE = """---
kind: convention
title: Money is in cents
applies_to: ["src/**", "*.py"]
symbols: [price, Cart.total]
---

Amounts are integers.

## Why

Floats lose cents.
"""


RECORD = """# 12. Use SQLite

Date: 2026-03-01

## Status

Accepted

## Context

One file.

## Decision

We use SQLite.
"""


YAML_WORDS = tuple(
    text.encode()
    for text in (
        "---\n", "- ", ": ", "&a ", "*a", "!!python/object:os.system", "? ", "|\n", ">-\n", "{",
        "[", "}", "]", "'", '"', "#", "<<<<<<< ", "=======", ">>>>>>> ", "symbol: ", "nl_term: ",
        "  ", "\t", "2026-01-01", "0x1F", "1_000", "~", "yes", "%YAML 1.1\n", "...\n", "```\n",
    )
)  # fmt: skip


def text_of(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """Read the text of bytes, as the index decodes files."""

    def run(data: bytes) -> object:
        text = decode(data)
        return None if text is None else read(text)

    return run


def front_matter(_: Path) -> Target:
    from code_intel.chunking import front_matter

    return Target(
        text_of(lambda text: front_matter.parse(text, front_matter.load)),
        [AGREEMENT.encode(), NOTE.encode(), b"---\na: [1, {b: c}]\n---\nbody\n"],
        ["chunking/front_matter.py"],
        (ValueError,),
        YAML_WORDS,
    )


def agreement(_: Path) -> Target:
    from code_intel.chunking import agreement

    def read(text: str) -> None:
        found = agreement.read(text)
        again = agreement.read(agreement.render(found))
        assert again == agreement.read(agreement.render(again)), "what was rendered reads otherwise"
        agreement.card_of(text)
        agreement.notes_of(text)

    return Target(
        text_of(read),
        [AGREEMENT.encode()],
        ["chunking/agreement.py", "chunking/agreement_body.py", "chunking/agreement_values.py"],
        (agreement.AgreementProblem,),
        YAML_WORDS,
    )


def note(_: Path) -> Target:
    from code_intel.chunking.agreement import AgreementProblem
    from code_intel.chunking.notes import decision_record, note

    def read(text: str) -> None:
        decision_record.read(text, "docs/decisions/0012-use-sqlite.md")
        found = note.read(text, "x.md")
        note.read(note.render(found), "x.md")

    return Target(
        text_of(read),
        [NOTE.encode(), RECORD.encode()],
        ["chunking/notes/note.py", "chunking/notes/decision_record.py"],
        (AgreementProblem,),
        YAML_WORDS,
    )


def pairs(_: Path) -> Target:
    from code_intel.learned.files import pairs

    row = {
        "nl_term": "ログイン", "symbol": "login", "code_evidence": "it checks", "similarity": 0.9,
        "learned_at": "2026-03-01T12:00:00+00:00", "related_files": ["a.py:3"], "aliases": ["in"],
    }  # fmt: skip
    document = {"version": 2, "updated_at": "2026-03-01", "embedding_model": "m", "pairs": [row]}

    def read(data: bytes) -> None:
        found = pairs.parse(data)
        if not found.damage and not found.is_newer:
            again = pairs.parse(pairs.dump(found))
            assert not again.damage, again.damage

    first = {**document, "version": 1}
    return Target(
        read,
        [json.dumps(document).encode(), json.dumps(first).encode(), json.dumps([row]).encode()],
        ["learned/files/pairs.py"],
        words=JSON_WORDS,
    )


def export(_: Path) -> Target:
    from code_intel.chunking import agreement
    from code_intel.learned.files import exchange

    seed = exchange.dump([agreement.read(AGREEMENT)]).encode()
    return Target(
        lambda data: list(exchange.read(data, NOW)),
        [seed],
        ["learned/files/exchange.py"],
        (CodeIntelError,),
        JSON_WORDS,
    )
