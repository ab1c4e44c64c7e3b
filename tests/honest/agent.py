"""An agent that makes the calls which the answers name, and no others."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from code_intel.tools.table import GATEWAY_TOOLS
from honest.sessions import Honest
from projects import Caller, complete_answer

_TOOLS = sorted((tool.name for tool in GATEWAY_TOOLS), key=len, reverse=True)
_TOOL_NAME = re.compile(rf"\b(?:{'|'.join(_TOOLS)})\b")
_NEED = re.compile(r"(\d+) (symbol|entry point|file|pattern)")
EVIDENCE_TOOLS = ("find_definitions", "find_references", "search_text")
MAX_CALLS = 20
"""Calls after which an agent would give up."""


def tools_in(text: str) -> list[str]:
    """Return the tools that a text names, in order, each once."""
    return list(dict.fromkeys(_TOOL_NAME.findall(text)))


@dataclass
class Agent:
    """One session of one agent.

    Attributes:
        call: The connection.
        plan: What it says and assumes.
        calls: The tools that it has called.
        agenda: The tools that the answers name next.
        needs: The counts that the answers require.
        files: Files in answers, in order of appearance.
        symbols: Symbols in answers, likewise.
        found: Symbols that find_definitions has found.
        places: `file:line` of symbols.
        refused: Refusals and incomplete submissions, with their messages.
        advice: The messages of the last answer.
        evidence: The last call of an evidence tool, and its target.
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
    advice: str = ""
    evidence: tuple[str, str] = ("", "")
    phase: str = ""
    handle: str = ""

    async def run(self) -> None:
        """Work until READY."""
        await self.start()
        while self.phase != "READY":
            assert len(self.calls) < MAX_CALLS, self.story
            tool = self.next_tool()
            await self.do(tool, **self.arguments(tool))

    async def start(self) -> dict[str, Any]:
        """Start a session with its frame."""
        slots = {name: {"value": words, "quote": words} for name, words in self.plan.slots.items()}
        return await self.do(
            "start_session", intent=self.plan.intent, query=self.plan.query, **slots
        )

    def next_tool(self) -> str:
        """Return the next tool of the agenda, or a search if too few symbols were found."""
        if not self.agenda:
            return "get_session_status"
        short = 0 < len(self.found) < self.needs.get("symbol", 0) or (
            0 < len(self.files) < self.needs.get("file", 0)
        )
        if self.agenda[0] == "submit_understanding" and short and not self.plan.supposes:
            return "query" if "query" not in self.calls else "find_definitions"
        return self.agenda.pop(0)

    @property
    def story(self) -> str:
        """The calls and refusals, as the message of a failed test."""
        return "\n".join([f"{self.plan.id}: {' > '.join(self.calls)}", *self.refused])

    async def do(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and read its answer."""
        self.calls.append(tool)
        if tool in EVIDENCE_TOOLS:
            self.evidence = tool, next(iter(arguments.values()))
        if self.handle:
            arguments["session_id"] = self.handle
        result = await self.call.client.call_tool(tool, arguments)
        answer: dict[str, Any] = dict(result.structured_content or {})
        if not result.is_error:
            answer = complete_answer(tool, result)
        if result.is_error or answer.get("missing_requirements"):
            self.refused.append(f"{tool}: {answer['message']} {answer['hint']}")
        self.handle = self.handle or str(answer.get("session_id", ""))
        self.phase = str(answer.get("next_phase") or answer.get("current_phase") or self.phase)
        self.hypotheses = answer.get("hypotheses_to_verify", self.hypotheses)
        self.read_results(tool, answer)
        self.read_advice(tool, answer)
        return answer

    def read_results(self, tool: str, answer: dict[str, Any]) -> None:
        """Remember the files and symbols of an answer."""
        rows = answer.get("results", ())
        if tool == "query":
            names = {"file": "file_path", "symbol": "symbol_name", "start_line": "start_line"}
            rows = [
                {name: row[key] for name, key in names.items()}
                for row in rows
                if row["source_tool"] == "find_definitions"
            ]
            self.found += [row["symbol"] for row in rows]
        definitions = answer.get("definitions", ())
        self.found += [row["name"] for row in definitions]
        places = answer.get("places", ())
        more = (*answer.get("references", ()), *answer.get("matches", ()), *places)
        for row in (*definitions, *rows, *more):
            file, symbol = (
                row.get("file") or row.get("document"),
                row.get("name", row.get("symbol")),
            )
            if row not in places:  # the gate counts files that were looked up
                self.files += [file] if file not in self.files else []
            if symbol:
                self.symbols += [symbol] if symbol not in self.symbols else []
                self.places[symbol] = f"{file}:{row.get('line') or row.get('start_line')}"

    def read_advice(self, tool: str, answer: dict[str, Any]) -> None:
        """Plan the next calls: the tools that the first text with a tool name contains."""
        keys = ("next_action", "hint", "message", "next_step")
        texts = [str(answer.get(key) or "") for key in keys]
        self.advice = " ".join(texts)
        if tool == "start_session":
            self.needs = {thing: int(count) for count, thing in _NEED.findall(self.advice)}
        found_evidence = answer.get("definitions") or answer.get("total_matches")
        if tools := next(filter(None, map(tools_in, texts)), []):
            supposes = "submit_semantic" in tools and self.plan.supposes
            self.agenda = ["submit_semantic"] if supposes else tools
        elif tool in EVIDENCE_TOOLS and found_evidence and self.phase == "VERIFICATION":
            self.agenda = [name for name in self.agenda if name not in EVIDENCE_TOOLS]
        elif not self.agenda and tool != "get_session_status":
            self.agenda = ["get_session_status"]

    def next_look(self) -> str:
        """Return the symbol to look up: the assumed one, then others that answers have shown.

        A class is looked up with all its members.
        """
        means = self.plan.means
        if self.phase == "VERIFICATION":
            return means
        suggested = [means, *(name for name in self.symbols if name not in self.found)]
        return next((name.partition(".")[0] for name in suggested if name not in self.found), means)

    @property
    def known(self) -> str:
        """The assumed symbol of the feature, as the answers spell it."""
        return next((name for name in self.symbols if self.plan.means in name), self.plan.means)

    def arguments(self, tool: str) -> dict[str, Any]:
        """Return the arguments for a tool."""
        made: dict[str, Callable[[], dict[str, Any]]] = {
            "query": lambda: {"question": self.plan.query},
            "search_forest": lambda: {"query": self.plan.query},
            "search_text": lambda: {"pattern": self.plan.means},
            "find_definitions": lambda: {"symbol": self.next_look()},
            "find_references": lambda: {"symbol": self.known},
            "confirm_symbol_relevance": lambda: {
                "relevant_symbols": [self.known],
                "code_evidence": (
                    f"{self.known} ({self.places.get(self.known, '')}) {self.plan.does}"
                ),
            },
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

    def understanding(self) -> dict[str, Any]:
        """Return a submission with as many findings as are needed."""
        need = self.needs.get
        symbols = list(dict.fromkeys([self.known, *self.found]))[: max(need("symbol", 1), 1)]
        return {
            "symbols_identified": symbols,
            "entry_points": symbols[: need("entry point", 0)],
            "files_analyzed": self.files[: max(need("file", 1), 1)],
            "existing_patterns": list(self.plan.patterns) if self.files else [],
        }

    def verified(self, hypothesis: str) -> dict[str, Any]:
        """Return the confirmation of a hypothesis, by the last call of an evidence tool."""
        tool, target = self.evidence
        files = [self.plan.writes] if self.plan.writes else []
        evidence = {"tool": tool, "target": target, "result": self.plan.does, "files": files}
        return {"hypothesis": hypothesis, "status": "confirmed", "evidence": evidence}
