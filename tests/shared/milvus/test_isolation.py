"""What one repository holds has no effect on what another one answers."""

from contextlib import suppress
from itertools import count

import pytest

from code_intel.errors import UsageError
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.milvus import index as indexes
from hostile_texts import HOSTILE
from pushes import MODEL, Push, card_digest, pushed, shared_file, vector_of, vectors_of

pytestmark = pytest.mark.milvus
NUMBERS = count()
TEXTS = {
    "a.py": "def alpha(): return 'common words'\n",
    "b.py": "def beta(): return 'words, and a rare one: zebra'\n",
    "c.py": "def gamma(): return 'others'\n",
}
SECRET = {f"{n}.py": f"def secret{n}(): return 'zebra common words'\n" for n in range(30)}


@pytest.fixture
def name() -> str:
    return f"isolation/repo{next(NUMBERS)}"


def test_scores_do_not_depend_on_other_repositories(shared_index: SharedIndex, name: str) -> None:
    mine = pushed(shared_index, name, TEXTS)
    terms = ["zebra", "common", "word", "secret0"]
    before = shared_index.store([mine])
    expected = [before.word_hits(terms, column, 99) for column in ("body", "names")]
    counts = before.word_counts(terms)
    pushed(shared_index, f"{name}/secret", SECRET)
    after = SharedIndex(shared_index._engine, shared_index._opened)  # noqa: SLF001 - no caches
    store = after.store([mine])
    assert [store.word_hits(terms, column, 99) for column in ("body", "names")] == expected
    assert store.word_counts(terms) == counts
    assert len(store.vector_hits(vector_of("q"), 99)) == 3
    assert store.definitions("secret", exact=False, limit=9) == []


def test_chunks_of_other_repositories_are_unknown(shared_index: SharedIndex, name: str) -> None:
    mine = shared_index.store([pushed(shared_index, name, TEXTS)])
    secret = shared_index.store([pushed(shared_index, f"{name}/secret", SECRET)])
    ids = [row.id for row in secret.chunks_of(SECRET)]
    assert len(ids) == len(SECRET)
    assert mine.chunk_places(ids) == []
    assert mine.chunk_rows(ids) == {}
    assert mine.chunk_texts(ids) == {}


def test_vectors_come_only_from_the_named_repositories(
    shared_index: SharedIndex, name: str
) -> None:
    pushed(shared_index, name, TEXTS)
    vectors = vectors_of("a.py", TEXTS["a.py"])
    assert shared_index.vectors([*vectors, "f" * 32, ""], [name]) == vectors
    assert shared_index.vectors(vectors, [f"{name}/other"]) == {}
    assert shared_index.vectors(vectors, []) == {}
    assert shared_index.vectors([], [name]) == {}


def test_vectors_are_reused_by_card_in_any_layer(shared_index: SharedIndex, name: str) -> None:
    pushed(shared_index, name, TEXTS)
    other = Push(shared_index, f"{name}/fork", TEXTS)
    cards = {card for path, text in TEXTS.items() for card in vectors_of(path, text)}
    known = shared_index.vectors(cards, [name, f"{name}/fork"])
    assert known.keys() == cards
    files = [shared_file(path, text) for path, text in TEXTS.items()]
    shared_index.write(f"{name}/fork", other.plan.new, files, known)
    other.finish()
    found = shared_index.generation(other.generation.id)
    assert found is not None
    hits = shared_index.store([found]).vector_hits(vector_of("q"), 9)
    assert len(hits) == 3


def test_a_chunk_without_a_vector_is_found_by_words(shared_index: SharedIndex, name: str) -> None:
    push = Push(shared_index, name, TEXTS)
    files = [shared_file(path, text) for path, text in TEXTS.items()]
    shared_index.write(name, push.plan.new, files, vectors_of("a.py", TEXTS["a.py"]))
    push.finish()
    found = shared_index.generation(push.generation.id)
    assert found is not None
    store = shared_index.store([found])
    nearest = store.vector_hits(vector_of("q"), 9)
    assert [place.path for place in store.chunk_places(c for c, _ in nearest)] == ["a.py"]
    assert len(store.word_hits(["word"], "body", 9)) == 2


def test_only_vectors_of_one_model_are_compared(shared_index: SharedIndex, name: str) -> None:
    one = pushed(shared_index, f"{name}/one", TEXTS)
    other = pushed(shared_index, f"{name}/other", {"x.py": "x = 1\n"}, model="another model")
    without = pushed(shared_index, f"{name}/without", {"y.py": "y = 1\n"}, model="")
    store = shared_index.store([other, one, without])
    assert store.model() == MODEL
    hits = store.vector_hits(vector_of("q"), 99)
    places = store.chunk_places(chunk for chunk, _ in hits)
    assert {store.place_of(place.path).repository for place in places} == {f"{name}/one"}
    assert shared_index.store([without]).model() is None
    assert shared_index.store([without]).vector_hits(vector_of("q"), 9) == []


def test_one_repository_cannot_choose_the_model_of_many(
    shared_index: SharedIndex, name: str
) -> None:
    honest = [pushed(shared_index, f"{name}/{each}", TEXTS) for each in ("one", "two")]
    many = {f"{number}.py": f"x = {number}\n" for number in range(20)}
    other = pushed(shared_index, f"{name}/other", many, model="no such model")
    assert other.chunks > sum(each.chunks for each in honest)
    assert shared_index.store([*honest, other]).model() == MODEL


def test_heads_are_those_that_may_be_read(shared_index: SharedIndex, name: str) -> None:
    for each in ("one", "two", "three"):
        pushed(shared_index, f"{name}/{each}", TEXTS)
    asked: list[str] = []

    def may_read(repository: str) -> bool:
        asked.append(repository)
        return repository in {f"{name}/one", f"{name}/three"}

    found = [head.repository for head in shared_index.heads(may_read)]
    assert found == [f"{name}/one", f"{name}/three"]
    assert f"{name}/two" in asked


def test_all_heads_are_kept_for_a_few_seconds_but_own_pushes_are_seen_at_once(
    shared_index: SharedIndex, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SharedIndex(shared_index._engine, shared_index._opened)  # noqa: SLF001 - its own memory

    def commits(index: SharedIndex, *names: str) -> list[str]:
        return [head.commit for head in index.heads(lambda each: each == name, names)]

    for number in ("1", "2"):
        pushed(shared_index, name, {"a.py": f"x = {number}\n"}, commit=number * 40)
        assert commits(shared_index) == [number * 40]
        assert commits(other) == ["1" * 40]
        assert commits(other, name) == [number * 40]
    monkeypatch.setattr(indexes, "HEADS_S", 0)
    assert commits(other) == ["2" * 40]
    shared_index.delete_repository(name)
    assert commits(shared_index) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_refused_or_harmless(shared_index: SharedIndex, text: str) -> None:
    assert shared_index.head(text, text) is None
    assert shared_index.generation(text) is None
    assert shared_index.generation_at(text, [text]) is None
    digest = card_digest("x")
    with suppress(UsageError):
        assert shared_index.vectors([digest], [text]) == {}
        assert shared_index.missing(text, digest, [("a", "b")]) == ("a",)
    with pytest.raises(UsageError):
        shared_index.vectors([text], ["team/shop"])
    with pytest.raises(UsageError):
        shared_index.write("team/shop", text, [], {})


def test_hostile_texts_are_kept_as_they_are(shared_index: SharedIndex, name: str) -> None:
    texts = {
        f"{number} {text[:40].replace('/', '|').replace(chr(0), '')}.py": f"x = {text!r}\n"
        for number, text in enumerate(HOSTILE)
    }
    store = shared_index.store([pushed(shared_index, name, texts)])
    assert {path for path, *_ in store.digests()} == texts.keys()
    rows = store.chunks_of(texts)
    assert {row.path: row.text for row in rows} == texts
