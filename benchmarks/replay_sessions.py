"""What an honest agent does with the gateway, one session a question; `replay.py` plays it.

The agent knows what the labels say and claims nothing its own calls have not found. Costs are those
of answers: calls, tokens of the structured answer by the product's own estimate, milliseconds.
"""

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client

from code_intel.tools.wire.answers import tokens

LONGEST = 200
"""Characters that a slot of the query frame takes."""
SAID = 90
"""Characters of a refusal that are kept."""


class RefusedError(Exception):
    """The gateway refused a call, and said why."""


class Need(NamedTuple):
    """One labelled question; `file` and `relevant` are relative to the folder that is indexed."""

    id: str
    query: str
    nl_term: str
    symbol: str
    file: str
    relevant: tuple[str, ...]
    evidence: str
    again: Mapping[str, str]


class Cost(NamedTuple):
    """What it took: calls, tokens, milliseconds; `found` says whether a relevant file was named."""

    calls: int
    tokens: int
    milliseconds: float
    found: bool = False

    def plus(self, other: "Cost") -> "Cost":
        """Return both together; what the other found counts."""
        return Cost(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.milliseconds + other.milliseconds,
            other.found,
        )


NOTHING = Cost(0, 0, 0.0)


class Lesson(NamedTuple):
    """How a working session went: what it taught, else why nothing; what the map had offered it.

    Attributes:
        turn: The pass it was learned in.
        cost: To READY, from the first search on.
        symbol: As it was learned, or empty.
        offered: What the map had answered with, or empty.
        term: What it was asked with.
    """

    id: str
    term: str
    cost: Cost
    symbol: str = ""
    why: str = ""
    offered: str = ""
    turn: int = 1


class Reply(NamedTuple):
    """How the map stood to a question.

    Attributes:
        band: `READY` or `VERIFICATION`, the phase the map led to; empty, it left it to the forest.
        verdict: What the map answered with: `right`, `near` (another symbol learned in a relevant
            file), `wrong`; empty if it did not answer.
        guards: What kept a good score from READY.
        cost: Until a relevant file was named; after a wrong answer with the search in the forest.
        settled: Until the session was READY, all of its answers read.
    """

    band: str
    verdict: str
    symbol: str
    score: float
    guards: tuple[str, ...]
    cost: Cost
    settled: Cost


@dataclass
class Agent:
    """A connected client in one project.

    Attributes:
        spent: What the calls of the current session have cost, from its first search on.
        known: Files of each symbol that a session has taught.
    """

    client: Client
    root: Path
    spent: Cost = NOTHING
    known: dict[str, set[str]] = field(default_factory=dict)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its structured answer.

        Raises:
            RefusedError: The answer is an error.
        """
        started = time.perf_counter()
        result = await self.client.call_tool(tool, arguments)
        took = 1000 * (time.perf_counter() - started)
        data = dict(result.structured_content or {})
        size = tokens(json.dumps(data, ensure_ascii=False))
        self.spent = self.spent.plus(Cost(1, size, took))
        assert not data.get("unavailable"), f"{tool}: a half of the answer is missing"
        if result.is_error:
            raise RefusedError(f"{tool}: {data.get('message')} {data.get('hint') or ''}".strip())
        return data

    async def start(self, intent: str, query: str, feature: str = "") -> str:
        """Start a session, with a target feature or without; costs are counted from here."""
        session = str((await self.call("start_session", intent=intent, query=query))["session_id"])
        if feature:
            slot = {"value": feature, "quote": feature}
            await self.call("set_query_frame", target_feature=slot, session_id=session)
        self.spent = NOTHING
        return session

    async def work(self, need: Need, query: str, term: str) -> Lesson:
        """Do the work a question asks for, by the rules, and report success."""
        offered = ""
        try:
            session = await self.start("MODIFY", query, term)
            answer = await self.call("search_smart", session_id=session)
            offered = symbol_of(answer)
            fits = self.judge(answer, need) == "right"
            if offered:
                await self.settle(session, answer, fits=fits)
            await self.understand(session, need, term, "READY" if fits else "EXPLORATION")
            ready = self.spent
            return (await self.finish(session, need, term, ready))._replace(offered=offered)
        except RefusedError as error:
            return Lesson(need.id, term, self.spent, why=str(error)[:SAID], offered=offered)

    async def understand(self, session: str, need: Need, term: str, phase: str) -> None:
        """Explore, confirm, and submit what was understood, until the session is READY."""
        symbol = need.symbol
        if phase == "EXPLORATION":
            await self.call("find_definitions", symbol=symbol, exact_match=True, session_id=session)
            await self.call("find_references", symbol=symbol, session_id=session)
        await self.call(
            "confirm_symbol_relevance",
            relevant_symbols=[symbol],
            code_evidence=f"{symbol}: {need.evidence}",
            session_id=session,
        )
        if phase == "EXPLORATION":
            understood = await self.call(
                "submit_understanding",
                symbols_identified=[symbol],
                entry_points=[symbol],
                files_analyzed=[need.file],
                existing_patterns=["as the code around it does"],
                session_id=session,
            )
            phase = understood["next_phase"]
        if phase == "SEMANTIC":
            supposed = await self.call(
                "submit_semantic",
                hypotheses=[f"{symbol} carries out: {term}"],
                devrag_reason="architecture_unknown",
                session_id=session,
            )
            await self.verify(session, supposed["hypotheses_to_verify"], symbol, fits=True)

    async def verify(self, session: str, texts: list[str], symbol: str, *, fits: bool) -> None:
        """Look the symbol up, and confirm or reject what is supposed of it."""
        found = await self.call(
            "find_definitions", symbol=symbol, exact_match=True, session_id=session
        )
        evidence = {
            "tool": "find_definitions",
            "target": symbol,
            "result": "it is what was asked for" if fits else "it is about something else",
            "files": list(dict.fromkeys(row["file"] for row in found.get("definitions", ())))[:3],
        }
        status = "confirmed" if fits else "rejected"
        answers = [{"hypothesis": text, "status": status, "evidence": evidence} for text in texts]
        await self.call("submit_verification", verified=answers, session_id=session)

    async def finish(self, session: str, need: Need, term: str, ready: Cost) -> Lesson:
        """Change a word inside the symbol, and report success. The labels stay true."""
        allowed = await self.call("check_write_target", file_path=need.file, session_id=session)
        if not allowed["allowed"]:
            return Lesson(need.id, term, ready, why=f"{need.file} may not be written")
        found = await self.call(
            "find_definitions", symbol=need.symbol, path=need.file, exact_match=True
        )
        places = [row for row in found.get("definitions", ()) if row["file"] == need.file]
        file = self.root / need.file
        file.write_bytes(changed_in(file.read_bytes(), places[0]["line"], places[0]["end_line"]))
        outcome = await self.call("record_outcome", outcome="success", session_id=session)
        learned = [pair["symbol"] for pair in outcome.get("cached_pairs", ())]
        if not outcome["map_updated"] or outcome["map_sync"] != "done" or not learned:
            return Lesson(need.id, term, ready, why=f"{outcome['note']} {outcome['map_sync']}")
        for symbol in learned:
            self.known.setdefault(symbol, set()).add(need.file)
        return Lesson(need.id, term, ready, symbol=learned[0])

    async def ask(self, query: str, intent: str, need: Need | None) -> Reply:
        """Ask with the session's own words, settle what the map says, and go on until READY."""
        feature = query[:LONGEST] if intent == "MODIFY" else ""
        session = await self.start(intent, query, feature)
        answer = await self.call("search_smart", session_id=session)
        verdict, symbol = self.judge(answer, need), symbol_of(answer)
        wanted = need.relevant if need and verdict != "wrong" else ()
        cost = self.spent._replace(**read_until(answer, wanted))
        if symbol:
            await self.settle(session, answer, fits=verdict != "wrong")
        settled = self.spent
        if need and verdict == "wrong":
            until, whole = await self.forest(query, need)
            cost, settled = settled.plus(until), settled.plus(whole)
        if need and verdict in {"", "wrong"}:
            settled = settled.plus(await self.explore(session, need, query))
        best = answer["results"][0].get("score") if symbol else answer.get("best_map_score")
        band = str(answer.get("next_phase")) if symbol else ""
        guards = tuple(answer.get("guards", ()))
        return Reply(band, verdict, symbol, best or 0.0, guards, cost, settled)

    async def alone(self, query: str, intent: str, need: Need) -> tuple[Cost, Cost]:
        """Ask the forest alone; return the cost to a named relevant file, and the cost to READY."""
        until, whole = await self.forest(query, need)
        session = await self.start(intent, query, query[:LONGEST] if intent == "MODIFY" else "")
        return until, whole.plus(await self.explore(session, need, query))

    async def explore(self, session: str, need: Need, query: str) -> Cost:
        """Continue from EXPLORATION to READY, or as far as the index goes; return the cost."""
        self.spent = NOTHING
        with suppress(RefusedError):
            await self.understand(session, need, query, "EXPLORATION")
        return self.spent

    async def settle(self, session: str, answer: Mapping[str, Any], *, fits: bool) -> None:
        """Do what the phase asks for after an answer of the map, or leave what is wrong."""
        if answer.get("next_phase") == "VERIFICATION":
            texts = answer["hypotheses_to_verify"]
            await self.verify(session, texts, symbol_of(answer), fits=fits)
        elif not fits:
            await self.call("revert_to_exploration", reason="not it", session_id=session)

    async def forest(self, query: str, need: Need) -> tuple[Cost, Cost]:
        """Ask the forest alone, in a session that may; return its cost to a file, and the whole."""
        session = await self.start("QUESTION", query)
        answer = await self.call("search_forest", query=query, session_id=session)
        return self.spent._replace(**read_until(answer, need.relevant)), self.spent

    def judge(self, answer: Mapping[str, Any], need: Need | None) -> str:
        """Return the verdict of a `Reply` on an answer; to an unrelated question each is wrong."""
        symbol = symbol_of(answer)
        if not symbol or need is None:
            return "wrong" if symbol else ""
        if same_symbol(symbol, need.symbol) and need.file in files_of(answer["results"][0]):
            return "right"
        return "near" if self.known.get(symbol, set()).intersection(need.relevant) else "wrong"


def changed_in(content: bytes, first: int, last: int) -> bytes:
    """Return a file with the longest word inside the lines of a symbol changed.

    It is the last of the longest ones, which is rarely a keyword; so the file can still be parsed.
    """
    lines = content.splitlines(keepends=True)
    start = first if last > first else first - 1  # the header of a longer symbol stays
    words = [found for line in lines[start:last] for found in re.findall(rb"\b[A-Za-z_]\w+", line)]
    longest = max(reversed(words), key=len)
    inside = b"".join(lines[start:last])
    changed = re.sub(rb"\b" + longest + rb"\b", longest + b"2", inside, count=1)
    return b"".join((*lines[:start], changed, *lines[last:]))


def symbol_of(answer: Mapping[str, Any]) -> str:
    """Return the symbol of the best agreement of an answer; empty when it comes from the forest."""
    if answer["source"] != "map" or not answer.get("results"):
        return ""
    return str(answer["results"][0]["agreement"]["symbol"])


def same_symbol(one: str, other: str) -> bool:
    """Whether two names are one symbol, with or without its scope."""
    first, second = (f".{name.replace('::', '.').rstrip('()')}" for name in (one, other))
    return bool(one and other) and (first.endswith(second) or second.endswith(first))


def read_until(answer: Mapping[str, Any], wanted: tuple[str, ...]) -> dict[str, Any]:
    """Return an answer's tokens to the end of the first hit in a wanted file, else all tokens."""
    text = json.dumps(answer, ensure_ascii=False)
    for row in answer.get("results", ()):
        if not set(files_of(row)).isdisjoint(wanted):
            said = json.dumps(row, ensure_ascii=False)
            return {"tokens": tokens(text[: text.index(said) + len(said)]), "found": True}
    return {"tokens": tokens(text), "found": False}


def files_of(row: Mapping[str, Any]) -> list[str]:
    """Return the files a hit names: its own, or those of its agreement without their lines."""
    if "agreement" not in row:
        return [str(row["document"])]
    places = (str(place) for place in row["agreement"]["files"])
    return [
        place.rpartition(":")[0] if place.rpartition(":")[2].isdecimal() else place
        for place in places
    ]
