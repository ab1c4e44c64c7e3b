"""Renames and moves followed through a real index, as far as it proves them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.config import load_settings
from code_intel.index.facade import Index
from code_intel.learned.files.agreements import write
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.records import Agreement, FileReference

AUTH = '''class AuthService:
    def login(self, user, password):
        """Open a session for a user whose password matches."""
        account = self.accounts.find(user)
        if account is None or not account.matches(password):
            raise Refused(user)
        return self.sessions.open(account)

    def logout(self, session):
        """Close a session and forget its token for good."""
        self.sessions.close(session)
        self.tokens.discard(session.token)

    def name(self):
        return self._name
'''
HEALTH = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@dataclass
class Place:
    """A project with one source file and agreements about it."""

    root: Path

    def source(self, text: str | None, file: str = "auth.py") -> None:
        path = self.root / file
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")

    def agree(self, symbol: str, file: str = "auth.py") -> None:
        text = (self.root / file).read_text(encoding="utf-8")
        found = next(s for s in parse_file(file, text).symbols if s.qualified == symbol)
        write(
            load_settings(self.root, {}).agreements,
            Agreement(
                "ログイン",
                symbol,
                ("It opens a session.",),
                (FileReference(file, found.start_line),),
                digest=found.digest,
                body=found.body,
            ),
        )

    def now(self) -> AgreementStatus:
        config = load_settings(self.root, {})
        with Index(config.forest) as forest:
            forest.complete(words_only=True)
            return standings(config, forest)[0]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path / "p")
    (found.root / ".code-intel").mkdir(parents=True)
    found.source(AUTH)
    return found


def rename(place: Place) -> None:
    place.source(AUTH.replace("def login", "def sign_in"))


def rename_class(place: Place) -> None:
    place.source(AUTH.replace("class AuthService", "class Door"))


def move_renamed(place: Place) -> None:
    place.source(None)
    place.source(AUTH.replace("def login", "def sign_in"), "door.py")


def rename_and_edit(place: Place) -> None:
    place.source(AUTH.replace("def login", "def sign_in").replace("is None", "is False"))


def copy_twice(place: Place) -> None:
    rename(place)
    place.source(AUTH.replace("def login", "def enter").replace("AuthService", "Door"), "door.py")


def swap(place: Place) -> None:
    text = AUTH.replace("def login", "def X").replace("def logout", "def login")
    place.source(text.replace("def X", "def logout"))


def move(place: Place) -> None:
    place.source(None)
    place.source(AUTH, "door.py")


def rename_back(place: Place) -> None:
    rename(place)
    place.now()
    place.source(AUTH)


def delete(place: Place) -> None:
    place.source(
        AUTH.partition("    def login")[0] + "    def logout" + AUTH.partition("    def logout")[2]
    )


def copy_beside(place: Place) -> None:
    place.source(AUTH.replace("def login", "def sign_in"), "door.py")


def break_the_file(place: Place) -> None:
    place.source(")))) <<<< ((((\n" * 3)


@pytest.mark.parametrize(
    ("change", "validity", "symbol"),
    [
        (rename, "changed", "AuthService.sign_in"),
        (rename_class, "changed", "Door.login"),
        (move_renamed, "changed", "AuthService.sign_in"),
        (rename_and_edit, "broken", "AuthService.login"),
        (copy_twice, "broken", "AuthService.login"),
        (swap, "changed", "AuthService.login"),
        (move, "unconfirmed", "AuthService.login"),
        (rename_back, "unconfirmed", "AuthService.login"),
        (delete, "broken", "AuthService.login"),
        (copy_beside, "unconfirmed", "AuthService.login"),
        (break_the_file, "unconfirmed", "AuthService.login"),
    ],
)
def test_what_becomes_of_an_agreement(
    place: Place, change: Callable[[Place], None], validity: str, symbol: str
) -> None:
    place.agree("AuthService.login")
    assert (place.now().validity, place.now().symbol) == ("unconfirmed", "AuthService.login")
    change(place)
    found = place.now()
    assert (found.validity, found.symbol) == (validity, symbol), found.reasons
    if symbol != "AuthService.login":
        assert any(f"renamed to {symbol}" in reason for reason in found.reasons)


def test_a_moved_symbol_says_where_it_is(place: Place) -> None:
    place.agree("AuthService.login")
    move(place)
    assert "Its symbol has moved to door.py:2, unchanged." in place.now().reasons


def test_a_file_that_cannot_be_parsed_breaks_no_agreement(place: Place) -> None:
    place.agree("AuthService.login")
    break_the_file(place)
    assert any("index of the source is incomplete" in reason for reason in place.now().reasons)


def test_a_trivial_symbol_and_an_older_agreement_are_not_followed(place: Place) -> None:
    place.agree("AuthService.name")
    place.source(AUTH.replace("def name", "def title"))
    assert place.now().validity == "broken"


def test_an_agreement_without_a_body_is_not_followed(place: Place) -> None:
    place.agree("AuthService.login")
    file = next((place.root / ".code-intel" / "agreements").glob("*.md"))
    lines = file.read_text("utf-8").splitlines(keepends=True)
    kept = "".join(line for line in lines if not line.startswith("symbol_body"))
    assert len(kept) < len("".join(lines))
    file.write_text(kept, encoding="utf-8")
    rename(place)
    assert place.now().validity == "broken"


def test_a_name_that_nobody_can_read_is_not_followed(place: Place) -> None:
    body = (
        "\nBEGIN\n  UPDATE orders SET state = 'closed' WHERE customer_id = 1 AND paid = 1;\nEND;\n"
    )
    place.source(f"CREATE PROCEDURE close_orders(IN customer INT){body}", "a.sql")
    place.agree("close_orders", "a.sql")
    place.source(f"CREATE PROCEDURE finish_orders(IN customer INT){body}", "a.sql")
    assert place.now().symbol == "finish_orders"
    place.source(f'CREATE PROCEDURE "end\u202e"(IN customer INT){body}', "a.sql")
    assert place.now().validity == "broken"


WORDS = st.sampled_from(["login", "logout", "sign_in", "enter", "name"])


@HEALTH
@given(names=st.lists(WORDS, min_size=3, max_size=3))
def test_a_rename_is_followed_to_the_agreed_text_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    """Whatever the three methods are called now, `login` is never taken for one of other text."""
    place = Place(tmp_path_factory.mktemp("renames"))
    (place.root / ".code-intel").mkdir()
    place.source(AUTH)
    place.agree("AuthService.login")
    text = AUTH
    for number, old in enumerate(("login", "logout", "name")):
        text = text.replace(f"def {old}(", f"def {{{number}}}(")
    place.source(text.format(*names))
    found = place.now()
    if found.heir:
        assert found.heir.name == names[0]
        assert "login" not in names
    if found.validity == "unconfirmed":
        assert names[0] == "login"
