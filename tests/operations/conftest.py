"""The shop with an unconfirmed agreement and a convention, as operations see it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from client_hooks import client_context
from code_intel.learned.learn import learn
from code_intel.learned.notes.change_notes import add_note
from code_intel.records import Agreement, Note
from code_intel.tools.context.gateway import GatewayContext
from operations.words import SYMBOL, TERM, TITLE
from served import settings_of


@pytest.fixture
def context(shop: Path) -> Iterator[GatewayContext]:
    settings = settings_of(shop)
    learn(settings, Agreement(TERM, SYMBOL, ("It returns the fee.",)), confirmed=False)
    add_note(settings, Note("convention", TITLE, "Prices are whole numbers."))
    with client_context(shop) as found:
        yield found
