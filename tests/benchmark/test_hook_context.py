"""The prompts that ask for nothing, and what they get."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.hook_context import Prompt, ask, idle_prompts
from served import settings_of

pytestmark = pytest.mark.anyio

LOGIN = Prompt("task", "the login accepts an empty password", ("src/auth/service.py",))


def test_most_of_the_idle_prompts_are_held_out() -> None:
    prompts = idle_prompts()
    groups = Counter(prompt.group for prompt in prompts)
    assert groups == {"idle/fit": 50, "idle/held": 50, "idle/unseen": 45}
    assert len({prompt.text for prompt in prompts}) == len(prompts)
    assert sum(not prompt.text.isascii() for prompt in prompts) >= 30


async def test_idle_prompts_get_no_context_and_a_task_gets_its_file(shop: Path) -> None:
    settings = replace(settings_of(shop), state_dir=shop.parent / "state")
    results = await ask(settings, "shop", [*idle_prompts(), LOGIN], vectors=False)
    *idle, task = results
    assert task.tokens > 0
    assert task.useful
    assert sum(result.tokens > 0 for result in idle) <= 5
