"""Print an answer: as JSON or text, with secrets masked and control characters made visible."""

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from code_intel.foundation.redaction import masked, masked_data
from code_intel.foundation.text import visible, visible_json


class Form(NamedTuple):
    """How an answer is printed.

    Attributes:
        as_json: Whether as one JSON object.
        has_colours: Whether text has colours.
    """

    as_json: bool = False
    has_colours: bool = False


def printed(form: Form, data: Mapping[str, Any], text: str, marks: Collection[str] = ()) -> str:
    """Return what is printed of an answer.

    Args:
        form: How it is printed.
        data: The answer as JSON.
        text: The answer as text.
        marks: Index tokens; coloured text shows the words with them in bold.
    """
    if form.as_json:
        return visible_json(json.dumps(masked_data(data), ensure_ascii=False))
    shown = visible(masked(text), keep="\n\t")
    if not form.has_colours:
        return shown
    from code_intel.tools.wire.colour import coloured

    return coloured(shown, marks)
