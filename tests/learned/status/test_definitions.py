"""Follow renames and moves of a symbol through a real index, as far as it proves them."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking import parse_file
from code_intel.config import load_settings
from code_intel.index.facade import Index
from code_intel.learned.files.agreements import write
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.records import Agreement, FileReference
from learned.builders import rewrite

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
LOGOUT = AUTH[AUTH.index("    def logout") :]
RENAMED = AUTH.replace("def login", "def sign_in")
UNPARSABLE = ")))) <<<< ((((\n" * 3
SWAPPED = AUTH.replace("def login", "def X").replace("def logout", "def login")


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


@pytest.mark.parametrize(
    ("files", "validity", "symbol"),
    [
        ({"auth.py": RENAMED}, "changed", "AuthService.sign_in"),
        ({"auth.py": AUTH.replace("AuthService", "Door")}, "changed", "Door.login"),
        ({"auth.py": None, "door.py": RENAMED}, "changed", "AuthService.sign_in"),
        ({"auth.py": RENAMED.replace("is None", "is False")}, "broken", "AuthService.login"),
        (
            {"auth.py": RENAMED, "door.py": RENAMED.replace("AuthService", "Door")},
            "broken",
            "AuthService.login",
        ),
        ({"auth.py": SWAPPED.replace("def X", "def logout")}, "changed", "AuthService.login"),
        ({"auth.py": None, "door.py": AUTH}, "unconfirmed", "AuthService.login"),
        ({"auth.py": f"class AuthService:\n{LOGOUT}"}, "broken", "AuthService.login"),
        ({"door.py": RENAMED}, "unconfirmed", "AuthService.login"),
        ({"auth.py": UNPARSABLE}, "unconfirmed", "AuthService.login"),
    ],
    ids=["method", "class", "moved and renamed", "renamed and edited", "copied", "swapped",
         "moved", "deleted", "copied beside", "unparsable"],
)  # fmt: skip
def test_status_after_a_change_of_the_source(
    place: Place, files: dict[str, str | None], validity: str, symbol: str
) -> None:
    place.agree("AuthService.login")
    assert (place.now().validity, place.now().symbol) == ("unconfirmed", "AuthService.login")
    for file, text in files.items():
        place.source(text, file)
    found = place.now()
    assert (found.validity, found.symbol) == (validity, symbol), found.reasons
    if symbol != "AuthService.login":
        assert any(f"renamed to {symbol}" in reason for reason in found.reasons)


def test_renaming_back_restores_the_status(place: Place) -> None:
    place.agree("AuthService.login")
    for text, validity in ((RENAMED, "changed"), (AUTH, "unconfirmed")):
        place.source(text)
        assert place.now().validity == validity


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"auth.py": None, "door.py": AUTH}, "Its symbol has moved to door.py:2, unchanged."),
        ({"auth.py": UNPARSABLE}, "index of the source is incomplete"),
    ],
)
def test_reason_names_a_move_and_an_incomplete_index(
    place: Place, files: dict[str, str | None], reason: str
) -> None:
    place.agree("AuthService.login")
    for file, text in files.items():
        place.source(text, file)
    assert any(reason in each for each in place.now().reasons)


def test_trivial_body_is_not_followed(place: Place) -> None:
    place.agree("AuthService.name")
    place.source(AUTH.replace("def name", "def title"))
    assert place.now().validity == "broken"


def test_agreement_without_a_body_is_not_followed(place: Place) -> None:
    place.agree("AuthService.login")
    file = next((place.root / ".code-intel" / "agreements").glob("*.md"))
    rewrite(file, lambda text: re.sub(r"symbol_body.*\n", "", text))
    place.source(RENAMED)
    assert place.now().validity == "broken"


def test_name_with_invisible_characters_is_not_followed(place: Place) -> None:
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


@settings(max_examples=15)
@given(names=st.lists(WORDS, min_size=3, max_size=3))
def test_rename_is_followed_only_to_the_agreed_text(
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
