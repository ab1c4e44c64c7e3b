"""An agent that does what the answers tell it, and nothing else."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from code_intel.tools.table import GATEWAY_TOOLS
from honest.sessions import Honest
from projects import Caller

_TOOLS = sorted((tool.name for tool in GATEWAY_TOOLS), key=len, reverse=True)
_NAMED = re.compile(rf"\b(?:{'|'.join(_TOOLS)})\b")
_NEEDS = re.compile(r"(\d+) (symbol|entry point|file|pattern)")
LOOKS = ("find_definitions", "find_references", "search_text")
_MOST = 20
"""Calls after which an agent would give up."""


def named(text: str) -> list[str]:
    """Return the tools that a text names, in order, each once."""
    return list(dict.fromkeys(_NAMED.findall(text)))


@dataclass
class Agent:
    """One session of one agent.

    Attributes:
        call: The connection.
        plan: What it says and thinks.
        calls: The tools it has called so far.
        agenda: The tools that the answers name next.
        needs: How much understanding takes, as the answers say.
        files: Files that answers have named, the surest first.
        symbols: Symbols likewise.
        found: Those that find_definitions has found.
        refused: What was refused or fell short, with what was said.
        told: What the last answer said.
        looked: The last call that looked at the code, and what for.
    """

    call: Caller
    plan: Honest
    calls: list[str] = field(default_factory=list)
    agenda: list[str] = field(default_factory=list)
    needs: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    hypotheses: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    told: str = ""
    looked: tuple[str, str] = ("", "")
    phase: str = ""
    handle: str = ""

    async def run(self) -> None:
        """Work until READY."""
        await self.do("start_session", intent=self.plan.intent, query=self.plan.query)
        while self.phase != "READY":
            assert len(self.calls) < _MOST, self.story
            tool = self.next_tool()
            await self.do(tool, **self.arguments(tool))

    def next_tool(self) -> str:
        """Return what the answers name next.

        Look at one more thing if too little would be submitted.
        """
        if not self.agenda:
            return "get_session_status"
        short = len(self.found) < self.needs.get("symbol", 0) and len(self.found) > 0
        if self.agenda[0] == "submit_understanding" and short and not self.plan.supposes:
            return "query" if "query" not in self.calls else "find_definitions"
        return self.agenda.pop(0)

    @property
    def story(self) -> str:
        """What happened, for whoever reads why a test failed."""
        return "\n".join([f"{self.plan.id}: {' > '.join(self.calls)}", *self.refused])

    async def do(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and take in what its answer says."""
        self.calls.append(tool)
        if tool in LOOKS:
            self.looked = tool, next(iter(arguments.values()))
        if self.handle:
            arguments["session_id"] = self.handle
        result = await self.call.client.call_tool(tool, arguments)
        answer: dict[str, Any] = dict(result.structured_content or {})
        if result.is_error or answer.get("missing_requirements"):
            self.refused.append(f"{tool}: {answer['message']} {answer['hint']}")
        self.read(tool, answer)
        return answer

    def read(self, tool: str, answer: dict[str, Any]) -> None:
        """Take in what an answer shows, and what it says is next."""
        self.handle = self.handle or str(answer.get("session_id", ""))
        self.phase = str(answer.get("next_phase") or answer.get("current_phase") or self.phase)
        self.hypotheses = answer.get("hypotheses_to_verify", self.hypotheses)
        rows = answer.get("results", ())
        if tool == "query":
            rows = [
                {
                    "file": row["file_path"],
                    "symbol": row["symbol_name"],
                    "start_line": row["start_line"],
                }
                for row in rows
                if row["source_tool"] == "find_definitions"
            ]
            self.found += [row["symbol"] for row in rows]
        self.found += [row["name"] for row in answer.get("definitions", ())]
        for row in (
            *answer.get("definitions", ()),
            *rows,
            *answer.get("references", ()),
            *answer.get("matches", ()),
        ):
            file, symbol = (
                row.get("file") or row.get("document"),
                row.get("name") or row.get("symbol"),
            )
            self.files += [file] if file not in self.files else []
            self.symbols += [symbol] if symbol and symbol not in self.symbols else []
            if symbol:
                self.places[symbol] = f"{file}:{row.get('line') or row.get('start_line')}"
        said = [
            str(answer.get(key) or "") for key in ("next_action", "hint", "message", "next_step")
        ]
        if tool == "set_query_frame":
            self.needs = {thing: int(count) for count, thing in _NEEDS.findall(" ".join(said))}
        self.told = " ".join(said)
        if told := next((tools for tools in map(named, said) if tools), []):
            prove = "submit_semantic" in told and self.plan.supposes
            self.agenda = ["submit_semantic"] if prove else told
        elif (
            tool in LOOKS
            and (answer.get("definitions") or answer.get("total_matches"))
            and self.phase == "VERIFICATION"
        ):
            self.agenda = [name for name in self.agenda if name not in LOOKS]
        elif not self.agenda and tool != "get_session_status":
            self.agenda = ["get_session_status"]

    def next_look(self) -> str:
        """Return the symbol to look up: the assumed symbol of the feature, then other suggestions.

        A class is looked up with all its members.
        """
        means = self.plan.means
        if self.phase == "VERIFICATION":
            return means
        suggested = [means, *(name for name in self.symbols if name not in self.found)]
        return next((name.partition(".")[0] for name in suggested if name not in self.found), means)

    @property
    def known(self) -> str:
        """The symbol that the feature is taken for, as the answers spell it."""
        return next((name for name in self.symbols if self.plan.means in name), self.plan.means)

    def arguments(self, tool: str) -> dict[str, Any]:
        """Return what the agent calls a tool with."""
        made: dict[str, Callable[[], dict[str, Any]]] = {
            "set_query_frame": self.frame,
            "query": lambda: {"question": self.plan.query},
            "search_forest": lambda: {"query": self.plan.query},
            "search_text": lambda: {"pattern": self.plan.means},
            "find_definitions": lambda: {"symbol": self.next_look()},
            "find_references": lambda: {"symbol": self.known},
            "confirm_symbol_relevance": self.relevance,
            "submit_understanding": self.understanding,
            "submit_semantic": lambda: {
                "hypotheses": [self.plan.supposes],
                "devrag_reason": "architecture_unknown",
            },
            "submit_verification": lambda: {
                "verified": [self.verified(text) for text in self.hypotheses]
            },
        }
        return made[tool]() if tool in made else {}

    def frame(self) -> dict[str, Any]:
        """Return the query frame, in the user's own words."""
        return {name: {"value": words, "quote": words} for name, words in self.plan.slots.items()}

    def relevance(self) -> dict[str, Any]:
        """Return what says that the symbol carries out the feature, with its place."""
        said = f"{self.known} ({self.places.get(self.known, '')}) {self.plan.does}"
        return {"relevant_symbols": [self.known], "code_evidence": said}

    def understanding(self) -> dict[str, Any]:
        """Return as much as was said to be needed, of what was found."""
        symbols = list(dict.fromkeys([self.known, *self.found]))[
            : max(self.needs.get("symbol", 1), 1)
        ]
        return {
            "symbols_identified": symbols,
            "entry_points": symbols[: self.needs.get("entry point", 0)],
            "files_analyzed": self.files[: max(self.needs.get("file", 1), 1)],
            "existing_patterns": list(self.plan.patterns) if self.files else [],
        }

    def verified(self, hypothesis: str) -> dict[str, Any]:
        """Return the answer to a hypothesis, by the last call that looked for it."""
        tool, target = self.looked
        files = [self.plan.writes] if self.plan.writes else []
        evidence = {"tool": tool, "target": target, "result": self.plan.does, "files": files}
        return {"hypothesis": hypothesis, "status": "confirmed", "evidence": evidence}
