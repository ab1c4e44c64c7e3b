"""The handle of a session is in the answer to its client and in no file."""

import json
from pathlib import Path
from typing import Any

import pytest

from code_intel.session.heads import parse_handle
from projects import both_eras
from served import gateway, settings_of
from shop_sessions import FEE, FEE_FILE, explore, start, succeed

pytestmark = pytest.mark.anyio
OWN: dict[str, dict[str, Any]] = {
    "add_explored_files": {"files": [FEE_FILE]},
    "check_write_target": {"file_path": FEE_FILE},
    "get_session_status": {},
    "search_smart": {"query": "login"},
}


def values(answer: object) -> list[str]:
    """Return every text of an answer except the field `session_id`."""
    if isinstance(answer, dict):
        return [
            text
            for key, value in answer.items()
            if key != "session_id"
            for text in (*values(value), str(key))
        ]
    if isinstance(answer, list):
        return [text for value in answer for text in values(value)]
    return [str(answer)]


@both_eras
async def test_session_writes_its_name_but_not_its_secret(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        handle = await start(call, "送料")
        name, secret = parse_handle(handle)
        await explore(call, FEE, FEE_FILE)
        answers = [await call("revert_to_exploration", session_id=handle, reason="again")]
        await explore(call, FEE, FEE_FILE)
        for tool, arguments in OWN.items():
            answer = await call(tool, session_id=handle, **arguments)
            assert answer.get("session_id", handle) == handle, tool
            answers.append(answer)
        outcome = await succeed(call, shop, FEE_FILE)
        assert outcome["agreement_file"]
        assert outcome["record_id"].startswith(f"outcome_{name}_")
        answers.append(outcome)
        error = await call.refused("submit_semantic", session_id=handle, hypotheses=["x"])
        assert secret not in json.dumps([values(answer) for answer in (*answers, error)])
    settings = settings_of(shop)
    contents = {
        path: path.read_bytes()
        for folder in (shop, settings.state_dir, settings.cache_dir)
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert [path for path, content in contents.items() if secret.encode() in content] == []
    holders = {path.name for path, content in contents.items() if name.encode() in content}
    assert {f"{name}.jsonl", "outcomes.jsonl", "learned_pairs.json"} <= holders
    assert outcome["agreement_file"] in holders
    assert not any(secret in path.name for path in contents)


@both_eras
async def test_text_of_an_answer_has_the_handle(shop: Path, era: str) -> None:
    async with gateway(shop, era) as call:
        result = await call.client.call_tool("start_session", {"intent": "MODIFY", "query": "x"})
        text = result.content[0].text  # type: ignore[union-attr]  # it is text
    handle = text.split("session_id: ")[1].split()[0]
    async with gateway(shop, era) as call:
        assert (await call("get_session_status", session_id=handle))["session_id"] == handle
