"""Generations are lists of layers, of which readers see either all or nothing."""

import re
from collections.abc import Sequence
from itertools import count

import pytest

from code_intel.errors import ConflictError, NotFoundError, UsageError
from code_intel.shared.layers import MAX_HIDDEN, MAX_LAYERS
from code_intel.shared.milvus import SharedIndex, SharedStore, finishing
from code_intel.shared.records import Layer
from pushes import Push, digest_of_text, pushed, shared_file, vector_of

pytestmark = pytest.mark.milvus
NUMBERS = count()
FIRST = {
    "a.py": "def alpha(): return 'shared words'\n",
    "b.py": "def beta(): return 'shared words'\n",
    "c.py": "def gamma(): return 'shared words'\n",
}
SECOND = {
    "a.py": "def alpha_two(): return 'shared words changed'\n",
    "c.py": FIRST["c.py"],
    "d.py": "def delta(): return 'shared words'\n",
}


@pytest.fixture
def name() -> str:
    return f"layers/repo{next(NUMBERS)}"


def documents(store: SharedStore, terms: Sequence[str]) -> list[str]:
    hits = store.word_hits(terms, "body", 99)
    places = {place.id: place.path for place in store.chunk_places(chunk for chunk, _ in hits)}
    assert len(places) == len(hits)
    return sorted(places.values())


def check_second(store: SharedStore) -> None:
    """Check that a store has the files of SECOND alone, in every respect."""
    assert documents(store, ["shar"]) == ["a.py", "c.py", "d.py"]
    assert store.word_counts(["shar", "chang", "beta", "alpha"]) == (
        3,
        {"shar": 3, "chang": 1, "alpha": 1},
    )
    assert sorted(path for path, *_ in store.digests()) == ["a.py", "c.py", "d.py"]
    nearest = store.vector_hits(vector_of("q"), 99)
    assert {place.path for place in store.chunk_places(c for c, _ in nearest)} == SECOND.keys()
    assert store.definitions("beta", exact=True, limit=9) == []
    assert store.definitions("alpha", exact=True, limit=9) == []
    assert [d.file for d in store.definitions("alpha", exact=False, limit=9)] == ["a.py"]
    assert store.definition_chunks("beta") == []
    assert [row.text for row in store.chunks_of(FIRST)] == [SECOND["a.py"], SECOND["c.py"]]
    assert [d.name for d in store.defined_in(FIRST)] == ["alpha_two", "gamma"]


def test_a_layer_hides_what_changed_and_what_was_deleted(
    shared_index: SharedIndex, name: str
) -> None:
    first = pushed(shared_index, name, FIRST)
    second = pushed(shared_index, name, SECOND)
    assert len(second.layers) == 2
    assert second.layers[0] == first.layers[0]
    assert second.layers[1].hides == ("a.py", "b.py")
    assert (second.files, second.chunks) == (3, 3)
    check_second(shared_index.store([second]))
    before = shared_index.store([first])
    assert documents(before, ["shar"]) == ["a.py", "b.py", "c.py"]
    assert before.word_counts(["shar", "chang"]) == (3, {"shar": 3})


def test_layers_give_the_same_as_one_layer(shared_index: SharedIndex, name: str) -> None:
    pushed(shared_index, name, FIRST)
    layered = shared_index.store([pushed(shared_index, name, SECOND)])
    whole = shared_index.store([pushed(shared_index, f"{name}-whole", SECOND)])
    for terms in (["shar", "chang"], ["alpha"], ["delta", "word"]):
        assert documents(layered, terms) == documents(whole, terms)
        best = [store.word_hits(terms, "body", 1) for store in (layered, whole)]
        texts = [
            store.chunk_texts([hits[0][0]])
            for store, hits in zip((layered, whole), best, strict=True)
        ]
        assert [*texts[0].values()] == [*texts[1].values()]
        assert layered.word_counts(terms) == whole.word_counts(terms)
    assert sorted(layered.digests()) == sorted(whole.digests())
    assert layered.imports() == whole.imports()


def test_many_small_commits_replace_small_layers(shared_index: SharedIndex, name: str) -> None:
    texts = {f"old{old}.py": f"def old{old}(): return 'shared words'\n" for old in range(40)}
    depths, bases = [], []
    for number in range(MAX_LAYERS + 2):
        texts[f"new{number}.py"] = f"def added{number}(): return 'shared words'\n"
        texts["old0.py"] = f"def changed{number}(): return 'shared words'\n"
        texts.pop(f"new{number - 3}.py", None)
        generation = pushed(shared_index, name, texts)
        depths.append(len(generation.layers))
        bases.append(generation.layers[0].id)
        store = shared_index.store([generation])
        assert documents(store, ["shar"]) == sorted(texts)
        assert store.word_counts(["shar"]) == (len(texts), {"shar": len(texts)})
        assert [d.file for d in store.definitions(f"changed{number}", exact=True, limit=9)] == [
            "old0.py"
        ]
    assert depths == [*range(1, MAX_LAYERS + 1), 2, 3]
    assert len(set(bases)) == 1


def test_nothing_is_visible_before_the_push_is_finished(
    shared_index: SharedIndex, name: str
) -> None:
    first = pushed(shared_index, name, FIRST)
    push = Push(shared_index, name, SECOND, base=first)
    push.write(["a.py"])
    head = shared_index.head(name, "main")
    assert head is not None
    assert head.generation == first.id
    assert shared_index.generation(push.generation.id) is None
    assert documents(shared_index.store([first]), ["shar"]) == ["a.py", "b.py", "c.py"]
    assert shared_index.store([first]).word_counts(["chang"]) == (3, {})
    with pytest.raises(ConflictError, match="does not have all files"):
        push.finish()
    assert shared_index.head(name, "main") == head
    push.write()
    push.finish()
    found = shared_index.generation(push.generation.id)
    assert found is not None
    check_second(shared_index.store([found]))


def test_a_push_goes_on_where_it_stopped(shared_index: SharedIndex, name: str) -> None:
    push = Push(shared_index, name, FIRST)
    asked = [(path, digest_of_text(text)) for path, text in FIRST.items()]
    assert shared_index.missing(name, push.plan.new, asked) == ("a.py", "b.py", "c.py")
    push.write(["b.py"])
    assert shared_index.missing(name, push.plan.new, asked) == ("a.py", "c.py")
    assert shared_index.missing(name, push.plan.new, [("b.py", digest_of_text("other"))]) == (
        "b.py",
    )


def test_writing_again_changes_nothing(shared_index: SharedIndex, name: str) -> None:
    push = Push(shared_index, name, FIRST)
    for _ in range(3):
        push.write(FIRST)
    push.finish()
    push.write(FIRST)
    push.finish()
    found = shared_index.generation(push.generation.id)
    assert found is not None
    store = shared_index.store([found])
    assert documents(store, ["shar"]) == ["a.py", "b.py", "c.py"]
    assert len(store.vector_hits(vector_of("q"), 99)) == 3
    assert store.word_counts(["shar"]) == (3, {"shar": 3})
    assert len(store.definition_chunks("alpha")) == 1


def test_a_finished_layer_is_not_written(shared_index: SharedIndex, name: str) -> None:
    push = Push(shared_index, name, FIRST)
    push.write()
    push.finish()
    more = [shared_file("a.py", "def planted(): return 'shared words'\n")]
    more += [shared_file("z.py", "def planted(): return 'shared words'\n")]
    shared_index.write(name, push.plan.new, more, {})
    store = shared_index.store([push.generation])
    assert documents(store, ["shar"]) == ["a.py", "b.py", "c.py"]
    assert documents(store, ["plant"]) == []


def test_a_layer_that_replaces_others_is_used_if_that_is_asked(
    shared_index: SharedIndex, name: str
) -> None:
    pushed(shared_index, name, FIRST)
    layered = pushed(shared_index, name, SECOND)
    whole = Push(shared_index, name, SECOND)
    whole.write()
    whole.finish()
    reverted = shared_index.generation(layered.id)
    assert reverted is not None
    assert reverted.layers == layered.layers
    shared_index.finish(whole.generation, "main", is_new=True)
    found = shared_index.generation(layered.id)
    assert found is not None
    assert found.layers == whole.generation.layers
    check_second(shared_index.store([found]))
    assert shared_index.prune(3600).layers == 0
    check_second(shared_index.store([layered]))  # readers may still have it


def test_of_two_pushers_the_later_wins_and_both_are_whole(
    shared_index: SharedIndex, name: str
) -> None:
    base = pushed(shared_index, name, FIRST)
    third = {**FIRST, "b.py": "def beta_six(): return 'shared words'\n"}
    one, two = (Push(shared_index, name, texts, base=base) for texts in (SECOND, third))
    one.write(["d.py"])
    two.write(["b.py"])
    one.write()
    two.finish()
    one.finish()
    head = shared_index.head(name, "main")
    assert head is not None
    assert head.generation == one.generation.id
    found = [shared_index.generation(push.generation.id) for push in (one, two)]
    assert found[0] is not None
    assert found[1] is not None
    check_second(shared_index.store([found[0]]))
    other = shared_index.store([found[1]])
    assert documents(other, ["shar"]) == ["a.py", "b.py", "c.py"]
    assert other.word_counts(["beta", "six"]) == (3, {"beta": 1, "six": 1})


def test_two_pushers_of_one_commit_write_one_generation(
    shared_index: SharedIndex, name: str
) -> None:
    one, two = (Push(shared_index, name, FIRST, commit="c" * 40) for _ in range(2))
    one.write(["a.py", "b.py"])
    two.write()
    one.finish()
    two.finish("release")
    assert {head.branch for head in shared_index.heads(name.__eq__)} == {"main", "release"}
    found = shared_index.generation_at(name, ["d" * 40, "c" * 40])
    assert found is not None
    assert found.id == one.generation.id == two.generation.id
    assert shared_index.store([found]).word_counts(["shar"]) == (3, {"shar": 3})


def test_a_revert_moves_the_head_alone(shared_index: SharedIndex, name: str) -> None:
    first = pushed(shared_index, name, FIRST, commit="a" * 40)
    pushed(shared_index, name, SECOND, commit="b" * 40)
    again = pushed(shared_index, name, FIRST, commit="c" * 40)
    assert again.id == first.id
    assert again.layers == first.layers
    head = shared_index.head(name, "main")
    assert head is not None
    assert (head.commit, head.generation) == ("c" * 40, first.id)
    for commit in ("a" * 40, "c" * 40):
        found = shared_index.generation_at(name, [commit])
        assert found is not None
        assert (found.commit, found.id) == (commit, first.id)


@pytest.mark.parametrize("limit", [1, 3, 20, 60])
def test_hidden_files_take_no_places_of_visible_ones(
    shared_index: SharedIndex, name: str, limit: int
) -> None:
    old = {f"f{n:02}.py": f"def f{n}(): return 'common common {n}'\n" for n in range(40)}
    new = {path: text.replace("common common", "common") for path, text in old.items()}
    new["f00.py"] = old["f00.py"]
    name = f"{name}/{limit}"
    pushed(shared_index, name, old)
    layered = shared_index.store([pushed(shared_index, name, new)])
    hits = layered.word_hits(["common"], "body", limit)
    assert len(hits) == len(layered.chunk_places(chunk for chunk, _ in hits)) == min(limit, 40)
    every = layered.word_hits(["common"], "body", 99)
    assert [score for _, score in hits] == [score for _, score in every[:limit]]
    nearest = layered.vector_hits(vector_of("q"), limit)
    assert len(layered.chunk_places(chunk for chunk, _ in nearest)) == min(limit, 40)
    assert nearest == layered.vector_hits(vector_of("q"), 99)[:limit]


def test_several_repositories_are_one_index(shared_index: SharedIndex, name: str) -> None:
    one = pushed(shared_index, f"{name}/one", FIRST, commit="1" * 40)
    two = pushed(shared_index, f"{name}/two", SECOND, commit="2" * 40)
    pushed(shared_index, f"{name}/three", FIRST)
    store = shared_index.store([one, two])
    expected = [f"{name}/one//{path}" for path in FIRST] + [
        f"{name}/two//{path}" for path in SECOND
    ]
    assert documents(store, ["shar"]) == sorted(expected)
    assert store.word_counts(["shar", "chang"]) == (6, {"shar": 6, "chang": 1})
    assert sorted(path for path, *_ in store.digests()) == sorted(expected)
    assert store.place_of(f"{name}/two//a.py") == (f"{name}/two", "2" * 40, "a.py")
    found = [d.file for d in store.definitions("delta", exact=True, limit=9)]
    assert found == [f"{name}/two//d.py"]
    (row,) = store.chunks_of([f"{name}/two//a.py"])
    assert row.text == SECOND["a.py"]
    assert len(store.vector_hits(vector_of("q"), 99)) == 6


def test_a_repository_inside_another_one_has_its_own_documents(
    shared_index: SharedIndex, name: str
) -> None:
    outer = pushed(shared_index, name, {"web/a.py": "def outer(): pass\n"}, commit="1" * 40)
    inner = pushed(shared_index, f"{name}/web", {"a.py": "def inner(): pass\n"}, commit="2" * 40)
    store = shared_index.store([outer, inner])
    found = [
        (store.place_of(row.path), row.text)
        for row in store.chunks_of(path for path, *_ in store.digests())
    ]
    assert sorted(found) == [
        ((name, "1" * 40, "web/a.py"), "def outer(): pass\n"),
        ((f"{name}/web", "2" * 40, "a.py"), "def inner(): pass\n"),
    ]


@pytest.mark.parametrize("bad", ["no generations", "twice the same"])
def test_a_store_is_of_different_repositories(
    shared_index: SharedIndex, name: str, bad: str
) -> None:
    some = [pushed(shared_index, name, FIRST)] * 2 if bad == "twice the same" else []
    with pytest.raises(UsageError, match="only one commit of each"):
        shared_index.store(some)


def test_long_contents_take_several_rows(shared_index: SharedIndex, name: str) -> None:
    lines = [f"def function_{number}(): return 'カート{number}'" for number in range(900)]
    text = "\n".join(lines) + "\n"
    generation = pushed(shared_index, name, {"long.py": text, "データ/" * 60 + "x.py": "y = 1\n"})
    store = shared_index.store([generation])
    assert "".join(row.text for row in store.chunks_of(["long.py"])) == text
    assert len(store.defined_in(["long.py"])) == 900
    same = pushed(
        shared_index, f"{name}/same", {f"{n}.py": "def same(): pass\n" for n in range(400)}
    )
    assert len(shared_index.store([same]).definition_chunks("same")) == 400


def test_a_large_layer_is_read_several_times(
    shared_index: SharedIndex, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = pushed(shared_index, f"{name}/whole", FIRST)
    second = pushed(shared_index, f"{name}/whole", SECOND)
    monkeypatch.setattr(finishing, "FILES_PER_PASS", 1)
    passes = [pushed(shared_index, f"{name}/passes", texts) for texts in (FIRST, SECOND)]
    terms = ["shar", "chang", "alpha", "beta", "word", "py"]
    for one, several in zip((first, second), passes, strict=True):
        assert (one.files, one.chunks) == (several.files, several.chunks)
        whole, parts = shared_index.store([one]), shared_index.store([several])
        assert whole.word_counts(terms) == parts.word_counts(terms)
        for symbol in ("alpha", "alpha_two", "beta", "gamma", "delta"):
            expected = whole.definitions(symbol, exact=False, limit=9)
            assert parts.definitions(symbol, exact=False, limit=9) == expected
    check_second(shared_index.store(passes[1:]))


def test_a_layer_without_files_is_complete(shared_index: SharedIndex, name: str) -> None:
    pushed(shared_index, name, FIRST)
    rest = pushed(shared_index, name, {"c.py": FIRST["c.py"]})
    assert rest.layers[1].hides == ("a.py", "b.py")
    assert documents(shared_index.store([rest]), ["shar"]) == ["c.py"]
    empty = pushed(shared_index, f"{name}/empty", {})
    assert shared_index.store([empty]).digests() == []
    assert shared_index.store([empty]).word_hits(["shar"], "body", 9) == []


def test_layers_of_another_repository_are_not_used(shared_index: SharedIndex, name: str) -> None:
    secret = pushed(shared_index, f"{name}/secret", FIRST)
    thief = Push(shared_index, f"{name}/thief", FIRST)
    stolen = thief.generation._replace(layers=secret.layers)
    with pytest.raises(ConflictError):
        shared_index.finish(stolen, "main")
    shared_index.write(f"{name}/thief", secret.layers[0].id, [], {})
    with pytest.raises(ConflictError):
        shared_index.finish(stolen._replace(tree=secret.tree), "main")
    forged = secret._replace(repository=f"{name}/thief")
    store = shared_index.store([forged])
    for read in (
        lambda: store.word_hits(["shar"], "body", 9),
        store.digests,
        lambda: store.word_counts(["shar"]),
    ):
        with pytest.raises(NotFoundError):
            read()
    assert store.vector_hits(vector_of("q"), 9) == []
    assert store.definition_chunks("alpha") == []
    assert store.chunks_of(FIRST) == []
    chunks = [row.id for row in shared_index.store([secret]).chunks_of(FIRST)]
    assert len(chunks) == 3
    assert store.chunk_rows(chunks) == {}
    assert store.chunk_texts(chunks) == {}
    assert store.chunk_places(chunks) == []


def test_a_generation_needs_layers_and_digests(shared_index: SharedIndex, name: str) -> None:
    push = Push(shared_index, name, FIRST)
    push.write()
    for wrong in (
        push.generation._replace(layers=()),
        push.generation._replace(id='x" or 1 == 1'),
        push.generation._replace(id=pushed(shared_index, f"{name}/other", FIRST).id),
        push.generation._replace(layers=(Layer("../secret"),)),
        push.generation._replace(repository='a"b'),
    ):
        with pytest.raises(UsageError):
            shared_index.finish(wrong, "main")
    with pytest.raises(UsageError):
        shared_index.finish(push.generation, "")
    many = (Layer("a" * 32, tuple(f"{n}.py" for n in range(MAX_HIDDEN + 1))), Layer("b" * 32))
    for layers in (many, (Layer("a" * 32),) * (MAX_LAYERS + 1)):
        with pytest.raises(UsageError, match="at most 8 layers and 2000 hidden paths"):
            shared_index.finish(push.generation._replace(layers=layers), "main")
    assert re.fullmatch("[0-9a-f]{32}", push.generation.id)
