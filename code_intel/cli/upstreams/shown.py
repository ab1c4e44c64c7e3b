"""Show definitions of upstreams in full: what is masked or hidden cannot be approved."""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from code_intel.foundation.text import visible, visible_json
from code_intel.operations.upstream_approvals import ProposedUpstream


def show(args: argparse.Namespace, data: Mapping[str, Any], lines: Sequence[str]) -> None:
    """Print an answer with control characters made visible, but without masking secrets.

    A part of a program's arguments that looks like a secret may be what does the harm. The values
    of variables are not in definitions.
    """
    text = json.dumps(data, ensure_ascii=False) if args.json else "\n".join(map(visible, lines))
    print(visible_json(text) if args.json else text, flush=True)


def proposal_data(proposal: ProposedUpstream) -> dict[str, Any]:
    """Return a definition as JSON."""
    return {
        "name": proposal.name,
        "approved": proposal.is_approved,
        "digest": proposal.digest,
        "definition": proposal.definition,
        "effects": list(proposal.effects),
        "problem": proposal.problem,
    }


def proposal_lines(proposal: ProposedUpstream) -> list[str]:
    """Return a definition as text: each value in a line of its own."""
    standing = "approved" if proposal.is_approved else "not approved"
    lines = [f"{proposal.name}: {standing}, digest {proposal.digest}"]
    for key, value in proposal.definition.items():
        lines += [f"  {key:<14}{text}".rstrip() for text in _values(value)]
    lines += [f"  - {effect}" for effect in proposal.effects]
    return lines


def _values(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{json.dumps(k, ensure_ascii=False)} = {_quoted(v)}" for k, v in value.items()]
    return list(map(_quoted, value)) if isinstance(value, list) else [_quoted(value)]


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
