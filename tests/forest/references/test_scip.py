"""An index that a compiler has written says what a name means; a stale or damaged one is ignored.

`scip/index.scip` was written by scip-typescript 0.4.0 for the files beside it.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.forest.references.certainty import judge
from code_intel.forest.references.project import ProjectNames
from code_intel.forest.references.scip import ScipIndex, ScipJudge
from forest.corpus import plant

FOLDER = Path(__file__).parent / "scip"
TEXTS = {name: (FOLDER / name).read_text("utf-8") for name in ("cart.ts", "use.ts")}
DATA = (FOLDER / "index.scip").read_bytes()


def certainties(data: bytes, texts: dict[str, str], folder: Path) -> dict[int, str]:
    """Return what is known of the lines of `use.ts` with the name of `Cart.total`."""
    with plant(folder / "forest.db", texts) as store:
        namesakes = store.definitions("total", exact=True, limit=3)
        asked = [d for d in namesakes if d.qualified == "Cart.total"]
        project = ProjectNames(store, (), texts.get, ScipIndex(data))
        found = judge(project, asked, namesakes, [("use.ts", line) for line in (3, 4, 5)])
    return {
        line: "other" if one.is_other else one.certainty.value for (_, line), one in found.items()
    }


def test_index_knows_what_the_types_of_the_text_do_not_say(tmp_path: Path) -> None:
    assert certainties(DATA, TEXTS, tmp_path) == {3: "resolved", 4: "other", 5: "text"}
    (tmp_path / "forest.db").unlink()
    assert certainties(b"", TEXTS, tmp_path)[3] == "text"


def test_changed_file_is_judged_by_its_text(tmp_path: Path) -> None:
    texts = {**TEXTS, "use.ts": 'import { open } from "./cart"\n\n\nopen().total()\n'}
    assert certainties(DATA, texts, tmp_path)[4] == "resolved"


def test_damaged_index_is_no_help(tmp_path: Path) -> None:
    for data in (DATA[:-3], DATA[5:], b"\xff" * 40):
        index = ScipIndex(data)
        assert index.occurrences("missing.ts") is None
        assert ScipJudge(index, []).lines_of("use.ts", TEXTS["use.ts"]) is None
    assert certainties(DATA[:-3], TEXTS, tmp_path)[4] == "other"


@given(st.integers(0, len(DATA) - 1), st.binary(min_size=1, max_size=3))
def test_no_byte_makes_the_reader_fail(at: int, written: bytes) -> None:
    index = ScipIndex(DATA[:at] + written + DATA[at + len(written) :])
    for name in TEXTS:
        index.occurrences(name)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_occurrences_are_in_lines_with_their_names(name: str) -> None:
    occurrences = ScipIndex(DATA).occurrences(name)
    assert occurrences
    assert max(one.line for one in occurrences) <= TEXTS[name].count("\n")
