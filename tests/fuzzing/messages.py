# ruff: noqa: E501, SLF001 - samples in one line each; parsers are fed without their callers
"""Messages of clients and servers, and the files that they exchange."""

import contextlib
import io
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from code_intel.errors import CodeIntelError
from code_intel.session.state import JournalRecord
from fuzzing.engine import JSON_WORDS, Target
from fuzzing.map_files import NOW


def journal(folder: Path) -> Target:
    """Read journals of whole sessions, with their heads, as the product opens them."""
    from code_intel.foundation.durable import make_folder
    from code_intel.session import heads, journal
    from code_intel.session.phases import Event
    from session.sessions import first_record, place_in

    place = place_in(folder)
    name = str(first_record().data["name"])
    key = heads.Handle(name, "0" * 32)
    first = first_record()._replace(data={**first_record().data, "seal": key.seal})
    for made in (place.journals, place.heads):
        make_folder(made)
    seeds = [_walk(number, first) for number in range(40)]
    empty = heads.initial_commit(place, name)
    whole = empty.extended(seeds[0])
    place.journal(name).write_bytes(seeds[0])

    def read(data: bytes) -> object:
        is_head = data[:1].isdigit()
        head = data if is_head else empty.extended(data).encoded()
        place.head(name).write_bytes(head)
        place.journal(name).write_bytes(seeds[0] if is_head else data)
        journal.read_intact(place, name)
        journal.journal_files(place)
        with contextlib.suppress(CodeIntelError):
            journal.load(place, key.text, expire_hours=1e6)
        return journal.inspect(place, name)

    lines = [line for seed in seeds for line in seed.splitlines(keepends=True)]
    return Target(
        read,
        [*seeds, *dict.fromkeys(lines), empty.encoded() + whole.encoded(), whole.encoded()],
        ["session/journal.py", "session/replay.py", "session/heads.py"],
        (CodeIntelError,),
        (*JSON_WORDS, *(event.value.encode() for event in Event)),
        limit=journal.MAX_LINE_BYTES,
    )


def _walk(number: int, first: JournalRecord) -> bytes:
    """Return the journal of a session that makes random moves, some of which are refused."""
    from code_intel.session import journal
    from code_intel.session.replay import apply
    from session.moves import MOVES
    from session.sessions import started

    chance = random.Random(number)
    session, records = started(), [first]
    for move in chance.choices(list(MOVES.values()), k=14):
        with contextlib.suppress(CodeIntelError):
            for step in filter(None, move(session)):
                at = f"2026-01-02T04:00:00.{session.seq:06d}+00:00"
                record = JournalRecord(session.seq + 1, at, step.event, step.data)
                session = apply(session, record)
                records.append(record)
    return b"".join(journal.encode(seq, NOW, event, data) for seq, _, event, data in records)


def frames(_: Path) -> Target:
    from mcp.types import jsonrpc_message_adapter

    from code_intel.servers import long_lines, malformed, stdio

    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search_smart", "arguments": {"query": "ログイン"}, "_meta": {}},
    }  # fmt: skip

    def read(data: bytes) -> None:
        wrapped = stdio._Stdin(io.BytesIO(data), encoding="utf-8-sig", errors="surrogateescape")
        for line in iter(lambda: io.TextIOWrapper.readline(wrapped, 1 << 24), ""):
            try:
                jsonrpc_message_adapter.validate_json(line, by_name=False)
            except Exception as error:  # noqa: BLE001 - as the SDK
                if refusal := malformed._refusal(error):
                    refusal.model_dump_json(by_alias=True)
        for pattern in (long_lines._ID_AT_START.match, long_lines._ID_AT_END.search):
            pattern(data.decode("utf-8", "replace")[: long_lines.END_CHARS])

    return Target(
        read,
        [
            json.dumps(call).encode() + b"\n",
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n',
            b'{"jsonrpc":"2.0","id":"a","result":{}}\n[]\n\n',
        ],
        ["servers/stdio.py", "servers/malformed.py", "servers/long_lines.py"],
        words=JSON_WORDS,
        limit=16 << 20,
    )


def hooks(_: Path) -> Target:
    from code_intel.tools.hooks import answering
    from code_intel.tools.hooks.clients import claude_code, codex, cursor, gemini
    from code_intel.tools.hooks.patches import diffed_files, patched_files
    from code_intel.tools.hooks.shell_commands import read_command

    command = "cd src && FOO=1 sed -i 's/a/b/' $(git ls-files '*.py') > out.txt <<'E'\nx\nE\n"
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch\n"

    def event(name: str, tool: str, given: Mapping[str, Any], **more: Any) -> bytes:
        named = {"hook_event_name": name, "tool_name": tool, "tool_input": given}
        return json.dumps({"session_id": "s", "cwd": "/x", **named, **more}).encode()

    def read(data: bytes) -> None:
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            parsed = answering._parse(data)
            for client in (claude_code, codex, cursor, gemini):
                client.read_event(parsed)
        text = data.decode("utf-8", "replace")
        read_command(text, "/x")
        patched_files(text)
        diffed_files(text)

    return Target(
        read,
        [
            event("PreToolUse", "Bash", {"command": command}),
            event("PreToolUse", "Edit", {"file_path": "/x/a.py", "old_string": "a"}),
            event("PostToolUse", "Read", {"file_path": "a"}, tool_response={"file": {"content": "x"}}),
            event("PostToolUse", "Grep", {"pattern": "a"}, tool_response={"content": "a.py:1:x"}),
            event("UserPromptSubmit", "", {}, prompt="fix the login"),
            json.dumps({"hook_event_name": "beforeShellExecution", "command": command}).encode(),
            command.encode(),
            patch.encode(),
            b"for f in a b; do rm $f; done; cat < x | tee y; rg -n 'x' src || find . -name '*.py'",
        ],
        [
            "tools/hooks/shell_commands.py", "tools/hooks/shell_programs.py",
            "tools/hooks/clients/claude_code.py", "tools/hooks/clients/gemini.py",
            "tools/hooks/clients/cursor.py", "tools/hooks/clients/codex.py", "tools/hooks/patches.py",
        ],
        words=(*JSON_WORDS, b"$(", b"`", b"<<E\n", b"&&", b"|", b"*** Add File: ", b"${a}", b"{a,b}"),
        limit=1 << 18,
        steady=1 << 16,  # 60,000 characters of a command are parsed, for a third of a second
    )  # fmt: skip


def snapshot(folder: Path) -> Target:
    from code_intel.index.snapshot.reading import Snapshot
    from index.snapshot import clones

    def load(path: Path) -> None:
        with Snapshot(path) as snapshot:
            list(snapshot.parts())

    part = clones.forged_part([clones.one_file()])
    seed = clones.forged(clones.header_of(part), [part])

    def forge(data: bytes) -> bytes:
        """Return a snapshot with right digests around bytes of an attacker, and the bytes alone."""
        half = len(data) // 2
        raw = clones.forged_part(None, raw=data[half:])
        try:
            header = json.loads(data[:half])
        except (ValueError, RecursionError):
            return data
        return clones.forged(header, [raw]) if isinstance(header, dict) else data

    path = folder / "x.snapshot"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        with contextlib.suppress(CodeIntelError):
            load(path)
        path.write_bytes(forge(data))
        load(path)

    header = json.dumps(clones.header_of(part)).encode()
    return Target(
        read,
        [seed, header + b" " * len(header), header + json.dumps([clones.one_file()]).encode()],
        ["index/snapshot/reading.py", "index/snapshot/format.py"],
        (CodeIntelError,),
        JSON_WORDS,
    )


def wire(_: Path) -> Target:
    from code_intel.shared import fields, routes, wire

    rows = [row for row in vars(routes).values() if isinstance(row, routes.Route)]
    adapters = [adapter for row in rows for adapter in (row.question, row.answer)]
    digest = "0" * 64
    file = ["a.py", digest, "python", 3, 0, [[0, 1, 3, "def a", ["a"], digest]], [], ["os"]]
    generation = [digest, "a/b", "c" * 40, digest, digest, "m", [[digest, []]], 1, 1, "2026"]
    bodies: list[object] = [
        [["a/b", "main", "c" * 40, digest]],
        generation,
        ["a/b", ["c" * 40], ["main"]],
        ["a/b", [digest]],
        [[digest], [["word_hits", [["a"], "body", 10]]]],
        {digest: wire.vector_text(b"\0\0\x80?")},
        ["a/b", digest, [file], {}, [digest]],
        [generation, "main", False],
    ]
    seeds = [*(json.dumps(body).encode() for body in bodies), wire.pack(bodies[0])]

    def read(data: bytes) -> None:
        for adapter in adapters:
            with contextlib.suppress(wire.WireError):
                wire.unpack(data, adapter)
        text = data.decode("latin-1")
        with contextlib.suppress(wire.WireError):
            wire.vector_bytes(text)
        fields.is_document_name(text)
        fields.is_name(text)
        fields.is_branch(text)

    return Target(
        read,
        seeds,
        ["shared/wire.py", "shared/fields.py"],
        words=(*JSON_WORDS, b"\x1f\x8b\x08", b'"word_hits"', b"../"),
        limit=16 << 20,
    )


def upstream(_: Path) -> Target:
    from mcp.types import CallToolResult, TextContent

    from code_intel.servers.upstream.answer import answer_of, content_of

    hit = {
        "document_name": "a.py", "chunk_text": "def a", "similarity": 0.9, "position": 0,
        "start_line": 1, "end_line": 2, "symbols": ["a"],
    }  # fmt: skip

    def read(data: bytes) -> None:
        text = TextContent(type="text", text=data.decode("utf-8", "replace"))
        answer_of(content_of(CallToolResult(content=[text])))

    return Target(
        read,
        [json.dumps({"results": [hit], "index": {"state": "fresh", "files": 3}}).encode()],
        ["servers/upstream/answer.py"],
        (CodeIntelError,),
        JSON_WORDS,
    )
