"""Let several processes learn at once; neither the agreements nor their pairs lose anything."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.config import load_settings
from code_intel.learned.files import agreements, pairs
from code_intel.learned.files.changes import sync
from code_intel.learned.history.state import open_state
from programs import quick_folder

LEARNER = """
import sys
from pathlib import Path
from code_intel.config import load_settings
from code_intel.errors import BusyError
from code_intel.learned.learn import learn
from code_intel.records import Agreement
settings, who, many = load_settings(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for number in range(many):
    told = Agreement(
        f"決済 {who} {number}", f"Pay{who}.refund{number}", (f"refund {number} of {who}",)
    )
    while True:
        try:
            learn(settings, told, confirmed=number % 2 == 0)
            break
        except BusyError as error:
            assert "Try again" in error.hint
"""


@pytest.mark.covers("rule.pairs.no_loss")
@pytest.mark.parametrize(
    ("processes", "each"), [(4, 15), pytest.param(8, 25, marks=pytest.mark.long)]
)
def test_processes_that_learn_at_once_lose_nothing(processes: int, each: int) -> None:
    with quick_folder() as folder:
        learners = [
            subprocess.Popen(
                [sys.executable, "-c", LEARNER, folder, str(who), str(each)],
                cwd=Path(__file__).parents[2],
                stdin=subprocess.DEVNULL,
            )
            for who in range(processes)
        ]
        assert [learner.wait() for learner in learners] == [0] * processes
        settings = load_settings(folder)
        wanted = {
            (f"決済 {who} {number}", f"Pay{who}.refund{number}")
            for who in range(processes)
            for number in range(each)
        }
        known = agreements.look(settings.agreements)
        assert set(known.by_key) == wanted
        assert len(list(settings.agreements.iterdir())) == len(wanted)
        assert {pair.key for pair in pairs.load(pairs.path_of(settings)).pairs} == wanted
        with open_state(settings.state) as state:
            sure = state.confirmed()
        confirmed = {key for key, entry in known.by_key.items() if entry.digest in sure}
        assert confirmed == {key for key in wanted if int(key[0].split()[-1]) % 2 == 0}
        assert not sync(settings, datetime.now(UTC)).steps
        assert not list(settings.state.rglob("*.tmp"))
