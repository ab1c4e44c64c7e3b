"""A damaged state.db is set aside, agreements stay, and the second attempt to learn succeeds."""

import shutil
from pathlib import Path

import pytest

from code_intel.config import Settings, load_settings
from code_intel.errors import StorageError
from code_intel.learned.files import agreements
from code_intel.learned.files.changes import sync
from code_intel.learned.files.generated import notice
from code_intel.learned.learn import learn
from code_intel.records import Agreement
from learned.builders import NOW, agreements_of, pairs_of

PAGE = 4096
NEW = Agreement("ログイン", "AuthService", ("checked",))
TERMS = {f"{'送料' * 20} {number}" for number in range(60)}


def known_terms(settings: Settings) -> tuple[set[str], set[str]]:
    """Return the terms of the agreements and those of the pairs."""
    found = agreements_of(settings), pairs_of(settings)
    return {term for term, _ in found[0]}, {term for term, _ in found[1]}


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


def refusal(settings: Settings) -> str | None:
    """Learn an agreement; return the advice if that fails."""
    try:
        learn(settings, NEW, confirmed=True, now=NOW)
    except StorageError as error:
        return error.hint
    return None


def require_recovery(settings: Settings) -> None:
    """Require that the second attempt to learn succeeds, and that only memory was lost."""
    before = set(settings.state.glob("state.db.corrupt-*"))
    notice(settings)
    if hint := refusal(settings):
        assert "try again" in hint
        assert set(settings.state.glob("state.db.corrupt-*")) > before
        assert refusal(settings) is None
    assert known_terms(settings) == (TERMS | {"ログイン"}, TERMS | {"ログイン"})
    assert not sync(settings, NOW).steps


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
def test_any_overwritten_page(sixty: Path, tmp_path: Path, step: int) -> None:
    pages = (sixty / ".code-intel" / "state.db").stat().st_size // PAGE
    assert pages > 8
    for page in range(0, pages, step):
        settings, file = copied(sixty, tmp_path / str(page))
        with file.open("r+b") as database:
            database.seek(page * PAGE)
            database.write(b"\xa5" * PAGE)
        require_recovery(settings)


@pytest.mark.parametrize("content", [b"", b"x", b"not a database" * 999, b"SQLite format 3\x00"])
def test_another_content(sixty: Path, tmp_path: Path, content: bytes) -> None:
    settings, file = copied(sixty, tmp_path / "project")
    file.write_bytes(content)
    require_recovery(settings)


def test_empty_or_foreign_journal(sixty: Path, tmp_path: Path) -> None:
    for content in (b"", b"\x37\x7f\x06\x82" + b"\xa5" * 9000):
        settings, file = copied(sixty, tmp_path / str(len(content)))
        file.with_name("state.db-wal").write_bytes(content)
        require_recovery(settings)


def test_folder_in_its_place_is_reported_and_reading_continues(sixty: Path, tmp_path: Path) -> None:
    settings, file = copied(sixty, tmp_path / "project")
    file.unlink()
    file.mkdir()
    with pytest.raises(StorageError, match=r"state\.db"):
        learn(settings, NEW, confirmed=True, now=NOW)
    assert "state.db" in notice(settings)
    assert known_terms(settings) == (TERMS, TERMS)
    file.rmdir()
    require_recovery(settings)
