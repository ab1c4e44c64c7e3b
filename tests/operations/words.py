"""The entries of the map in tests of operations, and what files and the state store say."""

from pathlib import Path

from code_intel.config import Settings
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.history.experience import AgreementExperience
from code_intel.learned.history.state import open_state
from code_intel.operations.map.preview import Applied
from code_intel.tools.context.gateway import GatewayContext

TERM, SYMBOL, TITLE = "送料計算", "shipping_fee", "Prices have no fractions"
KEY = make_key(TERM, SYMBOL)
SOURCE = "src/cart/shipping.py"

State = tuple[set[str], set[Key], list[AgreementExperience]]


def files_of(context: GatewayContext) -> dict[str, bytes]:
    """Return the agreements, notes and files of the trash, by path."""
    state = context.settings.state
    folders = (context.settings.agreements, state / "trash")
    return {
        path.relative_to(state).as_posix(): path.read_bytes()
        for folder in folders
        for path in folder.rglob("*.md")
    }


def state_of(settings: Settings) -> State:
    """Return what the state store says about agreements."""
    with open_state(settings.state, create=False) as state:
        return state.confirmed(), {*state.last_uses()}, state.experiences()


def agreement_file(context: GatewayContext, term: str = TERM) -> Path:
    (file,) = context.settings.agreements.glob(f"{term}*.md")
    return file


def named(applied: Applied) -> list[str]:
    """Return the names of the changed files, without those in the trash."""
    return [Path(each.path).name for each in applied.files if not each.is_trash]
