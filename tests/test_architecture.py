"""What ARCHITECTURE.md promises and no other tool checks."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "code_intel").glob("**/*.py"))
MAY_SPEAK_SQL = {
    "index/store.py",
    "index/schema.py",
    "index/database.py",
    "index/generations.py",
    "index/neighbours.py",
    "index/migration.py",
    "index/opening.py",
    "embedding/cache.py",
    "learned/state.py",
}


def relative(path: Path) -> str:
    return path.relative_to(ROOT / "code_intel").as_posix()


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_a_module_fits_in_one_reading(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= 350


def test_sql_is_spoken_in_the_named_modules_alone() -> None:
    sql = re.compile(
        r'"\s*(SELECT .* FROM|INSERT (OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM|CREATE \w+|PRAGMA) '
    )
    speakers = {relative(path) for path in MODULES if sql.search(path.read_text(encoding="utf-8"))}
    assert speakers <= MAY_SPEAK_SQL


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = re.compile(r"(^|/)(utils?|helpers?|managers?|common|misc)(\.py|/)")
    assert [relative(path) for path in MODULES if vague.search(relative(path))] == []
