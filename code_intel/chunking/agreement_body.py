"""The Markdown body of an agreement: bullets that hold any text, and the sections around them.

A bullet's further lines are indented by two spaces, so nothing inside can be a heading, a fence or a
merge marker of the file itself. What Markdown or an editor would swallow (control characters, white
space at the ends of a line) is a numeric character reference; a literal ``&#`` is one too.
"""

import re
from collections.abc import Iterable, Iterator

from code_intel.chunking.front_matter import visible
from code_intel.records import FileReference

Sections = list[tuple[str, list[str]]]

_TITLES = (
    ("evidence", re.compile(r"根拠|(?:code )?evidence", re.IGNORECASE)),
    ("files", re.compile(r"関連ファイル|related files", re.IGNORECASE)),
    ("session", re.compile(r"セッション情報|session", re.IGNORECASE)),
    ("frame", re.compile(r"queryframe", re.IGNORECASE)),
)
_BULLET = re.compile(r"[-*+](?:[ \t]+|$)")
_SLOT = re.compile(r"\A(?:\*\*)?([^:：*]+?)(?:\*\*)?[ \t]*[:：](?:\*\*)?[ \t]?(.*)\Z", re.DOTALL)
_LOCATION = re.compile(r"\A(.*):([0-9]{1,9})(?:-[0-9]+)?\Z", re.DOTALL)
_REFERENCE = re.compile(r"&#([0-9]{1,7});")
_MARKER = re.compile(r"(<{7,}|\|{7,}|>{7,})(?: |$)")
"""Seven characters; more where git merges a file under two names, and inside a common ancestor."""
_ALIAS = re.compile(r"\s*- \S")
_NO_ALIASES = re.compile(r"aliases:\s*(?:\[\s*\])?\s*$")


def lines_of(text: str) -> list[str]:
    """Return the lines of a file, whatever ended them, without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def encodable(text: str) -> str:
    """Return `text` with lone surrogates, which no file can hold, replaced."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def heading(text: str) -> str:
    """Return `text` on one line."""
    return _encode(" ".join(text.split()))


def bullet(text: str, indent: str = "") -> str:
    """Return a list item that `items` reads back as exactly `text`."""
    core = text.strip("\n")
    front, back = text[: len(text) - len(text.lstrip("\n"))], text[len(text.rstrip("\n")) :]
    if not core:
        front, back = text, ""
    lines = [_encode_line(line, first=number == 0) for number, line in enumerate(core.split("\n"))]
    lines[0] = "&#10;" * len(front) + lines[0]
    lines[-1] += "&#10;" * len(back)
    joint = f"\n{indent}  "
    return re.sub(r"\n +(?=\n)", "\n", f"{indent}- {joint.join(lines)}".rstrip(" ")) + "\n"


def location(file: FileReference) -> str:
    """Return ``path:line``, or the path alone when the line is not known."""
    path = _encode_line(file.path, first=True).replace("`", "&#96;").replace("\n", "&#10;")
    if file.line:
        return f"{path}:{file.line}"
    return re.sub(r":([0-9]+(?:-[0-9]+)?)\Z", r"&#58;\1", path)


def slot(name: str, value: str, indent: str = "") -> str:
    """Return one slot of the query frame as a list item."""
    label = re.sub(r"[:：*\n\t]|\A\s|\s\Z", lambda found: f"&#{ord(found[0])};", _encode(name))
    text = bullet(value, indent)
    return f"{indent}- {label}: {text.removeprefix(f'{indent}- ').removeprefix(f'{indent}-')}"


def sections(body: str) -> Sections:
    """Return (name, lines with the heading) for each second-level section; name empty if not ours."""
    found: Sections = []
    for line in lines_of(body):
        if line.startswith("## "):
            title = line[3:].strip()
            found.append((next((name for name, is_it in _TITLES if is_it.match(title)), ""), []))
        if found:
            found[-1][1].append(line)
    return found


def preamble(body: str) -> str:
    """Return what people wrote between our heading and the first section."""
    kept = []
    for line in lines_of(body):
        if line.startswith("## "):
            break
        if not line.startswith(("# ", "**シンボル（分解）**")):
            kept.append(line)
    return "\n".join(kept).strip("\n")


def items(lines: Iterable[str]) -> Iterator[str]:
    """Yield the texts of a list at the margin; a paragraph outside it is an item too."""
    return (text for text in (_decode(item) for item in _raw_items(lines)) if text.strip())


def files(lines: Iterable[str]) -> Iterator[FileReference]:
    """Yield the files of a list of ``path:line``; without code quotes a path has no white space."""
    for item in _raw_items(lines, paragraphs=False):
        quoted = re.match(r"`([^`]+)`", item) or re.match(r"(\S+)\Z", item)
        if not quoted:
            continue
        written = quoted[1]
        found = _LOCATION.match(written)
        path, line = (found[1], int(found[2])) if found else (written, 0)
        if path:
            yield FileReference(_decode(path), line)


def session(lines: list[str]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return intent and query frame from the list under either historic heading."""
    intent, frame = "", []
    for item in _raw_items(lines):
        head, _, rest = item.partition("\n")
        if head.replace(" ", "").rstrip(":：").endswith("QueryFrame"):
            frame += [pair for pair in map(_slot, _raw_items(rest.split("\n"))) if pair]
        elif pair := _slot(item):
            if pair[0].lower() == "intent":
                intent = pair[1]
            else:
                frame.append(pair)
    return intent, tuple(frame)


def united(lines: list[str]) -> list[str] | None:
    """Return the lines with merge conflicts resolved that touch nothing but the list of aliases.

    None if there is any other conflict. Both sides of such a conflict are kept; a common ancestor,
    as `merge.conflictStyle=diff3` shows it, is not.
    """
    out: list[str] = []
    rest = iter(lines)
    boundaries, in_aliases = 0, False
    for line in rest:
        if not _MARKER.match(line):
            boundaries += line.rstrip() == "---"
            in_aliases = bool(_NO_ALIASES.match(line) or (in_aliases and _ALIAS.match(line)))
            out.append(line)
            continue
        kept = _sides(line, rest)
        if kept is None or boundaries != 1 or not _all_aliases(kept, within=in_aliases):
            return None
        out += [entry for entry in kept if not (in_aliases and _NO_ALIASES.match(entry))]
        in_aliases = True
    return out


def _sides(marker: str, rest: Iterator[str]) -> list[str] | None:
    """Return the lines of ours and theirs, the key of the list at most once and first."""
    width = len(marker) - len(marker.lstrip("<"))
    base, middle, end = (re.compile(rf"{mark}{{{width}}}(?: |$)") for mark in (r"\|", "=", ">"))
    kept: list[str] = []
    state = "ours" if width else ""
    for line in rest if width else ():
        if base.match(line) and state == "ours":
            state = "base"
        elif middle.match(line) and state in {"ours", "base"}:
            state = "theirs"
        elif end.match(line) and state == "theirs":
            keys = [entry for entry in kept if _NO_ALIASES.match(entry)]
            return ["aliases:"] * bool(keys) + [entry for entry in kept if entry not in keys]
        elif state != "base":
            if _MARKER.match(line):
                return None
            kept.append(line)
    return None


def _all_aliases(lines: list[str], *, within: bool) -> bool:
    keyed = within or bool(lines and _NO_ALIASES.match(lines[0]))
    return keyed and all(_ALIAS.match(line) or _NO_ALIASES.match(line) for line in lines)


def _raw_items(lines: Iterable[str], *, paragraphs: bool = True) -> Iterator[str]:
    """Yield list items still encoded, continuation lines unindented and joined by newlines."""
    item: list[str] = []
    bulleted = False
    for line in lines:
        start = _BULLET.match(line)
        blank = not line.strip()
        if start or (item and not item[-1] and not blank and not (bulleted and line[0] in " \t")):
            yield from _joined(item)
            item, bulleted = [line[start.end() :] if start else line], bool(start)
        elif item or (paragraphs and not blank):
            item.append(re.sub(r"\A(?: {1,2}|\t)", "", line) if bulleted else line)
    yield from _joined(item)


def _joined(item: list[str]) -> Iterator[str]:
    while item and not item[-1].strip():
        item.pop()
    if item:
        yield "\n".join(item)


def _slot(item: str) -> tuple[str, str] | None:
    found = _SLOT.match(item)
    return (_decode(found[1]), _decode(found[2])) if found else None


def _encode(text: str) -> str:
    text = text.replace("&#", "&#38;#").replace("<!--", "&#60;!--")
    if text.isprintable():
        return text
    return "".join(c if visible(c) or c in "\n\t" else f"&#{ord(c)};" for c in text)


def _encode_line(line: str, *, first: bool) -> str:
    """Encode one line so that white space at its ends survives; indentation inside is left alone."""
    text = _encode(line)
    if not text:
        return text
    if text[-1] in " \t\u3000":
        text = f"{text[:-1]}&#{ord(text[-1])};"
    if first and text[0] in " \t\u3000":
        text = f"&#{ord(text[0])};{text[1:]}"
    return text


def _decode(text: str) -> str:
    def char(found: re.Match[str]) -> str:
        code = int(found[1])
        surrogate = 0xD800 <= code <= 0xDFFF  # noqa: PLR2004 - Unicode's own bounds
        return found[0] if surrogate or code > 0x10FFFF else chr(code)  # noqa: PLR2004 - the last one

    return _REFERENCE.sub(char, text)
