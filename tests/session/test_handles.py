"""A session is used with its handle; its name alone opens nothing."""

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from code_intel.errors import SessionError
from code_intel.session import journal, steps
from code_intel.session.heads import SESSION_NAME_PATTERN, Handle, SessionPaths, mint, parse
from code_intel.session.phases import Intent
from session.sessions import QUERY

LOOK = steps.called("query", "login", found=1)
ABSENT = Handle("session_20200101_000000_00000000", "0" * 32)


def test_a_handle_is_a_name_in_utc_and_a_random_secret_of_128_bits() -> None:
    tokyo = datetime(2026, 1, 2, 8, 4, 5, tzinfo=timezone(timedelta(hours=9)))
    handle = mint(tokyo)
    assert handle.name.startswith("session_20260101_230405_")
    assert SESSION_NAME_PATTERN.fullmatch(handle.name)
    assert len(bytes.fromhex(handle.secret)) == 16
    assert handle.text == f"{handle.name}_{handle.secret}"
    assert parse(handle.text) == handle
    assert len({mint(datetime.now(UTC)).secret for _ in range(100)}) == 100


@pytest.mark.covers("rule.session.secret")
def test_only_a_hash_of_the_secret_is_kept(place: SessionPaths) -> None:
    session, text = journal.create(place, Intent.MODIFY, QUERY)
    journal.append(place, text, LOOK)
    secret = parse(text).secret
    assert session.seal == hashlib.sha256(secret.encode()).hexdigest()
    files = [path for folder in place[1:] for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert [path for path in files if secret in path.read_text("utf-8")] == []
    assert secret not in repr(session)


@pytest.mark.covers("rule.session.secret", "error.no_active_session")
def test_a_wrong_secret_is_refused_as_if_there_were_no_session(place: SessionPaths) -> None:
    session, text = journal.create(place, Intent.MODIFY, QUERY)
    _, others = journal.create(place, Intent.MODIFY, QUERY)
    secret = parse(text).secret
    with pytest.raises(SessionError) as none:
        journal.load(place, ABSENT.text)
    assert none.value.error == "no_active_session"
    for wrong in ("0" * 32, secret[::-1], parse(others).secret, session.seal[:32]):
        for act in (journal.load, journal.append):
            with pytest.raises(SessionError) as caught:
                act(place, Handle(session.name, wrong).text)
            answer = caught.value.as_dict()
            message = str(answer["message"]).replace(session.name, ABSENT.name)
            assert {**answer, "message": message} == none.value.as_dict()
            assert "start_session" in str(answer["hint"])
    assert journal.load(place, text).seq == 1


@pytest.mark.covers("rule.session.handle")
def test_a_malformed_handle_is_refused_without_repeating_its_secret() -> None:
    text = mint(datetime.now(UTC)).text
    wide = "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in text)
    malformed = (
        *(text.upper(), f" {text}", f"{text}\n", text[:-1], f"{text}0", f"{text}_{text[-32:]}"),
        *(text.replace("_", "-"), f"./{text}", f"{text}.jsonl", wide),
        *("", "../../etc/passwd", f"{ABSENT.name}/../x", f"{ABSENT.name}\x00", "x" * 5000),
    )
    for handle in malformed:
        with pytest.raises(SessionError, match="is not a session id") as caught:
            parse(handle)
        answer = json.dumps(caught.value.as_dict()).lower()
        assert parse(text).secret[:8] not in answer
        assert "start_session" in answer


def test_a_name_passed_as_a_handle_is_explained() -> None:
    # There is no session of this name: the refusal reveals nothing.
    with pytest.raises(SessionError, match="the name of a session") as caught:
        parse(ABSENT.name)
    assert "start_session" in caught.value.hint


def test_a_session_can_be_shown_by_its_name_without_any_change(place: SessionPaths) -> None:
    session, text = journal.create(place, Intent.MODIFY, QUERY)
    session = journal.append(place, text, LOOK)
    before = {path: path.read_bytes() for path in place.journals.iterdir()}
    assert journal.inspect(place, session.name) == session
    assert len(journal.read_intact(place, session.name).records) == 2
    for wrong in (text, "", "../x", session.name.upper()):
        with pytest.raises(SessionError, match="not the name of a session") as caught:
            journal.inspect(place, wrong)
        assert parse(text).secret[:9] not in caught.value.message
    with pytest.raises(SessionError, match="There is no session"):
        journal.inspect(place, ABSENT.name)
    assert {path: path.read_bytes() for path in place.journals.iterdir()} == before
