from collections.abc import Collection, Mapping, Sequence

import pytest

from code_intel.forest.dependencies.graph import Graph, Links
from code_intel.forest.ranking import measures
from code_intel.forest.ranking.evidence import File
from code_intel.forest.ranking.measures import MAX_COVERAGE_FILES, MAX_IMPORTERS
from code_intel.forest.ranking.question import read
from code_intel.forest.ranking.search import rank
from code_intel.forest.ranking.signals import weight_of
from code_intel.forest.ranking.state import RankingState, Situation
from forest.corpus import file

PLAIN = read("how is it done")


def state(files: Sequence[File], query: str = "how is it done", *bases: str) -> RankingState:
    return RankingState(files, read(query), bases)


@pytest.mark.parametrize(
    ("cosines", "expected"),
    [
        ([], 0.0),
        ([0.8], 0.8),
        ([0.8, 0.8, 0.8], 0.8),
        ([0.9, 0.6], 0.8),
        ([0.9, 0.9, 0.9, 0.1, 0.1], 0.9),
    ],
)
def test_meaning_is_the_mean_of_the_best_chunks(cosines: list[float], expected: float) -> None:
    given = File("a.py", cosines=dict(enumerate(cosines)))
    assert measures.meaning(given, PLAIN) == pytest.approx(expected)


def test_one_good_chunk_beats_many_mediocre_ones() -> None:
    good, poor = File("a.py", body={1: 9.0}), File("b.py", body=dict.fromkeys(range(50), 5.0))
    assert measures.body(good, PLAIN) == 9.0
    assert measures.body(poor, PLAIN) == pytest.approx(8.75)


def test_names_and_definitions_count_by_their_best_chunk() -> None:
    given = File("a.py", names={1: 2.0, 2: 3.0}, defines={1: 0.3, 2: 0.7})
    assert (measures.names(given, PLAIN), measures.defines(given, PLAIN)) == (3.0, 0.7)
    assert (measures.names(File("b.py"), PLAIN), measures.defines(File("b.py"), PLAIN)) == (0, 0)


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("src/session_store.py", "session store", 1.0),
        ("src/sessionStore.test.ts", "session store", 1.0),
        ("src/sessions.py", "where is the session validated", 0.5),
        ("session/store.py", "session", 0.0),
        ("src/.env", "env", 0.0),
        ("src/store.py", "?!", 0.0),
        ("src/session.py", "セッション", 1.0),
    ],
)
def test_stem_is_the_share_of_words_in_the_file_name(
    path: str, query: str, expected: float
) -> None:
    question = read(query)
    english = [term for term in question.terms if term.isascii()]
    found = measures.stem(File(path), question) * len(question.terms) / max(len(english), 1)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("parse the header", "def parse_header(): ...", 1.0),
        ("parse the header", "def parse(): ...", 0.5),
        ("parse the header", "", 0.0),
        ("validation of folders", "validate(FOLDER)", 1.0),
        ("cached tokens", "tokenCache", 1.0),
        ("io of x", "io x", 0.0),
    ],
)
def test_coverage_is_the_share_of_words_found(query: str, text: str, expected: float) -> None:
    given = state([file("a.py", text, body=3.0)], query)
    assert measures.coverage(given).get("a.py", 0.0) == pytest.approx(expected)


def test_coverage_reads_only_the_best_chunk() -> None:
    given = file("a.py", "parse", "parse header", body=9.0)
    given.body[2] = 1.0
    assert measures.coverage(state([given], "parse header")) == {"a.py": 0.5}


def test_coverage_reads_the_files_with_the_most_words() -> None:
    files = [file(f"{n:03}.py", "parse", body=float(n)) for n in range(1, MAX_COVERAGE_FILES + 11)]
    read_from = measures.coverage(state(files, "parse"))
    assert min(read_from) == "011.py"
    assert len(read_from) == MAX_COVERAGE_FILES


def test_only_the_texts_that_are_compared_are_read_and_all_at_once() -> None:
    asked: list[list[int]] = []

    def read_texts(chunks: Collection[int]) -> dict[int, str]:
        asked.append(sorted(chunks))
        return dict.fromkeys(chunks, "parse")

    files = [File(f"{n:02}.py", body={n: float(n), 100 + n: 0.5}) for n in range(1, 51)]
    given = RankingState(files, read("parse"), read=read_texts)
    assert set(measures.coverage(given).values()) == {1.0}
    assert asked == [list(range(11, 51))]
    measures.coverage(given)
    assert len(asked) == 1
    measures.copy(given)  # no two files share a name
    assert len(asked) == 1


def test_a_file_found_only_by_vectors_has_no_coverage() -> None:
    assert measures.coverage(state([file("a.py", "parse", cosines=0.9)], "parse")) == {}


@pytest.mark.parametrize(
    ("paths", "older"),
    [
        (["v3/a.py", "v4/a.py"], {"v3/a.py"}),
        (["src/v1/deep/a.py", "src/v2/b.py", "src/v10/c.py"], {"src/v1/deep/a.py", "src/v2/b.py"}),
        (["one/v1/a.py", "two/v2/a.py"], set()),
        (["v2/a.py", "a.py", "latest/a.py"], set()),
        (["v1/api/v2/a.py", "v1/api/v1/a.py"], {"v1/api/v1/a.py"}),
        (["V3/a.py", "v4/a.py"], {"V3/a.py"}),
        (["v3.py", "v4.py"], set()),
        (["view1/a.py", "v/a.py", "v2x/a.py", "v9/a.py"], set()),
    ],
)
def test_a_version_beside_a_later_one_is_reduced(paths: list[str], older: set[str]) -> None:
    assert set(measures.older(state([file(path) for path in paths]))) == older


def test_a_question_about_a_version_does_not_reduce_it() -> None:
    files = [file("v3/a.py"), file("v4/a.py")]
    assert measures.older(state(files, "the parser of v3")) == {}


def test_versions_above_the_indexed_folder_are_ignored() -> None:
    files = [file("/x/v1/p/a.py"), file("/x/v2/q/b.py")]
    assert set(measures.older(state(files))) == {"/x/v1/p/a.py"}
    assert measures.older(state(files, "how", "/x/v1/p", "/x/v2/q")) == {}


def used(scores: dict[str, float], imports: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    graph = Graph({path: Links(outbound=targets) for path, targets in imports.items()})
    given = RankingState([file(path) for path in scores], PLAIN, graph=graph)
    given.scores = dict(scores)
    return dict(measures.used(given))


def test_an_imported_file_gets_the_score_divided_by_the_root_of_its_importers() -> None:
    imports = {"a.py": ("core.py",), "b.py": ("core.py",)}
    once = used({"a.py": 2.0, "core.py": 1.0}, {"a.py": ("core.py",)})
    twice = used({"a.py": 2.0, "b.py": 1.0, "core.py": 1.0}, imports)
    assert once == {"core.py": pytest.approx(2.0 / (1 + 1) ** 0.5)}
    assert twice == {"core.py": pytest.approx(2.0 / (1 + 2) ** 0.5)}


def test_a_file_with_many_importers_gains_little() -> None:
    crowd = {f"x{n}.py": ("core.py",) for n in range(300)}
    assert used({"x0.py": 1.0, "core.py": 0.5}, crowd)["core.py"] < 0.1


@pytest.mark.parametrize("path", ["a.h", "a.hpp", "include/a.hh", "a.hxx"])
def test_an_included_header_gains_nothing(path: str) -> None:
    assert used({"main.cc": 2.0, path: 1.0}, {"main.cc": (path,)}) == {}


def test_an_imported_file_without_evidence_is_not_found() -> None:
    assert used({"a.py": 2.0, "core.py": 0.0}, {"a.py": ("core.py", "other.py")}) == {}


def test_only_imports_of_the_best_files_are_followed() -> None:
    scores = {f"{n:02}.py": 20.0 - n for n in range(MAX_IMPORTERS + 1)}
    last = f"{MAX_IMPORTERS:02}.py"
    assert used(scores, {last: ("00.py",)}) == {}
    assert set(used(scores, {"00.py": (last,)})) == {last}


def test_imports_of_tests_gain_nothing_in_a_question_about_tests() -> None:
    graph = Graph({"tests/test_a.py": Links(outbound=("a.py",))})
    for query, expected in (("how is it tested", set()), ("how is it done", {"a.py"})):
        given = RankingState([file("tests/test_a.py"), file("a.py")], read(query), graph=graph)
        given.scores = {"tests/test_a.py": 2.0, "a.py": 1.0}
        assert set(measures.used(given)) == expected


def test_without_a_graph_nothing_is_used() -> None:
    assert measures.used(state([file("a.py")])) == {}


def test_copies_are_searched_among_files_with_a_score() -> None:
    text = "".join(f"const value_{n} = compute({n})\n" for n in range(10))
    given = state(
        [
            file("src/api.ts", text),
            file("dist/api.js", text),
            file("far/api.ts", text),
        ]
    )
    given.scores = {"src/api.ts": 1.0, "dist/api.js": 2.0}
    assert dict(measures.copy(given)) == {"dist/api.js": 1.0}


@pytest.mark.parametrize("name", ["editing", "needed", "near", "recent"])
def test_a_situation_raises_a_file_by_the_weight_of_its_row(name: str) -> None:
    files = [file("a.py", body=1.0), file("b.py", body=1.0)]
    situation = Situation(**{name: {"b.py": 1.0, "not/found.py": 1.0}})
    ranked = rank(RankingState(files, PLAIN, situation=situation))
    assert [each.file.path for each in ranked] == ["b.py", "a.py"]
    assert ranked[0].score - ranked[1].score == pytest.approx(weight_of(name))
    assert name in ranked[0].why


def test_a_profile_scales_a_row() -> None:
    situation = Situation(weights={"words": 2.0})
    alone = rank(RankingState([file("a.py", body=1.0)], PLAIN))
    doubled = rank(RankingState([file("a.py", body=1.0)], PLAIN, situation=situation))
    assert doubled[0].score == pytest.approx(2 * alone[0].score)


def test_names_weigh_more_without_vectors() -> None:
    alone = rank(RankingState([file("a.py", names=1.0)], PLAIN))
    beside = rank(RankingState([file("a.py", names=1.0), file("b.py", cosines=0.9)], PLAIN))
    score = {each.file.path: each.score for each in beside}
    assert alone[0].score > score["a.py"] > 0
