"""How close a symbol is to a request: search, links to the first hits, rare words."""

from pathlib import Path

import pytest

from code_intel.forest.ranking.closeness import RequestSearch, SymbolCloseness, search_request
from code_intel.forest.ranking.history import CommitHistory
from code_intel.forest.ranking.question import embedded as vector_of
from code_intel.foundation.git import Commit
from code_intel.index.store import Store
from doubles import HashEmbedder
from forest.corpus import FILES, plant

REQUEST = "login checks a password and returns a session token"


@pytest.fixture(scope="module")
def found(store: Store) -> RequestSearch:
    return search_request(store, REQUEST, None, [("the discount of the cart", None)])


def close(store: Store, found: RequestSearch, symbol: str, quote: str = "") -> SymbolCloseness:
    definition = store.definitions(symbol, exact=True, limit=1)[0]
    lines = FILES[definition.file].splitlines()
    text = "\n".join(lines[definition.line - 1 : definition.end_line])
    return found.closeness(definition, text, store.doc_of(definition), quote)


def test_the_answer_is_first_in_the_search(store: Store, found: RequestSearch) -> None:
    login = close(store, found, "AuthService.login")
    assert (login.file_rank, login.file_score, login.linked) == (1, 1.0, True)
    assert login.file_words == max(found.file_words.values())
    assert login.part_score < 1.0
    assert found.first_names[0].startswith("src/auth/service.py: AuthService")


def test_tests_and_documents_are_no_source_files(found: RequestSearch) -> None:
    assert not [path for path in found.files if path.endswith(".md")]


def test_a_test_is_no_source_unless_the_request_asks_for_tests(tmp_path: Path) -> None:
    files = {
        "src/invoice.py": "def parse_invoice(text):\n    return text\n",
        "src/page.py": "def draw(page):\n    return page\n",
        "tests/test_invoice.py": "def test_parse_invoice():\n    assert parse_invoice('invoice')\n",
    }
    with plant(tmp_path / "f.db", files) as store:
        request = search_request(store, "parse the invoice", None)
        assert next(iter(request.files)) == "src/invoice.py"
        assert request.file_words["src/invoice.py"] == 1.0
        asked = search_request(store, "the test of parse invoice", None)
        assert asked.files["tests/test_invoice.py"] > request.files["tests/test_invoice.py"]


def test_commits_for_similar_requests_bring_a_symbol_closer(store: Store) -> None:
    commits = [
        Commit("Refuse an empty password at login", ("src/auth/service.py",)),
        Commit("Round the total", ("src/shop/cart.py",)),
    ]
    request = search_request(store, REQUEST, None, history=CommitHistory(commits))
    assert close(store, request, "AuthService.login").history == 1.0
    assert close(store, request, "formatMoney").history == 0.0


def test_without_a_similar_commit_the_other_scores_stand_in(
    store: Store, found: RequestSearch
) -> None:
    login = close(store, found, "AuthService.login")
    assert login.history == (login.file_score + login.part_score) / 2


def test_a_symbol_that_a_first_hit_uses_is_linked(store: Store) -> None:
    request = search_request(store, "checks passwords and hands out tokens", None)
    assert close(store, request, "TokenStore.issue").linked
    assert not close(store, request, "formatMoney").linked


def test_a_symbol_that_names_a_first_hit_is_linked(tmp_path: Path) -> None:
    files = {
        "a.py": "def parse_invoice(text):\n    return text\n",
        "b.py": "def caller():\n    return parse_invoice('')\n",
        "c.py": "def stranger():\n    return 1\n",
    }
    with plant(tmp_path / "f.db", files) as store:
        request = search_request(store, "the invoice is parsed twice", None)
        linked = {
            d.name: request.closeness(d, files[d.file], "", "").linked
            for d in store.defined_in(files)
        }
    assert linked == {"parse_invoice": True, "caller": True, "stranger": False}


def test_a_symbol_found_for_one_part_alone_speaks_of_that_part(
    store: Store, found: RequestSearch
) -> None:
    assert close(store, found, "Cart.total_price").in_part
    assert not close(store, found, "formatMoney").in_part


def test_rare_words_in_name_documentation_and_quote_count(tmp_path: Path) -> None:
    common = {f"m{n}.py": f"def handler_{n}(request):\n    return request\n" for n in range(10)}
    files = common | {"z.py": 'def login(user):\n    """Opens the vault."""\n    check(token)\n'}
    with plant(tmp_path / "f.db", files) as store:
        request = search_request(store, "login request opens the vault with a token", None)
        (definition,) = store.definitions("login", exact=True, limit=2)
        assert "request" not in request.weights  # in more than 30 % of the files
        without = request.closeness(definition, "", "", "")
        quoted = request.closeness(definition, "", store.doc_of(definition), "    check(token)")
    assert without.words == ("login",)
    assert set(quoted.words) == {"login", "open", "vault", "token"}
    assert without.covered < quoted.covered == 1.0


def test_a_quote_of_many_lines_counts_as_its_best_line(store: Store, found: RequestSearch) -> None:
    lines = ["return self.tokens.issue(user, password)", "x = 1", "session"]
    alone = max(close(store, found, "formatMoney", line).covered for line in lines)
    assert close(store, found, "formatMoney", "\n".join(lines)).covered == alone


def test_a_name_that_many_files_define_links_nothing(tmp_path: Path) -> None:
    files = {f"m{n}.py": "def handle():\n    return 1\n" for n in range(8)}
    files |= {"z.py": "def use_it():\n    return handle()\n"}
    with plant(tmp_path / "f.db", files) as store:
        request = search_request(store, "handle", None)
    assert "handle" not in request.defined


def test_vectors_count_where_there_are_some(embedded: Store) -> None:
    vector = vector_of(HashEmbedder(), REQUEST)
    request = search_request(embedded, REQUEST, vector)
    assert next(iter(request.files)) == "src/auth/service.py"
    assert set(request.first) == set(list(request.files)[:5])


def test_a_request_without_words_finds_nothing(store: Store) -> None:
    request = search_request(store, "?!", None)
    assert not request.files
    assert close(store, request, "formatMoney") == SymbolCloseness(
        0, 0.0, 0.0, 0.0, 0.0, linked=False, in_part=False, words=(), covered=0.0
    )
