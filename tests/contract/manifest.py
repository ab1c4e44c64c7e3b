"""Read `docs/contract.md`, one requirement a line, and check answers against it.

Each cell of the phase table is a requirement, too.

    - `id` (type[, flag]): what it is

`type` is a JSON type, `array of T`, `map of T`, `T or null`, or the name of a row, whose fields are
the ids `row.NAME.…`; of a transition it is the phase that follows. `flag` is `required` (a
parameter that must be given) or `optional` (a field that is not in every answer).
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.session.phases import START, TRANSITIONS, Event

PAGE = Path(__file__).resolve().parents[2] / "docs" / "contract.md"
KINDS = ("tool", "field", "answer", "row", "error", "transition", "rule")
JSON: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "object": (dict,),
        "null": (type(None),),
    }
)
EVERY = "answer.any"
"""Fields that the answer of any tool may have."""
OF_ERRORS = "error.any"
"""Fields that every error has."""
_LINE = re.compile(
    r"- `(?P<id>[^`]+)`(?: \((?P<type>[^,)]+)(?:, (?P<flag>required|optional))?\))?: (?P<text>\S.*)"
)


class Requirement(NamedTuple):
    """One line of the contract; `type` and `flag` are empty where it has none."""

    id: str
    type: str
    flag: str
    text: str

    @property
    def kind(self) -> str:
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        return self.id.rpartition(".")[2]


def parse(text: str) -> tuple[Requirement, ...]:
    """Read the page; every line of a list must be a requirement.

    Raises:
        ValueError: A line is no requirement; the message names it.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("- "):
            continue
        match = _LINE.fullmatch(line)
        if match is None or match["id"].partition(".")[0] not in KINDS:
            raise ValueError(f"line {number} is no requirement: {line}")
        found.append(
            Requirement(match["id"], match["type"] or "", match["flag"] or "", match["text"])
        )
    return tuple(found)


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return the lines of the page and the cells of the phase table."""
    return (*parse(PAGE.read_text(encoding="utf-8")), *transitions())


def transitions() -> Iterator[Requirement]:
    """Yield the phase after every event in every phase; `refused` if the phase does not allow the
    event.
    """
    for intent, begins in START.items():
        yield Requirement(f"transition.START.{intent}", begins.value, "", "a session begins")
    for phase, row in TRANSITIONS.items():
        for event in Event:
            if event is not Event.STARTED:
                leads = row[event].value if event in row else "refused"
                yield Requirement(f"transition.{phase}.{event}", leads, "", event.value)


@cache
def fields_of(owner: str) -> Mapping[str, Requirement]:
    """Return the fields below an id (`answer.search_text`, `row.hit`) by their names."""
    prefix = f"{owner}."
    return {r.id.removeprefix(prefix): r for r in requirements() if r.id.startswith(prefix)}


def faults_of_answer(tool: str, answer: Mapping[str, object]) -> list[str]:
    """Return how an answer differs from the contract: missing, unknown or mistyped fields.

    The answer of a tool outside the contract, as a test may offer, has no faults.
    """
    if not any(r.id == f"tool.{tool}" for r in requirements()):
        return []
    known = {**fields_of(EVERY), **fields_of(f"answer.{tool}")}
    return list(_faults(known, answer, tool))


EMPTY: Mapping[str, object] = MappingProxyType({"string": "", "object": {}})


class CompleteRow(dict[str, Any]):
    """An answer of the gateway, or a row of one, with its empty fields, which the gateway omits.

    An optional field that is missing can be read, too; it is empty. Rows are equal if they differ
    in empty fields only.
    """

    def __init__(self, owner: str, data: Mapping[str, object]) -> None:
        super().__init__(data)
        self.owner = owner

    def __missing__(self, name: str) -> object:
        field = fields_of(self.owner).get(name)
        if field is None or (empty := _empty(field.type)) is MISSING:
            raise KeyError(name)
        return empty

    def __eq__(self, other: object) -> bool:  # type: ignore[explicit-override]  # needs 3.12
        if not isinstance(other, dict):
            return False
        return _without_empty(self) == _without_empty(other)

    def __ne__(self, other: object) -> bool:  # type: ignore[explicit-override]
        return not self == other

    __hash__ = None


def _without_empty(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in row.items() if v is not None and v not in ("", [], {})}
    return {k: _without_empty(v) if isinstance(v, dict) else v for k, v in kept.items()}


def completed(owner: str, data: Mapping[str, object]) -> CompleteRow:
    """Return an answer of the gateway (`answer.search_text`) with its empty fields.

    A field of a number or a truth value is never empty.
    """
    filled = CompleteRow(owner, data)
    for name, field in fields_of(owner).items():
        if name in data:
            filled[name] = _completed(field.type, data[name])
        elif field.flag != "optional" and (empty := _empty(field.type)) is not MISSING:
            filled[name] = empty
    return filled


MISSING = object()


def _empty(wanted: str) -> object:
    """Return the empty value of a type, or `MISSING` if it has none."""
    if wanted.endswith(" or null"):
        return None
    if wanted.startswith("array of "):
        return []
    if wanted.startswith("map of "):
        return {}
    return completed(f"row.{wanted}", {}) if wanted not in JSON else EMPTY.get(wanted, MISSING)


def _completed(wanted: str, value: object) -> object:
    kind = wanted.removesuffix(" or null")
    if isinstance(value, list) and kind.startswith("array of "):
        return [_completed(kind.removeprefix("array of "), item) for item in value]
    if isinstance(value, dict) and kind.startswith("map of "):
        inner = kind.removeprefix("map of ")
        return {key: _completed(inner, item) for key, item in value.items()}
    return completed(f"row.{kind}", value) if isinstance(value, dict) else value


def faults_of_error(error: Mapping[str, object]) -> list[str]:
    """Return how an error differs from the contract."""
    code = error.get("error")
    if not any(r.id == f"error.{code}" for r in requirements()):
        return [f"error {code!r} is not in the contract"]
    known = {**fields_of(OF_ERRORS), **fields_of(f"error.{code}")}
    return list(_faults(known, error, str(code)))


def _faults(
    known: Mapping[str, Requirement], data: Mapping[str, object], where: str
) -> Iterator[str]:
    for name, requirement in known.items():
        if name in data:
            yield from _misfits(requirement.type, data[name], f"{where}.{name}")
        elif requirement.flag != "optional":
            yield f"{where}.{name} is missing"
    yield from (f"{where}.{name} is not in the contract" for name in data if name not in known)


def _misfits(wanted: str, value: object, where: str) -> Iterator[str]:
    """Yield the parts of `value` that do not have the type `wanted`."""
    if wanted.endswith(" or null"):
        if value is not None:
            yield from _misfits(wanted.removesuffix(" or null"), value, where)
    elif wanted.startswith("array of ") and isinstance(value, list):
        for item in value:
            yield from _misfits(wanted.removeprefix("array of "), item, f"{where}[]")
    elif wanted.startswith("map of ") and isinstance(value, dict):
        for item in value.values():
            yield from _misfits(wanted.removeprefix("map of "), item, f"{where}{{}}")
    elif wanted in JSON:
        is_truth = isinstance(value, bool) and wanted != "boolean"
        if is_truth or not isinstance(value, JSON[wanted]):
            yield f"{where} is {value!r:.60}, no {wanted}"
    elif isinstance(value, dict) and fields_of(f"row.{wanted}"):
        yield from _faults(fields_of(f"row.{wanted}"), value, where)
    else:
        yield f"{where} is {value!r:.60}, no {wanted}"
