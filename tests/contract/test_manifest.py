"""Check that contract, program and tests list the same entries."""

import ast

import pytest

from contract import declared
from contract.manifest import (
    JSON,
    Requirement,
    faults_of_answer,
    faults_of_error,
    parse,
    requirements,
)
from contract.marks import collect, marks_in

BY_ID = {requirement.id: requirement for requirement in requirements()}
SPOKEN = ("field", "answer", "row", "error")
"""Kinds whose names are wire names, which a covering test must mention."""


def lines_of(kind: str) -> dict[str, Requirement]:
    return {key: found for key, found in BY_ID.items() if found.kind == kind}


def test_requirement_ids_are_unique() -> None:
    ids = [requirement.id for requirement in requirements()]
    assert sorted(ids) == sorted(set(ids))


def test_contract_lists_exactly_the_tools() -> None:
    assert lines_of("tool").keys() == declared.tools()


def test_contract_lists_every_parameter_with_its_type() -> None:
    documented = {
        key: (found.type, found.flag == "required") for key, found in lines_of("field").items()
    }
    assert documented == declared.fields()


def test_contract_lists_exactly_the_error_codes() -> None:
    codes = {key for key in lines_of("error") if key.count(".") == 1}
    assert codes == declared.errors()


def test_every_guard_reason_and_state_of_an_agreement_is_a_rule() -> None:
    rules = lines_of("rule").keys()
    assert {key for key in rules if key.startswith("rule.guard.")} == declared.guards()
    assert {key for key in rules if key.startswith("rule.reason.")} == declared.reasons()
    assert {key for key in rules if key.startswith("rule.validity.")} == declared.validities()


def test_every_type_is_one_of_json_or_a_row_and_every_row_is_used() -> None:
    rows = {key.split(".")[1] for key in lines_of("row")}
    used = {
        found.type.removesuffix(" or null").rpartition(" of ")[2]
        for found in requirements()
        if found.kind in {"answer", "row", "error"} and found.type
    }
    assert used - JSON.keys() == rows


def test_every_field_of_an_answer_belongs_to_a_tool() -> None:
    owners = {f"tool.{key.split('.')[1]}" for key in lines_of("answer")}
    assert owners - {"tool.any"} <= lines_of("tool").keys()
    details = {".".join(key.split(".")[:2]) for key in lines_of("error")}
    assert details - {"error.any"} <= lines_of("error").keys()


def test_every_requirement_is_named_by_a_test() -> None:
    named = {mark.id for mark in collect().good}
    assert [key for key in BY_ID if key not in named] == []


def test_every_id_that_a_test_names_is_in_the_contract() -> None:
    assert [mark[:2] for mark in collect().good if mark.id not in BY_ID] == []


def test_every_mark_is_on_a_test_that_runs_and_asserts() -> None:
    assert collect().hollow == ()


def test_covering_test_mentions_the_wire_name() -> None:
    silent = [
        mark[:2]
        for mark in collect().good
        if mark.id.split(".")[0] in SPOKEN and mark.id.rpartition(".")[2] not in mark.spoken
    ]
    assert silent == []


MARK = '@pytest.mark.covers("rule.a.b")\n'


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (f"{MARK}@pytest.mark.skip\ndef test_a():\n    assert x\n", "is skipped or expected"),
        (
            f"{MARK}@pytest.mark.skipif(True)\ndef test_a():\n    assert x\n",
            "is skipped or expected",
        ),
        (f"{MARK}@pytest.mark.xfail\ndef test_a():\n    assert x\n", "is skipped or expected"),
        (f"{MARK}def test_a():\n    pytest.skip('later')\n    assert x\n", "skips itself"),
        (
            f"pytestmark = pytest.mark.skip\n{MARK}def test_a():\n    assert x\n",
            "module is skipped",
        ),
        (f"{MARK}def test_a():\n    x()\n", "asserts nothing"),
        (f"{MARK}def a():\n    assert x\n", "is no test"),
        (f"{MARK}def test_a():\n    assert x\n\ndef test_a():\n    assert y\n", "is replaced"),
        (f"class A:\n    {MARK}    def test_a(self):\n        assert x\n", "is on no test"),
        ("@pytest.mark.covers(*IDS)\ndef test_a():\n    assert x\n", "literal"),
        ("@pytest.mark.covers(NAME)\ndef test_a():\n    assert x\n", "literal"),
        ("marked = pytest.mark.covers('rule.a.b')\n", "is on no test"),
    ],
)
def test_mark_without_a_running_assertion_is_hollow(source: str, why: str) -> None:
    found = marks_in(source, "test_x.py")
    assert found.good == ()
    assert [why in text for text in found.hollow] == [True]


def test_a_test_may_be_skipped_on_some_machines_and_leave_its_assertions_to_a_helper() -> None:
    source = (
        "def holds(x):\n    assert x\n\n\n"
        f"{MARK}@pytest.mark.skipif(sys.platform == 'win32')\ndef test_a():\n    holds(1)\n"
    )
    assert [mark.id for mark in marks_in(source, "test_x.py").good] == ["rule.a.b"]


def test_a_mark_in_a_file_that_is_not_collected_is_hollow() -> None:
    assert marks_in(f"{MARK}def test_a():\n    assert x\n", "lessons.py").good == ()


def test_one_text_of_a_mark_may_stand_for_several_ids() -> None:
    source = '@pytest.mark.covers("tool.a", "row.b: c d")\ndef test_a():\n    assert c\n'
    assert [mark.id for mark in marks_in(source, "test_x.py").good] == [
        "tool.a",
        "row.b.c",
        "row.b.d",
    ]


def test_a_mark_below_a_case_of_a_test_counts() -> None:
    source = (
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.covers('rule.a.b'))])\n"
        "def test_a(x):\n    assert x\n"
    )
    assert [mark.id for mark in marks_in(source, "test_x.py").good] == ["rule.a.b"]


@pytest.mark.parametrize("line", ["- tool.x: no quotes", "- `odd.x`: no kind", "- `tool.x`"])
def test_a_line_that_is_no_requirement_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse(f"# Page\n{line}\n")


INDEX = {"state": "fresh", "files": 1, "pending": 0, "degraded": []}
LISTED = {"documents": [], "total": 0, "truncated": False, "index": INDEX}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"total": "0"}, "list_documents.total is '0', no integer"),
        ({"total": True}, "list_documents.total is True, no integer"),
        ({"total": None}, "list_documents.total is None, no integer"),
        ({"more": 1}, "list_documents.more is not in the contract"),
        ({"documents": {}}, "list_documents.documents is {}, no array of document"),
        (
            {"documents": [{"filename": "a"}]},
            "list_documents.documents[].modified_at is missing",
        ),
        ({"index": INDEX | {"state": 1}}, "list_documents.index.state is 1, no string"),
    ],
)
def test_answer_is_checked_for_every_name_and_type(change: dict[str, object], fault: str) -> None:
    assert faults_of_answer("list_documents", LISTED) == []
    assert faults_of_answer("list_documents", LISTED | change) == [fault]
    short = {name: value for name, value in LISTED.items() if name != "total"}
    assert faults_of_answer("list_documents", short) == ["list_documents.total is missing"]


def test_error_is_checked_for_code_and_details() -> None:
    error = {"error": "busy", "message": "m", "hint": "h"}
    assert faults_of_error(error) == []
    assert faults_of_error(error | {"error": "odd"}) == ["error 'odd' is not in the contract"]
    assert faults_of_error(error | {"path": "x"}) == ["busy.path is not in the contract"]
    assert faults_of_error({"error": "busy", "message": "m"}) == ["busy.hint is missing"]


def test_codes_are_found_wherever_they_are_given() -> None:
    source = (
        "LATE = 'late'\n"
        "class OddError(UsageError):\n    code = 'odd'\n"
        "def f(x):\n"
        "    raise SessionError('m', code='gone' if x else None)\n"
        "    raise SessionError('m', code=LATE)\n"
        "    raise StorageError('m', code={'a': 'one'}.get(x, 'two'))\n"
        "    return {'error': 'lost', 'message': 'm', 'hint': 'h'}\n"
    )
    assert sorted(declared.codes_in(ast.parse(source))) == [
        "gone",
        "late",
        "lost",
        "odd",
        "one",
        "two",
    ]
    with pytest.raises(ValueError, match="no code that can be read"):
        list(declared.codes_in(ast.parse("raise UsageError('m', code=f'{x}')")))
