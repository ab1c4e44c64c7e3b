"""Whoever has a handle may use its session, and nobody else."""

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import SessionError
from code_intel.session import journal, steps
from code_intel.session.acknowledged import believable
from code_intel.session.handles import NAME, Handle, mint, parse
from code_intel.session.heads import Place
from code_intel.session.phases import Intent
from session.sessions import QUERY, place_in

LOOK = steps.called("query", "login", found=1)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_in(tmp_path)


def test_a_handle_is_a_name_in_utc_and_a_secret_of_128_bits() -> None:
    tokyo = datetime(2026, 1, 2, 8, 4, 5, tzinfo=timezone(timedelta(hours=9)))
    handle = mint(tokyo)
    assert handle.name.startswith("session_20260101_230405_")
    assert NAME.fullmatch(handle.name)
    assert len(bytes.fromhex(handle.secret)) == 16
    assert handle.text == f"{handle.name}_{handle.secret}"
    assert parse(handle.text) == handle


def test_no_two_secrets_are_the_same() -> None:
    assert len({mint(datetime.now(UTC)).secret for _ in range(1000)}) == 1000


@pytest.mark.covers("rule.session.secret")
def test_only_the_seal_of_the_secret_is_kept(place: Place) -> None:
    session, text = journal.create(place, Intent.MODIFY, QUERY)
    journal.append(place, text, LOOK)
    secret = parse(text).secret
    assert session.seal == hashlib.sha256(secret.encode()).hexdigest()
    files = [path for folder in place[1:] for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 3
    assert [path for path in files if secret in path.read_text("utf-8")] == []
    assert secret not in repr(session)


@pytest.mark.covers("rule.session.secret")
@pytest.mark.covers("error.no_active_session")
def test_a_name_without_its_secret_opens_nothing(place: Place) -> None:
    session, text = journal.create(place, Intent.MODIFY, QUERY)
    _, others = journal.create(place, Intent.MODIFY, QUERY)
    secret = parse(text).secret
    wrong = [
        Handle(session.name, "0" * 32).text,
        Handle(session.name, secret[::-1]).text,
        Handle(session.name, parse(others).secret).text,
        Handle(session.name, session.seal[:32]).text,
    ]
    absent = Handle("session_20200101_000000_00000000", "0" * 32).text
    with pytest.raises(SessionError) as nobody:
        journal.load(place, absent)
    for handle in wrong:
        for act in (journal.load, journal.append):
            with pytest.raises(SessionError) as caught:
                act(place, handle)
            told = caught.value.as_dict()
            name = str(told["message"]).replace(session.name, parse(absent).name)
            assert {**told, "message": name} == nobody.value.as_dict()
            assert "start_session" in str(told["hint"])
    assert journal.load(place, text).seq == 1


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        lambda text: f" {text}",
        lambda text: f"{text}\n",
        lambda text: text[:-1],
        lambda text: f"{text}0",
        lambda text: f"{text}_{text[-32:]}",
        lambda text: text.replace("_", "-"),
        lambda text: f"./{text}",
        lambda text: f"{text}.jsonl",
        lambda text: "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in text),
    ],
    ids=range(10),
)
def test_what_is_nearly_a_handle_is_none_and_its_secret_is_not_repeated(
    change: Callable[[str], str], place: Place
) -> None:
    _, text = journal.create(place, Intent.MODIFY, QUERY)
    with pytest.raises(SessionError, match="is no session id") as caught:
        journal.load(place, change(text))
    said = json.dumps(caught.value.as_dict()).lower()
    assert parse(text).secret[:8] not in said
    assert "start_session" in said


@given(st.text(max_size=100))
def test_no_text_is_a_handle_by_chance(text: str) -> None:
    with pytest.raises(SessionError) as caught:
        parse(text)
    assert caught.value.error == "no_active_session"


def test_a_name_is_no_handle_and_whoever_passes_it_is_told_so() -> None:
    name = (
        "session_20260102_030406_0000000a"  # of a session that is not there: nothing is given away
    )
    with pytest.raises(SessionError, match="the name of a session") as caught:
        parse(name)
    assert "start_session" in caught.value.hint


def test_people_read_a_session_by_its_name_and_change_nothing(place: Place) -> None:
    session, text = journal.create(place, Intent.MODIFY, QUERY)
    session = journal.append(place, text, LOOK)
    before = {path: path.read_bytes() for path in place.journals.iterdir()}
    assert journal.inspect(place, session.name) == session
    assert [record.event.value for record in believable(place, session.name).records] == [
        "started",
        "called",
    ]
    for no_name in (text, "", "../x", session.name.upper()):
        with pytest.raises(SessionError, match="no name of a session") as caught:
            journal.inspect(place, no_name)
        assert parse(text).secret[:9] not in caught.value.message
    with pytest.raises(SessionError, match="There is no session"):
        journal.inspect(place, "session_20200101_000000_00000000")
    assert {path: path.read_bytes() for path in place.journals.iterdir()} == before
