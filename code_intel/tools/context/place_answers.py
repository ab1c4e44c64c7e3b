"""Format places of the source, with what is related to them, as data and as text."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from code_intel.foundation.text import visible
from code_intel.session.state import Print
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.places import Place
from code_intel.tools.context.prints import prints_in
from code_intel.tools.context.uses.relations import Relation, Relations
from code_intel.tools.wire.answers import tokens
from code_intel.tools.wire.suspicion import flags_of

RELATED = ("callers", "callees", "tests")


class ShownPlace(NamedTuple):
    """A place as an answer shows it; `related` is None if its relations are not shown."""

    place: Place
    related: Relations | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The place on the wire, without empty fields."""
        place = self.place
        row: dict[str, Any] = {
            "file": place.file,
            "symbol": place.symbol,
            "start_line": place.first,
            "end_line": place.last,
            "whole": place.whole,
            "header": self._header,
            "lines": list(place.lines),
            **self._related_data(),
        }
        texts = [text for rows in self._related_data().values() for text in rows]
        return {key: value for key, value in row.items() if value} | flags_of(
            "\n".join((self._header, *place.lines)), place.file, place.symbol, "\n".join(texts)
        )

    @property
    def _header(self) -> str:
        """The first line of a symbol of which a later part is shown, with its number."""
        header = self.place.header
        return f"{header[0]}: {header[1].strip()}" if header else ""

    def _related_data(self) -> dict[str, list[str]]:
        if self.related is None:
            return {}
        counts = (self.related.caller_count, 0, self.related.test_count)
        return {
            name: _lines_of(getattr(self.related, name), count)
            for name, count in zip(RELATED, counts, strict=True)
        }

    @property
    def text(self) -> str:
        """The place as text: its name, its code, and a line for each relation."""
        place = self.place
        name = f"  {visible(place.symbol)}" if place.symbol else ""
        whole = "  (whole)" if place.whole else ""
        lines = [f"{visible(place.file)}:{place.first}-{place.last}{name}{whole}"]
        lines += [visible(self._header)] if self._header else []
        lines += [visible(line, keep="\t") for line in place.lines]
        for kind, rows in self._related_data().items():
            lines += [f"{kind}:", *(f"  {visible(row)}" for row in rows)] if rows else []
        return "\n".join(lines)

    @property
    def cost(self) -> int:
        """The tokens of the longer of its two forms."""
        return max(tokens(json.dumps(self.data, ensure_ascii=False)), tokens(self.text))


def _lines_of(rows: Iterable[Relation], count: int) -> list[str]:
    lines = [
        f"{row.file}:{row.line} {row.symbol + ': ' if row.symbol else ''}{row.text}" for row in rows
    ]
    return [*lines, f"… {count - len(lines)} more"] if count > len(lines) else lines


def prints_of_places(context: GatewayContext, shown: Iterable[ShownPlace]) -> tuple[Print, ...]:
    """Return what to note in the journal once the places have been shown; this blocks."""
    places = list(shown)
    passages = [line for item in places if item.related for line in item.related.passages]
    printed = (item for each in places for item in each.place.prints)
    return (*printed, *prints_in(context, passages))
