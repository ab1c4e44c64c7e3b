"""A file of continuous integration opens once the session has read it and says what it rests on."""

from pathlib import Path

import pytest

from programs import git
from served import gateway

pytestmark = pytest.mark.anyio

CI = ".github/workflows/ci.yml"
JOBS = """name: CI
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: make
"""
SLOTS = {
    "target_feature": "the workflow ci.yml",
    "observed_issue": "it runs make only",
    "desired_action": "must also run make lint",
}


@pytest.mark.covers("rule.evidence_need.calls")
async def test_ci_file_opens_in_five_calls_reading_included(shop: Path) -> None:
    (shop / CI).parent.mkdir(parents=True)
    (shop / CI).write_text(JOBS, "utf-8")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Add CI")
    query = "the workflow ci.yml must also run make lint; now it runs make only"
    async with gateway(shop) as call:
        await call("start_session", intent="MODIFY", query=query)
        frame = {name: {"value": text, "quote": text} for name, text in SLOTS.items()}
        await call("set_query_frame", **frame)
        assert not (await call("check_write_target", file_path=CI))["allowed"]
        await call("snippets_get", path=CI)
        claim = {
            "symbol": "jobs",
            "file": CI,
            "explanation": "it runs make only",
            "quote": "- run: make",
        }
        ready = await call("submit_understanding", symbols_identified=[claim])
        assert ready["next_phase"] == "READY"
        assert (await call("check_write_target", file_path=CI))["allowed"]
        for other in ("src/auth/service.py", "README.md"):
            assert not (await call("check_write_target", file_path=other))["allowed"], other
