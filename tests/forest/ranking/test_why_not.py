"""Every row says what it gave, and every file where it lost."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from code_intel.forest.ranking.search import search
from code_intel.forest.ranking.signals import RANKING
from code_intel.forest.ranking.why_not import FileSearch, decisive, why_not
from code_intel.index.store import Store
from code_intel.records import RowShare
from doubles import HashEmbedder
from forest.corpus import FILES, plant

LOGIN = "login checks a password, returns a session token"


def asked(store: Store, query: str, document: str, top_k: int = 5, per_file: int = 3) -> FileSearch:
    return why_not(store, query, None, document, top_k=top_k, per_file=per_file)


def filler(count: int) -> Mapping[str, str]:
    """Return files whose only function has a name of its own."""
    return {f"src/f{n}.py": f"def unrelated{n}():\n    value{n} = {n}\n" for n in range(count)}


def test_the_points_of_the_rows_add_up_to_the_score(store: Store, embedded: Store) -> None:
    vector = HashEmbedder().queries([LOGIN])[0]
    for hits in (
        search(store, LOGIN, None, top_k=20, explain=True),
        search(embedded, LOGIN, vector, top_k=20, explain=True),
    ):
        assert hits
        for hit in hits:
            assert sum(share.points for share in hit.ranking) == pytest.approx(hit.score)


def test_an_explanation_changes_no_hit(embedded: Store) -> None:
    vector = HashEmbedder().queries([LOGIN])[0]
    plain = search(embedded, LOGIN, vector, top_k=20)
    explained = search(embedded, LOGIN, vector, top_k=20, explain=True)
    places = [(hit.document, hit.position, hit.score, hit.why) for hit in plain]
    assert [(hit.document, hit.position, hit.score, hit.why) for hit in explained] == places
    assert not any(hit.ranking for hit in plain)


def test_a_row_that_reduces_takes_points_by_its_factor(store: Store) -> None:
    hits = search(store, LOGIN, None, top_k=20, explain=True)
    hit = next(hit for hit in hits if hit.document == "docs/login.md")
    (share,) = [share for share in hit.ranking if share.factor != 1]
    before = sum(each.points for each in hit.ranking[: hit.ranking.index(share)])
    docs = next(signal for signal in RANKING if signal.name == "docs")
    assert share.row == docs.name
    assert share.factor == pytest.approx(docs.weight)
    assert share.points == pytest.approx(before * (docs.weight - 1))


def test_the_rows_are_those_of_the_tags(store: Store) -> None:
    for hit in search(store, LOGIN, None, top_k=20, explain=True):
        tags = [tag.lstrip("-") for tag in hit.why]
        assert [share.row for share in hit.ranking] == tags


def test_a_shown_file_names_its_rank(store: Store) -> None:
    found = asked(store, LOGIN, "src/auth/service.py")
    assert (found.lost, found.file.rank, found.file.score) == ("", 1, 1.0)
    assert found.reason == f"It is shown: file 1 of {found.files}."
    assert [other.rank for other in found.others] == [min(5, found.files)]


def test_a_shown_file_that_is_not_the_first_says_why(store: Store) -> None:
    found = asked(store, LOGIN, "src/web/routes.py", top_k=20)
    assert found.lost == ""
    assert found.file.rank > 1
    (decided,) = decisive(found.file.ranking, found.first.ranking)
    assert found.reason == (
        f"It is shown: file {found.file.rank} of {found.files}. The first, src/auth/service.py, is"
        f" ahead mostly because of `{decided.row}`."
    )
    assert [other.rank for other in found.others] == [1, found.files]


def test_a_reduction_that_keeps_a_file_behind_is_named(store: Store) -> None:
    found = asked(store, LOGIN, "tests/auth/test_service.py", top_k=20)
    assert "is ahead mostly because of the reduction `test`." in found.reason


def test_a_file_is_compared_with_no_file_twice(store: Store) -> None:
    found = asked(store, LOGIN, "src/web/routes.py", top_k=1)
    assert [other.document for other in found.others] == ["src/auth/service.py"]
    found = asked(store, LOGIN, "src/auth/service.py", top_k=1)
    assert found.others == []


def test_the_fewest_signals_with_half_of_the_lead_are_decisive() -> None:
    mine = [RowShare("words", 0.1), RowShare("names", 0.3), RowShare("stem", 0.1)]
    first = [RowShare("words", 0.5), RowShare("meaning", 0.3), RowShare("stem", 0.2)]
    assert [each.row for each in decisive(mine, first)] == ["words"]
    first += [RowShare("history", 0.5)]
    assert [each.row for each in decisive(mine, first)] == ["history", "words"]
    assert decisive(mine, mine) == []


def test_the_rank_and_the_rows_are_those_of_the_search(store: Store) -> None:
    hits = search(store, LOGIN, None, top_k=20, explain=True)
    for number, hit in enumerate(hits, start=1):
        file = asked(store, LOGIN, hit.document).file
        assert (file.rank, file.ranking) == (number, hit.ranking)
        assert file.score == pytest.approx(hit.score)


def test_more_places_than_shown_are_named(tmp_path: Path) -> None:
    text = "".join(f"def read_invoice_{n}():\n" + f"    invoice({n})\n" * 40 for n in range(5))
    with plant(tmp_path / "f.db", {"a.py": text}) as store:
        found = asked(store, "read the invoice", "a.py", per_file=2)
    assert found.places == 5
    assert "5 of its places match; at most 2 are shown" in found.reason


def test_a_reduction_that_removes_a_file_is_named(store: Store) -> None:
    found = asked(store, LOGIN, "tests/auth/test_service.py", top_k=2)
    assert found.lost == "reduced"
    assert "The signal `test` multiplies its score by 0.10" in found.reason


def test_a_copy_that_lost_to_its_original_is_named(store: Store) -> None:
    found = asked(store, "format an amount of money", "web/format.js", top_k=1)
    assert found.file.rank > 1
    assert "copy" in [share.row for share in found.reductions]


def test_a_file_beyond_the_limit_names_the_signal_that_made_the_difference(store: Store) -> None:
    found = asked(store, LOGIN, "src/web/routes.py", top_k=2)
    assert found.lost == "limit"
    assert found.last.rank == 2
    assert f"is file {found.file.rank} of {found.files}, and 2 files are shown" in found.reason
    assert found.last.document in found.reason


def test_a_file_without_the_words_is_no_candidate(store: Store) -> None:
    found = asked(store, "sign the user in and out", "web/format.js")
    assert (found.lost, found.file.rank) == ("candidates", 0)
    assert found.reason.startswith("It has none of the question's words (sign, user).")
    assert found.reason.endswith("The search compared words only.")


def test_a_file_with_words_that_others_match_better_names_both(tmp_path: Path) -> None:
    many = {f"a{n}.py": "invoice = invoice + invoice\n" for n in range(320)}
    long = "\n".join(f"value_{n} = {n}" for n in range(60))
    with plant(tmp_path / "f.db", {**many, "z.py": f"{long}\ninvoice = 1\n"}) as store:
        found = asked(store, "invoice payment", "z.py")
    assert found.lost == "candidates"
    assert found.words == ("invoice",)
    assert "It has invoice, but not payment." in found.reason


def test_a_question_below_the_floor_shows_nothing(tmp_path: Path) -> None:
    with plant(tmp_path / "f.db", {**FILES, **filler(400)}) as store:
        query = "kubernetes ingress certificates rotate nightly for a cart"
        assert search(store, query, None, top_k=5) == []
        found = asked(store, query, "src/shop/cart.py")
    assert (found.lost, found.likely) == ("floor", False)
    assert "no file is shown. It has cart, but not kubernetes, ingress" in found.reason
    assert "file 1" not in found.reason
    assert not found.first.document
    assert not found.last.document
    assert found.others == []


def test_a_question_without_words_says_so(store: Store) -> None:
    found = asked(store, "?!", "src/shop/cart.py")
    assert (found.lost, found.reason) == ("question", "The question has no word to search for.")


def test_the_meaning_of_a_file_is_compared_with_the_last_that_was_kept(tmp_path: Path) -> None:
    with plant(tmp_path / "f.db", {**FILES, **filler(320)}, HashEmbedder()) as store:
        vector = HashEmbedder().queries([LOGIN])[0]
        near = {chunk for chunk, _ in store.vector_hits(vector, 300)}
        rows = store.chunks_of(row.path for row in store.documents())
        far = next(row.path for row in rows if row.id not in near and "unrelated" in row.text)
        found = why_not(store, LOGIN, vector, far, top_k=5, per_file=3)
    assert found.lost == "candidates"
    assert found.cosine is not None
    assert found.last_cosine is not None
    assert found.cosine <= found.last_cosine
    assert f"has a cosine of {found.cosine:.3f}" in found.reason
