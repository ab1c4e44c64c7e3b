"""Each route refuses a question with a field of the wrong type, size or characters."""

import copy
import gzip
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from code_intel.records import Symbol
from code_intel.servers.shared.routes.endpoints import ENDPOINTS, MAP_ENDPOINTS
from code_intel.shared import routes
from code_intel.shared.agreements.wire import AGREEMENTS, MAP_PREFIX, FindAgreements
from code_intel.shared.calls import METHODS
from code_intel.shared.fields import MAX_LINES, MAX_TEXT_CHARS
from code_intel.shared.records import Generation, Layer, SharedChunk, SharedFile
from code_intel.shared.routes import VERSION, Route
from code_intel.shared.wire import MAX_JSON_BYTES, WireError, pack, unpack
from servers.shared.instances import Instance, instance

HEX, COMMIT = "0" * 32, "a" * 40
SYMBOL = Symbol("f", "C.f", "method", 1, 2, "def f()", "Does it.", HEX, HEX)
CHUNK = SharedChunk(0, 1, 2, "def f(): ...", ("C.f",), HEX)
FILE = SharedFile("a.py", HEX, "python", 2, 0, (CHUNK,), (SYMBOL,), ("os",))
GENERATION = Generation(
    HEX, "team/shop", COMMIT, HEX, HEX, "model", (Layer(HEX, ("a.py",)),), 1, 1, "2026-01-01"
)
CARDS = routes.FindCards("team/shop", (HEX,))
QUESTIONS = {
    "/generation": routes.FindGeneration("team/shop", (COMMIT,), ("main",)),
    "/store": routes.AskStore((HEX,), (("digests", None),)),
    "/vectors": CARDS,
    "/push/begin": routes.BeginPush("team/shop", (COMMIT,), ("main",), HEX, HEX),
    "/push/base": routes.ListBase("team/shop", HEX, "a.py"),
    "/push/missing": routes.ListFiles("team/shop", HEX, (("a.py", HEX),)),
    "/push/cards": CARDS,
    "/push/files": routes.SendFiles("team/shop", HEX, (FILE,), {HEX: "AAAA"}),
    "/push/finish": routes.FinishPush(GENERATION, "main"),
    "/push/delete-branch": routes.DeleteBranch("team/shop", "main", dry_run=True),
    AGREEMENTS.path: FindAgreements(("retry",), "AAAA", "model", "team/web", ("team/shop",)),
}
"""A valid question of each route."""
ARGUMENTS = {
    "model": None,
    "word_hits": [["login"], "body", 3],
    "word_counts": ["login"],
    "vector_hits": ["AAAA", 3],
    "definition_chunks": "login",
    "chunk_places": [1],
    "chunk_rows": [1],
    "chunk_texts": [1],
    "chunks_of": ["a.py"],
    "digests": None,
    "definitions": ["login", True, 3],
    "defined_in": ["a.py"],
    "imports": ["a.py"],
}
"""Valid arguments of each method of an index."""
ANY: TypeAdapter[Any] = TypeAdapter(object)
FREE = {"text", "signature", "doc", "vector", "vectors"}
"""The names of fields whose text may have any characters."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    limits = {"requests_per_minute": 1_000_000, "burst": 1_000_000}
    with instance(tmp_path_factory.mktemp("bounds") / "one", limits=limits) as started:
        yield started


def variants(value: Any) -> Iterator[Any]:
    """Yield wrong values instead of a value, and a value with one wrong part."""
    if isinstance(value, bool):
        yield from ("perhaps", [])
    elif isinstance(value, int):
        yield from (-1, MAX_LINES << 128, "x", None)
    elif isinstance(value, str):
        yield from ("x" * (MAX_TEXT_CHARS + 1), 1, ["x"])
    elif isinstance(value, list):
        yield from (1, "x", [*value, [[]]])
        for at, part in enumerate(value):
            for wrong in variants(part):
                yield [*value[:at], wrong, *value[at + 1 :]]
    elif isinstance(value, dict):
        (key, part), *_ = value.items()
        yield from (1, {"not hexadecimal": part}, *({key: wrong} for wrong in variants(part)))


def sent(question: Any) -> Any:
    """Return a question as JSON."""
    return unpack(pack(question), ANY)


def names_in(value: Any, field: str = "") -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield the places of the texts of a record that name something, and their values."""
    if isinstance(value, str):
        yield (), field
    elif hasattr(value, "_fields"):
        for at, name in enumerate(value._fields):
            for place, found in names_in(value[at], name):
                yield (at, *place), found
    elif isinstance(value, tuple):
        for at, part in enumerate(value):
            for place, found in names_in(part, field):
                yield (at, *place), found


def with_part(value: Any, place: tuple[Any, ...], part: Any) -> Any:
    """Return a copy of JSON with another part."""
    changed = copy.deepcopy(value)
    inner = changed
    for at in place[:-1]:
        inner = inner[at]
    inner[place[-1]] = part
    return changed


def test_every_route_has_a_valid_question_here() -> None:
    asked = {each.route.path for each in (*ENDPOINTS, *MAP_ENDPOINTS) if each.verb == "POST"}
    assert {path.removeprefix(MAP_PREFIX) for path in asked} == {
        path.removeprefix(MAP_PREFIX) for path in QUESTIONS
    }
    for path in asked:
        question = QUESTIONS.get(path) or QUESTIONS[path.removeprefix(MAP_PREFIX)]
        (endpoint,) = (e for e in (*ENDPOINTS, *MAP_ENDPOINTS) if e.route.path == path)
        assert unpack(pack(question), endpoint.route.question) == question


@pytest.mark.parametrize("path", QUESTIONS)
def test_a_route_refuses_wrong_values(running: Instance, path: str) -> None:
    token = running.token("push:**")
    checked = 0
    for wrong in variants(sent(QUESTIONS[path])):
        if path == routes.STORE.path and is_call(wrong):
            continue  # arguments are checked by method, below
        reply = running.ask("POST", f"{VERSION}{path}", pack(wrong), token)
        assert reply.status == 400, (wrong, reply.body)
        assert b"invalid_message" in reply.body
        checked += 1
    assert checked > 5


def is_call(question: Any) -> bool:
    """Return whether only the arguments of a method are wrong."""
    try:
        routes.STORE.question.validate_python(question)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("path", QUESTIONS)
def test_a_route_refuses_names_with_characters_that_steer_a_terminal(
    running: Instance, path: str
) -> None:
    token = running.token("push:**")
    question = QUESTIONS[path]
    for place, field in names_in(question):
        if field in FREE:
            continue
        for text in ("a\x1b[2Jb", "a\u202eb", "a\nb"):
            body = pack(with_part(sent(question), place, text))
            reply = running.ask("POST", f"{VERSION}{path}", body, token)
            assert reply.status == 400, (place, field, reply.body)


def test_every_method_refuses_wrong_arguments() -> None:
    assert ARGUMENTS.keys() == METHODS.keys()
    for name, arguments in ARGUMENTS.items():
        METHODS[name].arguments.validate_python(arguments)
        for wrong in variants(arguments):
            with pytest.raises(ValueError, match="validation error"):
                METHODS[name].arguments.validate_python(wrong)


def test_a_route_refuses_more_parts_than_it_takes() -> None:
    many: dict[Route[Any, Any], Any] = {
        routes.GENERATION: ("team/shop", [COMMIT] * 1001, []),
        routes.STORE: ([HEX], [["digests", None]] * 33),
        routes.VECTORS: ("team/shop", [HEX] * 1001),
        routes.PUSH_BEGIN: ("team/shop", [], ["main"] * 9, HEX, HEX),
        routes.PUSH_MISSING: ("team/shop", HEX, [["a.py", HEX]] * 5001),
        routes.PUSH_FILES: ("team/shop", HEX, [sent(FILE)] * 501, {}),
        routes.PUSH_FINISH: ([*GENERATION[:6], [[HEX, []]] * 33, 1, 1, ""], "main"),
        AGREEMENTS: (["retry"] * 101,),
    }
    for route, question in many.items():
        with pytest.raises(WireError, match="wrong form"):
            unpack(pack(question), route.question)


def test_a_body_that_inflates_to_too_much_is_to_be_sent_in_parts(running: Instance) -> None:
    bomb = gzip.compress(b" " * (MAX_JSON_BYTES + 1), mtime=0)
    reply = running.ask("POST", f"{VERSION}/push/files", bomb, running.token("push:**"))
    assert (reply.status, reply.json()["error"]) == (413, "too_large")


def test_a_question_to_an_index_is_a_small_body(running: Instance) -> None:
    large = b"x" * (5 << 20)
    token = running.token("push:**")
    assert running.ask("POST", f"{VERSION}/store", large, token).status == 413
    assert running.ask("POST", f"{VERSION}/push/files", large, token).status == 400
