"""Read and write the Markdown body of an agreement: its sections and their bullets.

A bullet may hold any text. Its further lines are indented by two spaces, so that none can be a
heading, a fence or a merge marker of the file. Numeric character references replace what Markdown
or an editor would drop (control characters, white space at the ends of a line), and a literal
``&#``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, takewhile

from code_intel.chunking.front_matter import is_visible
from code_intel.chunking.headings import HEADINGS
from code_intel.records import FileReference

Sections = list[tuple[str, list[str]]]

_TITLES = tuple(
    (name, re.compile(rf"(?:{names})\s*+(?:[(（][^()（）]*[)）]\s*+)?[:：]?", re.IGNORECASE))
    for name, names in (
        ("evidence", "根拠|(?:code )?evidence"),
        ("files", "(?:関連)?ファイル|(?:related )?files?"),
        ("session", "セッション情報|session(?: information)?"),
        ("frame", "queryframe"),
    )
)
"""Match complete headings; 「セッション情報の扱い」 is a section that a user added."""
_SPLIT_LABELS = tuple(f"**{titles.split}**" for titles in HEADINGS.values())
_BULLET = re.compile(r"(?:[-*+]|[0-9]{1,2}[.)])(?:[ \t]+|$)|・[ \t　]*")
_HEADING = re.compile(r"##(?:\s|$)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_SLOT = re.compile(r"\A(?:\*\*)?([^:：*\n]++)(?:\*\*)?[ \t]*[:：](?:\*\*)?[ \t]?(.*)\Z", re.DOTALL)
_LOCATION = re.compile(r"\A(.*)[:：]([0-9]{1,9})(?:-[0-9]+)?\Z", re.DOTALL)
_LINK = re.compile(r"\[[^\[\]]*\]\(([^()\s]+)\)\Z")
_PLACEHOLDERS = frozenset({"（根拠なし）", "（なし）", "---"})
"""Texts that an earlier program wrote into empty sections, and a horizontal rule."""
_REFERENCE = re.compile(r"&#([0-9]{1,7});")
_MARKER = re.compile(r"(<{7,}|\|{7,}|>{7,})(?: |$)")
"""Git writes seven characters; more for a file with two names, or in a common ancestor."""
_ALIAS = re.compile(r"\s*- \S")
_FRAME_LINE = re.compile(
    r"- (?:成功時の|Successful) QueryFrame:$"
    r"|  - (?:target_feature|trigger_condition|observed_issue|desired_action|query): "
)
_ALIASES_KEY = re.compile(r"aliases:\s*+(?:\[\s*+\]\s*+)?$")


def lines_of(text: str) -> list[str]:
    """Return the lines of a file without line endings and byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def encodable(text: str) -> str:
    """Return `text` with lone surrogates replaced, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def one_line(text: str) -> str:
    """Return `text` on one line."""
    return _encode(" ".join(text.split()))


def bullet(text: str, indent: str = "") -> str:
    """Return a list item from which `items` reads exactly `text`."""
    core = text.strip("\n")
    front, back = text[: len(text) - len(text.lstrip("\n"))], text[len(text.rstrip("\n")) :]
    if not core:
        front, back = text, ""
    lines = [_encode_line(line, first=number == 0) for number, line in enumerate(core.split("\n"))]
    lines[0] = "&#10;" * len(front) + lines[0]
    lines[-1] += "&#10;" * len(back)
    separator = f"\n{indent}  "
    return re.sub(r"\n +(?=\n)", "\n", f"{indent}- {separator.join(lines)}".rstrip(" ")) + "\n"


def location(file: FileReference) -> str:
    """Return ``path:line``, or the path alone if the line is unknown."""
    path = _encode_line(file.path, first=True).replace("`", "&#96;").replace("\n", "&#10;")
    if file.line:
        return f"{path}:{file.line}"
    return re.sub(r"[:：](?=[0-9]+(?:-[0-9]+)?\Z)", lambda found: f"&#{ord(found[0])};", path)


def slot(name: str, value: str, indent: str = "") -> str:
    """Return one slot of the query frame as a list item."""
    label = re.sub(r"[:：*\n\t]|\A\s|\s\Z", lambda found: f"&#{ord(found[0])};", _encode(name))
    text = bullet(value, indent)
    return f"{indent}- {label}: {text.removeprefix(f'{indent}- ').removeprefix(f'{indent}-')}"


def sections(body: str) -> dict[str, list[str]]:
    """Return the lines of each section of the format, by name.

    Without a section of evidence, the text above the sections is the evidence: a block and a
    sentence are the shortest valid file.
    """
    found: dict[str, list[str]] = {name: [] for name, _ in _TITLES}
    all_sections = _sections(body)
    for name, lines in all_sections:
        if name:
            found[name] += ["", *lines[1:]]
    if not any(name == "evidence" for name, _ in all_sections):
        found["evidence"] = _preamble(body)
    return found


def notes(body: str, heading: str) -> str:
    """Return the other text: own sections verbatim, and the rest of known ones under `heading`."""
    all_sections = _sections(body)
    known = sections(body)
    files = ((*each, _file(each[0]) if each[1] else None) for each in _raw_items(known["files"]))
    slots = _slots(known["session"] + known["frame"])
    unrecognised = [
        _original_text(item, bulleted) for item, bulleted, read in chain(files, slots) if not read
    ]
    if any(name == "evidence" for name, _ in all_sections):
        unrecognised.insert(0, "\n".join(_preamble(body)))
    kept = "\n\n".join(filter(str.strip, unrecognised)).strip("\n")
    own = ["\n".join(lines).strip("\n") for name, lines in all_sections if not name]
    return "\n\n".join(([f"## {heading}\n\n{kept}"] if kept else []) + own)


def _sections(body: str) -> Sections:
    """Return each second-level section: its name, empty if unknown, and its lines."""
    found: Sections = []
    for line, fenced in _fenced(lines_of(body)):
        if _HEADING.match(line) and not fenced:
            title = line[3:].strip()
            found.append(
                (next((name for name, is_it in _TITLES if is_it.fullmatch(title)), ""), [])
            )
        if found:
            found[-1][1].append(line)
    return found


def _preamble(body: str) -> list[str]:
    """Return the text between the heading of the file and the first section."""
    above = takewhile(lambda each: each[1] or not _HEADING.match(each[0]), _fenced(lines_of(body)))
    lines = [line for line, _ in above if not line.startswith(_SPLIT_LABELS)]
    title = next((number for number, line in enumerate(lines) if line.strip()), 0)
    return (
        lines[title + 1 :] if lines[title : title + 1] and lines[title].startswith("# ") else lines
    )


def _fenced(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is in a code block; an unclosed fence begins no block."""
    lines = list(lines)
    fence_counts = Counter(line.rstrip() for line in lines if line[:3] in {"```", "~~~"})
    if not fence_counts:
        yield from ((line, False) for line in lines)
        return
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        yield line, bool(fence)
        if mark:
            fence_counts[line.rstrip()] -= 1
            opens = "" if fence or not fence_counts[mark[0]] else mark[0]
            fence = opens if not fence or line.rstrip() == fence else fence


def items(lines: Iterable[str]) -> Iterator[str]:
    """Yield the items of a top-level list; a paragraph outside it is an item as well."""
    for item, bulleted in _raw_items(lines):
        text = decoded(item)
        if text.strip() and (bulleted or text not in _PLACEHOLDERS):
            yield text


def files(lines: Iterable[str]) -> Iterator[FileReference]:
    """Yield the files of a list of ``path:line``; an unquoted path has no white space."""
    return (file for item, bulleted in _raw_items(lines) if bulleted and (file := _file(item)))


def session(lines: Iterable[str]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the intent and the query frame from the list under either heading."""
    pairs = [pair for _, _, pair in _slots(lines) if pair]
    intents = [value for name, value in pairs if name.lower() == "intent"]
    return "".join(intents[-1:]), tuple(pair for pair in pairs if pair[0].lower() != "intent")


def is_conflict_marker(line: str) -> bool:
    """Return whether git wrote this line to mark a side of a merge conflict."""
    return bool(_MARKER.match(line))


def titled_sections(body: str) -> tuple[str, list[str], list[tuple[str, list[str]]]]:
    """Return the title of a text, the lines above its sections, and the sections with heading.

    The title is the first heading of the first level; the lines below it belong to the text above.
    """
    title, above = "", list[str]()
    found: list[tuple[str, list[str]]] = []
    for line, fenced in _fenced(lines_of(body)):
        if not fenced and not title and not found and line.startswith("# "):
            title = line[2:].strip()
        elif not fenced and _HEADING.match(line):
            found.append((line[3:].strip(), []))
        else:
            (found[-1][1] if found else above).append(line)
    return title, above, found


def first_marker(lines: Iterable[str]) -> int:
    """Return the line, from 1, of the first marker of a merge conflict; 0 without one."""
    return next((number for number, line in enumerate(lines, 1) if _MARKER.match(line)), 0)


def resolve_alias_conflicts(lines: list[str]) -> list[str] | None:
    """Return the lines with merge conflicts in aliases and frames resolved; None for others.

    Both sides of such a conflict are kept, but not the common ancestor that `diff3` style adds.
    """
    if not any(map(_MARKER.match, lines)):
        return lines
    out: list[str] = []
    rest = iter(lines)
    boundaries, in_aliases = 0, False
    for line in rest:
        if not _MARKER.match(line):
            boundaries += line.rstrip() == "---"
            in_aliases = bool(_ALIASES_KEY.match(line) or (in_aliases and _ALIAS.match(line)))
            out.append(line)
            continue
        kept = _both_sides(line, rest)
        if kept is not None and boundaries > 1 and all(map(_FRAME_LINE.match, kept)):
            out += kept
            continue
        if kept is None or boundaries != 1 or not _are_aliases(kept, within=in_aliases):
            return None
        out += [entry for entry in kept if not (in_aliases and _ALIASES_KEY.match(entry))]
        in_aliases = True
    return out


def _both_sides(marker: str, rest: Iterator[str]) -> list[str] | None:
    """Return the lines of both sides of a conflict; the key of the list comes first, once."""
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
            keys = [entry for entry in kept if _ALIASES_KEY.match(entry)]
            return ["aliases:"] * bool(keys) + [entry for entry in kept if entry not in keys]
        elif state != "base":
            if _MARKER.match(line):
                return None
            kept.append(line)
    return None


def _are_aliases(lines: list[str], *, within: bool) -> bool:
    keyed = within or bool(lines and _ALIASES_KEY.match(lines[0]))
    return keyed and all(_ALIAS.match(line) or _ALIASES_KEY.match(line) for line in lines)


def _raw_items(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each item, encoded and without indentation, and whether it is a bullet."""
    item: list[str] = []
    bulleted = False
    for line, fenced in _fenced(lines):
        start = None if fenced else _BULLET.match(line)
        is_blank = not line.strip()
        ends_item = item and not item[-1] and not is_blank and not (bulleted and line[0] in " \t")
        if start or (ends_item and not fenced):
            yield from ((text, bulleted) for text in _item_text(item))
            item, bulleted = [line[start.end() :] if start else line], bool(start)
        elif item or not is_blank:
            item.append(re.sub(r"\A(?: {1,2}|\t)", "", line) if bulleted else line)
    yield from ((text, bulleted) for text in _item_text(item))


def _item_text(item: list[str]) -> Iterator[str]:
    while item and not item[-1].strip():
        item.pop()
    if item:
        yield "\n".join(item)


def _file(item: str) -> FileReference | None:
    quoted = re.match(r"`([^`]+)`", item) or _LINK.match(item) or re.match(r"(\S+)\Z", item)
    if not quoted:
        return None
    found = _LOCATION.match(quoted[1])
    path, line = (found[1], int(found[2])) if found else (quoted[1], 0)
    return FileReference(decoded(path), line) if path else None


def _slots(lines: Iterable[str]) -> Iterator[tuple[str, bool, tuple[str, str] | None]]:
    """Yield each item, whether it is a bullet, and its slot, also below `QueryFrame:`."""
    for item, bulleted in _raw_items(lines):
        head, _, rest = item.partition("\n")
        if head.replace(" ", "").rstrip(":：").endswith("QueryFrame"):
            for slot_item, is_list in _raw_items(rest.split("\n")):
                yield slot_item, is_list, _slot(slot_item)
        else:
            yield item, bulleted, _slot(item)


def _slot(item: str) -> tuple[str, str] | None:
    found = _SLOT.match(item)
    name, value = (decoded(found[1].rstrip(" \t")), decoded(found[2])) if found else ("", "")
    return (name, value) if name.strip() and value.strip() else None


def _original_text(item: str, bulleted: bool) -> str:  # noqa: FBT001 - from `_raw_items`
    """Return an item as it was written, without indentation; a placeholder gives ""."""
    if item in _PLACEHOLDERS and not bulleted:
        return ""
    return "- " + item.replace("\n", "\n  ") if bulleted else item


def _encode(text: str) -> str:
    text = text.replace("&#", "&#38;#").replace("<!--", "&#60;!--")
    if text.isprintable():
        return text
    return "".join(c if is_visible(c) or c in "\n\t" else f"&#{ord(c)};" for c in text)


def _encode_line(line: str, *, first: bool) -> str:
    """Encode one line so that white space at its ends is preserved."""
    text = _encode(line)
    if not text:
        return text
    if text[-1] in " \t\u3000":
        text = f"{text[:-1]}&#{ord(text[-1])};"
    if first and text[0] in " \t\u3000":
        text = f"&#{ord(text[0])};{text[1:]}"
    return text


def decoded(text: str) -> str:
    """Return text with its numeric character references replaced."""

    def char(found: re.Match[str]) -> str:
        code = int(found[1])
        surrogate = 0xD800 <= code <= 0xDFFF  # noqa: PLR2004 - Unicode's own bounds
        # The last code point.
        return found[0] if surrogate or code > 0x10FFFF else chr(code)  # noqa: PLR2004

    return _REFERENCE.sub(char, text)
