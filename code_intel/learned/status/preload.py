"""The map read before the first question: what a question needs and nobody has asked for yet.

Of 10,000 agreements that takes seconds, for which a question would wait (docs/decisions/0028). No model is
loaded and nothing is written for it. Then every file is asked now and again, so that no question has to.
"""

import threading
from contextlib import suppress

from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.index.facade import Index
from code_intel.learned.files import agreements
from code_intel.learned.files.folder import BELIEVED_SECONDS
from code_intel.learned.recall.agreement_index import DEALT, deck_of
from code_intel.learned.recall.recall import prepare
from code_intel.learned.status.snapshot import ledger

PAUSE = 0.001
"""Seconds between two cards, a few times what one takes: questions go before."""
CLOSE_TIMEOUT_S = 5.0
"""Seconds that `close` waits for what cannot be interrupted."""


class Preload:
    """A thread that reads the agreements and prepares their cards; of a map that is not there, nothing.

    Args:
        settings: The project.
        index: The map; it must be open until `close` has returned.
        identity: Of the engine whose vectors questions are compared with.
    """

    def __init__(self, settings: Settings, index: Index, identity: str) -> None:
        self._settings = settings
        self._index = index
        self._identity = identity
        self._stop = threading.Event()
        self._prepared = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warm the map", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        if self._settings.agreements.is_dir():
            self._thread.start()

    def wait(self) -> None:
        """Wait until everything is prepared."""
        if self._thread.ident is not None:
            self._prepared.wait()

    def close(self) -> None:
        """Stop soon."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        try:
            with suppress(CodeIntelError):  # whoever asks is told
                self._prepare()
        finally:
            self._prepared.set()
        while not self._stop.wait(BELIEVED_SECONDS / 2):
            with suppress(CodeIntelError):
                agreements.look(self._settings.agreements, believing=False)

    def _prepare(self) -> None:
        found = ledger(self._settings)
        if self._stop.is_set():
            return
        deck = deck_of(self._index, found, self._identity, with_model=False)
        for card in deck.cards if len(deck.cards) > DEALT else ():
            if self._stop.wait(PAUSE):
                return
            prepare(card)
