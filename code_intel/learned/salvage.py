"""What a damaged JSON file still holds: everything that is whole, whatever was cut off, mixed in or merged.

Up to the damage it is read member by member. Behind it, objects at the beginning of a line or an item count
if they look like pairs. Of a merge in conflict both sides are read (docs/decisions/0038).
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_GAP = re.compile(r"[\s,]*")
_OBJECT = re.compile(r"(?:^|[\[,])\s*(?=\{)", re.MULTILINE)
MOST_FAILURES = 100
"""Objects behind the damage that are tried in vain; each may be as long as the file."""

_BROKEN = (ValueError, RecursionError)


def salvage(text: str, decoder: json.JSONDecoder) -> dict[str, Any]:
    """Return the whole members of a damaged JSON object; `pairs` has the whole items of that list.

    Args:
        text: The file; bytes that are no UTF-8 as lone surrogates, and what holds them is not whole.
        decoder: Refuses with a ValueError what may not stand in the file.
    """
    found: dict[str, Any] = {}
    items: dict[str, Any] = {}  # by their text: both sides of a merge have most of them
    for side in _sides(text):
        reader = _Reader(side, decoder)
        members = reader.members()
        pairs = members.pop("pairs", None)
        for item in [*(pairs if isinstance(pairs, list) else ()), *reader.others()]:
            items[json.dumps(item)] = item
        found |= members
    return found | {"pairs": list(items.values())}


def _sides(text: str) -> tuple[str, ...]:
    """Return both versions of a text in conflict; any other as it is."""
    if "<<<<<<< " not in text:
        return (text,)
    ours: list[str] = []
    theirs: list[str] = []
    now: tuple[list[str], ...] = (ours, theirs)
    for line in text.split("\n"):
        if line.startswith("<<<<<<< "):
            now = (ours,)
        elif line.startswith("||||||| "):
            now = ()
        elif line.rstrip("\r") == "=======":
            now = (theirs,)
        elif line.startswith(">>>>>>> "):
            now = (ours, theirs)
        else:
            for side in now:
                side.append(line)
    return "\n".join(ours), "\n".join(theirs)


class _Reader:
    """Reads on from `place`, which stays in front of what is not whole."""

    def __init__(self, text: str, decoder: json.JSONDecoder) -> None:
        self.text = text
        self.decoder = decoder
        self.place = 0

    def members(self) -> dict[str, Any]:
        """Return the object's members up to the damage."""
        found: dict[str, Any] = {}
        try:
            self._skip("{")
            while not self.text.startswith("}", self._next()):
                name = self._name()
                if name == "pairs" and self.text.startswith("[", self._next()):
                    found.setdefault(name, []).extend(self._items())
                else:
                    found[name] = self._value()
            self.place += 1
        except _DamageError as damage:
            if damage.items:
                found.setdefault("pairs", []).extend(damage.items)
        return found

    def others(self) -> Iterator[dict[str, Any]]:
        """Return what looks like a pair from `place` on."""
        failures = 0
        while failures < MOST_FAILURES and (start := _OBJECT.search(self.text, self.place)):
            self.place = start.end()
            try:
                value = self._value()
            except _DamageError:
                failures += 1
                self.place += 1
                continue
            if isinstance(value, dict) and {"nl_term", "symbol"} <= value.keys():
                yield value

    def _items(self) -> list[Any]:
        items: list[Any] = []
        self._skip("[")
        try:
            while not self.text.startswith("]", self._next()):
                items.append(self._value())
        except _DamageError as damage:
            raise _DamageError(items) from damage
        self.place += 1
        return items

    def _name(self) -> str:
        if not self.text.startswith('"', self._next()):
            raise _DamageError
        name = str(self._value())
        self._skip(":")
        return name

    def _value(self) -> Any:
        try:
            value, end = self.decoder.raw_decode(self.text, self._next())
            self.text[self.place : end].encode()
        except _BROKEN as error:
            raise _DamageError from error
        if isinstance(value, int | float) and end == len(self.text):
            raise _DamageError  # further digits may have been cut off
        self.place = end
        return value

    def _next(self) -> int:
        """Go to what follows white space and commas."""
        gap = _GAP.match(self.text, self.place)
        self.place = gap.end() if gap else self.place
        return self.place

    def _skip(self, sign: str) -> None:
        if not self.text.startswith(sign, self._next()):
            raise _DamageError
        self.place += 1


class _DamageError(Exception):
    """Here something is not whole; `items` are those of a list before it."""

    def __init__(self, items: list[Any] | None = None) -> None:
        super().__init__()
        self.items = items or []
