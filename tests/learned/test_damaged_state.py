"""state.db damaged anywhere.

It is set aside, agreements stay, and learning works at the second attempt at the latest.
"""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from code_intel.config import Settings, load_settings
from code_intel.errors import StorageError
from code_intel.learned.files import agreements, pairs
from code_intel.learned.files.changes import sync
from code_intel.learned.files.generated import notice
from code_intel.learned.learn import learn
from code_intel.records import Agreement

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PAGE = 4096
TERMS = {f"{'送料' * 20} {number}" for number in range(60)}


def known(settings: Settings) -> tuple[set[str], set[str]]:
    entries = agreements.load_all(settings.agreements)
    file = pairs.load(pairs.path_of(settings))
    return {e.agreement.nl_term for e in entries if e.agreement}, {p.nl_term for p in file.pairs}


@pytest.fixture(scope="module")
def sixty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sixty")
    settings = load_settings(root)
    told = [Agreement(term, "S", ("x",), learned_at=NOW.isoformat()) for term in TERMS]
    agreements.write_all(settings.agreements, told)
    sync(settings, NOW)
    return root


def copied(root: Path, to: Path) -> tuple[Settings, Path]:
    shutil.copytree(root, to)
    settings = load_settings(to)
    return settings, settings.state / "state.db"


def refused(settings: Settings) -> str | None:
    """Learn something; return what is advised if that fails."""
    try:
        learn(settings, Agreement("ログイン", "AuthService", ("checked",)), confirmed=True, now=NOW)
    except StorageError as error:
        return error.hint
    return None


def goes_on(settings: Settings) -> None:
    """Learning succeeds, at the second attempt at the latest, and nothing but memory was lost."""
    before = set(settings.state.glob("state.db.corrupt-*"))
    notice(settings)
    if hint := refused(settings):
        assert "set aside: try again" in hint
        assert set(settings.state.glob("state.db.corrupt-*")) > before
        assert refused(settings) is None
    assert known(settings) == (TERMS | {"ログイン"}, TERMS | {"ログイン"})
    assert not sync(settings, NOW).steps


def test_any_page_may_be_overwritten(sixty: Path, tmp_path: Path) -> None:
    pages = (sixty / ".code-intel" / "state.db").stat().st_size // PAGE
    assert pages > 8
    for page in range(pages):
        settings, file = copied(sixty, tmp_path / str(page))
        with file.open("r+b") as database:
            database.seek(page * PAGE)
            database.write(b"\xa5" * PAGE)
        goes_on(settings)


@pytest.mark.parametrize("content", [b"", b"x", b"not a database" * 999, b"SQLite format 3\x00"])
def test_it_may_be_something_else(sixty: Path, tmp_path: Path, content: bytes) -> None:
    settings, file = copied(sixty, tmp_path / "project")
    file.write_bytes(content)
    goes_on(settings)


def test_its_journal_may_be_gone_or_of_another(sixty: Path, tmp_path: Path) -> None:
    for content in (b"", b"\x37\x7f\x06\x82" + b"\xa5" * 9000):
        settings, file = copied(sixty, tmp_path / str(len(content)))
        file.with_name("state.db-wal").write_bytes(content)
        goes_on(settings)


def test_a_folder_in_its_place_is_told_and_reading_goes_on(sixty: Path, tmp_path: Path) -> None:
    settings, file = copied(sixty, tmp_path / "project")
    file.unlink()
    file.mkdir()
    with pytest.raises(StorageError, match=r"state\.db"):
        learn(settings, Agreement("ログイン", "AuthService", ("checked",)), confirmed=True, now=NOW)
    assert "state.db" in notice(settings)
    assert known(settings) == (TERMS, TERMS)
    file.rmdir()
    goes_on(settings)
