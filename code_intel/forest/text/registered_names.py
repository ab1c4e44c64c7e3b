"""Find the second names of a symbol: those under which lines of code register it.

Tables of built-ins, commands and routes give a function another name, by which tests and documents
call it: `{f_ltrimstr, "ltrimstr"}`, `register("add", cmd_add)`, `@cli.command("add-user")`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from code_intel.chunking.words import split_identifier

MIN_CHARS = 3
_TEXT = r"""["']([A-Za-z_][\w-]*)["']"""
FORMS = (
    r"(?<!\w){name}\s*,\s*{text}",
    r"{text}\s*\]?\s*(?:,|:|=>|=)\s*(?:\([^()]*\)\s*)?[&*]?(?:\w+(?:\.|::|->))*{name}\b(?!\s*\()",
)
"""How a line pairs a symbol with a text: `{f_trim, "trim"}`, or `("trim", f_trim)`,
`"trim": f_trim`, `x["trim"] = f_trim`."""
_DECORATOR = re.compile(r"\s*(?:@|#\[|\[\w+\()")


def registered_names(name: str, lines: Iterable[str], above: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the second names of a symbol, in the order of the lines.

    A line counts only if it has one text that could be a name, and only if this text consists of
    words of the symbol's own name. Otherwise any argument beside a symbol would be a name of it.

    Args:
        name: The symbol's name.
        lines: Lines of code.
        above: The lines before its definition, of which the decorators count.

    >>> registered_names("f_ltrimstr", ['{(cfunction_ptr)f_ltrimstr, "ltrimstr", 2},'])
    ('ltrimstr',)
    >>> registered_names("verify_password", ['check("password", verify_password("x"))'])
    ()
    """
    forms = [re.compile(form.format(name=re.escape(name), text=_TEXT)) for form in FORMS]
    found = [
        match[1]
        for line in lines
        if name in line and len(re.findall(_TEXT, line)) == 1
        for form in forms
        if (match := form.search(line))
    ]
    found += [text for line in _decorators(above) for text in re.findall(_TEXT, line)[:1]]
    return tuple(dict.fromkeys(text for text in found if text != name and _is_part(text, name)))


def _decorators(above: Sequence[str]) -> Iterator[str]:
    for line in reversed(above):
        if not _DECORATOR.match(line):
            return
        yield line


def _is_part(text: str, name: str) -> bool:
    """Return whether the words of a text stand in a name, next to each other."""
    part, whole = (split_identifier(each).casefold().split() for each in (text, name))
    size = len(part)
    return len(text) >= MIN_CHARS and any(
        whole[start : start + size] == part for start in range(len(whole) - size + 1)
    )
