"""A push says that the server does not answer while it tries again."""

from pathlib import Path

import pytest

from code_intel.config import SharedConfig
from code_intel.shared.agreements.pushing import AgreementSource
from code_intel.shared.client import SharedClient, SharedIndexError
from code_intel.shared.pushing import RETRIES, Pusher
from code_intel.shared.routes import SendFiles


def test_each_further_attempt_is_announced(tmp_path: Path) -> None:
    said: list[str] = []
    waited: list[float] = []
    client = SharedClient(SharedConfig("http://127.0.0.1:9"))
    pusher = Pusher(
        client,
        "team/shop",
        AgreementSource({}),
        tmp_path,
        0,
        wait=waited.append,
        notice=said.append,
    )
    with pytest.raises(SharedIndexError):
        pusher.send(SendFiles("team/shop", "0" * 64, (), {}))
    client.close()
    assert len(said) == len(waited) == RETRIES
    assert "Trying again in" in said[0]
    assert f"{RETRIES} attempts left" in said[0]
    assert said[-1].endswith("1 attempt left.")
