"""Search and read the packages that the project has installed (docs/decisions/0052).

They are read where they are and never indexed. A session does not count them as looked at.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from code_intel.chunking import parse_file
from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.packages import PackageFolder, package_folders
from code_intel.forest.text.grep import TextMatch, TextMatches, TextQuery, grep
from code_intel.index.rows import names_symbol, normalize_symbol
from code_intel.records import Definition, Symbol
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.source_file import SourceFile, read_below

Scope = Literal["project", "dependencies"]
"""Where to search: the project, or the packages that it has installed."""
SEARCH_S = 8.0
"""Maximum seconds of a search in all packages."""
MAX_PARSED_FILES = 40
"""Maximum files that are parsed to find a definition."""
MAX_CANDIDATE_LINES = 400
"""Maximum lines that may define a symbol."""
LATE = "The search of the packages was stopped after {} seconds. Narrow it with path."
_KEYWORDS = (
    "def|class|func|function|fn|const|let|var|val|type|struct|interface|enum|trait|macro|mod|static"
    "|union|module|namespace"
)
_DEFINES = (
    rf"\b(?:{_KEYWORDS})\b.*\b{{0}}\b",
    r"^\s*(?:export\s+)?{0}\s*(?::[^=]*)?=",
    r"^\s*(?:[\w<>\[\],.?*&]+\s+)*{0}\s*(?:<.*>)?\(.*\{{\s*$",
)
"""Regular expressions for lines that may define the name `{0}`; parsing the file decides."""


async def folders_of(context: GatewayContext) -> tuple[PackageFolder, ...]:
    """Return the folders of installed packages.

    Raises:
        NotFoundError: The project has no installed packages.
    """
    settings = context.settings
    found = await run_in_thread(package_folders, settings.root, settings.module_caches)
    if not found:
        raise NotFoundError(
            "No installed packages were found.",
            code="no_packages",
            hint="Packages are looked for in .venv, venv, env, node_modules and vendor of the "
            "project, and in the caches of Go and Cargo for what go.mod and Cargo.lock name. "
            "Install them there, or omit scope to search the project.",
            details={"field": "scope"},
        )
    return found


async def grep_packages(context: GatewayContext, query: TextQuery) -> TextMatches:
    """Return the matching lines in the installed packages; see `grep`.

    Raises:
        NotFoundError: There are no packages, or `query.path` is in none of them.
        UsageError: See `grep`.
    """
    matches: list[TextMatch] = []
    truncated, notes = False, dict[str, None]()
    deadline = time.monotonic() + SEARCH_S
    for folder, path in await _places(context, query.path):
        remaining = deadline - time.monotonic()
        if remaining <= 0 or len(matches) >= query.max_results:
            truncated = True
            notes |= {LATE.format(f"{SEARCH_S:g}"): None} if remaining <= 0 else {}
            break
        limit = query.max_results - len(matches)
        inside = replace(query, path=path, max_results=limit, unignored=True)
        found = await grep(folder.path, inside, timeout_s=remaining)
        matches += (replace(match, file=f"{folder.name}/{match.file}") for match in found.matches)
        truncated |= found.truncated
        notes |= {found.note: None} if found.note else {}
    return TextMatches(tuple(matches), truncated, " ".join(notes))


async def defined_in_packages(
    context: GatewayContext, symbol: str, path: str = ".", *, exact: bool = False
) -> tuple[list[Definition], str]:
    """Return the definitions of a symbol in the installed packages, and why some may be missing.

    Lines that look like a definition are searched for, and the first `MAX_PARSED_FILES` files with
    one are parsed.

    Raises:
        NotFoundError: There are no packages, or `path` is in none of them.
    """
    wanted = normalize_symbol(symbol)
    name = wanted.rpartition(".")[2]
    if not name:
        return [], ""
    escaped = re.escape(name) if exact else rf"\w*{re.escape(name)}\w*"
    pattern = "|".join(part.format(escaped) for part in _DEFINES)
    query = TextQuery(pattern, path=path, max_results=MAX_CANDIDATE_LINES)
    found = await grep_packages(context, query)
    files = list(dict.fromkeys(match.file for match in found.matches))
    folders = await folders_of(context)
    parsed = await run_in_thread(_definitions, folders, files[:MAX_PARSED_FILES], wanted, exact)
    note = found.note
    if not note and (found.truncated or len(files) > MAX_PARSED_FILES):
        note = "More files may define it. Narrow the search with path."
    return parsed, note


def _definitions(
    folders: Sequence[PackageFolder], files: Sequence[str], wanted: str, exact: bool
) -> list[Definition]:
    """Return the definitions in these files, exact matches first."""
    rows: list[tuple[bool, Definition]] = []
    deadline = time.monotonic() + SEARCH_S
    package, _, _ = wanted.partition(".")  # `requests.get` is defined in requests/api.py
    bare = wanted.rpartition(".")[2]
    for file in files:
        if time.monotonic() > deadline:
            break
        opened = _opened(folders, file)
        for symbol in opened.symbols if opened else ():
            is_exact = names_symbol(wanted, symbol.qualified, file)
            is_exact |= symbol.name == bare and package in file.split("/")
            if is_exact or (not exact and bare.casefold() in symbol.name.casefold()):
                language = opened.language if opened else ""
                rows.append((not is_exact, _definition(symbol, file, language)))
    return [definition for _, definition in sorted(rows, key=lambda row: row[0])]


def _definition(symbol: Symbol, file: str, language: str) -> Definition:
    return Definition(
        symbol.name,
        symbol.qualified,
        symbol.kind,
        file,
        symbol.start_line,
        symbol.end_line,
        symbol.signature,
        language,
        symbol.digest,
    )


async def open_package_file(context: GatewayContext, path: str) -> SourceFile:
    """Read and parse a file of an installed package, named as in answers or within its package.

    Raises:
        NotFoundError: There are no packages, or the path is in none of them.
        UsageError: The file is binary, too large, or may contain secrets.
    """
    (folder, inside), *_ = await _places(context, path)
    return await run_in_thread(_source, folder, inside)


def _opened(folders: Sequence[PackageFolder], file: str) -> SourceFile | None:
    for folder in folders:
        if file.startswith(f"{folder.name}/"):
            try:
                return _source(folder, file.removeprefix(f"{folder.name}/"))
            except UsageError:
                return None
    return None


def _source(folder: PackageFolder, path: str) -> SourceFile:
    name, _, text = read_below(folder.path, path, "path")
    parsed = parse_file(name, text)
    shown = f"{folder.name}/{name}"
    return SourceFile(
        shown, text, parsed.symbols, parsed.language, parsed.imports, parsed.problem, ()
    )


async def _places(context: GatewayContext, path: str) -> list[tuple[PackageFolder, str]]:
    """Return the package folders that contain `path`, each with the path inside it.

    The path is `.` for all packages, a name as in answers, or a path within a folder, such as the
    name of a package.

    Raises:
        NotFoundError: There are no packages, or `path` is in none of them.
    """
    folders = await folders_of(context)
    places = await run_in_thread(_containing, folders, path.strip().rstrip("/") or ".")
    if not places:
        names = ", ".join(folder.name for folder in folders[:5])
        raise NotFoundError(
            f"No installed package contains {path[:200]}.",
            hint=f"Give a path as answers name it, or one within {names}.",
            details={"field": "path"},
        )
    return places


def _containing(folders: Sequence[PackageFolder], path: str) -> list[tuple[PackageFolder, str]]:
    if path == ".":
        return [(folder, ".") for folder in folders]
    for folder in folders:
        if path == folder.name or path.startswith(f"{folder.name}/"):
            return [(folder, path.removeprefix(folder.name).strip("/") or ".")]
    return [(folder, path) for folder in folders if _exists(folder.path, path)]


def _exists(folder: Path, path: str) -> bool:
    try:
        return (
            not Path(path).is_absolute()
            and ".." not in Path(path).parts
            and (folder / path).exists()
        )
    except (OSError, ValueError):
        return False
