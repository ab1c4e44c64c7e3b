"""Read the files of the project as they are now, each once while a page is made."""

import os
from collections.abc import Sequence

from code_intel.operations.standing import Standing, standing_of_prints, standing_of_quote
from code_intel.session.state import Print
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.prints import Windows, current_text

GONE = Standing("gone")
"""Where code of a file stands that is not there any more."""


class CurrentFiles:
    """The files on disk, each read once."""

    def __init__(self, context: GatewayContext) -> None:
        self._context = context
        self._texts: dict[str, list[str]] = {}
        self._windows: dict[str, Windows] = {}

    def text(self, file: str) -> Sequence[str]:
        """Return the lines of a file; none if it is not shown."""
        if file not in self._texts:
            self._texts[file] = current_text(self._context, file)
        return self._texts[file]

    def is_gone(self, file: str) -> bool:
        """Return whether there is no such file any more."""
        return not self.text(file) and not os.path.lexists(self._context.root / file)

    def standing(self, file: str, prints: Sequence[Print]) -> Standing:
        """Return where printed lines stand now."""
        if self.is_gone(file):
            return GONE
        windows = self._windows.setdefault(file, {})
        return standing_of_prints(prints, self.text(file), windows)

    def quoted(self, file: str, quote: str, first: int = 0) -> Standing:
        """Return where a quote of a file stands now; `first` is the line where it stood."""
        return GONE if self.is_gone(file) else standing_of_quote(quote, self.text(file), first)
