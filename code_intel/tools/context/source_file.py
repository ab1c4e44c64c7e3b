"""Open a file of the project and parse its current content."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking import decode, parse_file
from code_intel.errors import UsageError
from code_intel.forest.text.grep import confined
from code_intel.index.corpus import MAX_FILE_BYTES, SECRET_REASON, refusal
from code_intel.index.safe_files import read_inside
from code_intel.records import Definition, Symbol
from code_intel.session.paths import plain_path
from code_intel.tools.context.freshness import refresh_changed
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.prints import split_lines

STALE = "The file has changed since it was indexed. Earlier line numbers may be wrong."
NOT_INDEXED = "The file is not in the index, so searches do not find it."


class SourceFile(NamedTuple):
    """A parsed file on disk.

    Attributes:
        path: Path relative to the project.
        text: Decoded text, with secret values masked.
        symbols: The symbols that it defines.
        language: Name of the language, as in `chunking.languages`.
        imports: The imported names; see `chunking.imports`.
        problem: Why the parser failed; empty if it succeeded.
        warnings: Differences between the file and the index.
    """

    path: str
    text: str
    symbols: tuple[Symbol, ...]
    language: str
    imports: tuple[str, ...]
    problem: str
    warnings: tuple[str, ...]


class SourceText(NamedTuple):
    """A file on disk with its symbols.

    Attributes:
        path: Path relative to the project.
        lines: The lines without line endings, with secret values masked.
        definitions: The symbols that it defines, outer before inner ones.
        has_changed: Whether it differed from the index, so that line numbers of hits may be wrong.
    """

    path: str
    lines: tuple[str, ...]
    definitions: tuple[Definition, ...]
    has_changed: bool


def open_source(
    context: GatewayContext, path: str, field: str = "path", language_path: str = ""
) -> SourceFile:
    """Read and parse a file of the project without following links; this blocks.

    Args:
        context: The project's context.
        path: The path that the caller names; `a.py:34` means `a.py`.
        field: The name of the caller's parameter, for errors.
        language_path: The file name that determines the language; default: the file's own name.

    Raises:
        UsageError: The file is outside the project, missing, a folder, too large, binary, or may
            contain secrets.
    """
    name, data, text = read_below(context.root, path, field)
    parsed = parse_file(language_path or name, text)
    return SourceFile(
        name,
        text,
        parsed.symbols,
        parsed.language,
        parsed.imports,
        parsed.problem,
        _differences(context, name, data),
    )


def read_source(context: GatewayContext, path: str) -> SourceText:
    """Read a file of the project, and its symbols from the index, which is faster than parsing it.

    This blocks. If the file has changed since it was indexed, it is indexed again first.

    Raises:
        UsageError: See `open_source`.
    """
    name, data, text = read_below(context.root, path, "path")
    warnings = _differences(context, name, data)
    definitions = context.forest.store.defined_in([index_path_of(context, name)])
    return SourceText(name, tuple(split_lines(text)), tuple(definitions), STALE in warnings)


def read_below(root: Path, path: str, field: str) -> tuple[str, bytes, str]:
    """Return a file's path relative to `root`, its bytes, and its masked text.

    Raises:
        UsageError: See `open_source`.
    """
    try:
        name = confined(root, path, field)
    except UsageError:
        name = confined(root, plain_path(path), field)
    problem = f"{SECRET_REASON} and is never shown" if refusal(name) == SECRET_REASON else ""
    if not problem and not (root / name).is_file():
        problem = "is not a file"
    try:
        data = b"" if problem else read_inside(root, name)
    except (OSError, ValueError) as error:
        data, problem = b"", f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if len(data) > MAX_FILE_BYTES:
        problem = "is larger than 1 MiB"
    text = "" if problem else decode(data)
    if text is None:
        problem = "is binary, or not in a known encoding"
    if problem or text is None:
        raise UsageError(f"{path[:200]} {problem}.", details={"field": field})
    return name, data, text


def _differences(context: GatewayContext, name: str, data: bytes) -> tuple[str, ...]:
    """Return warnings if the index differs from the file, and index the file if it has changed."""
    document = index_path_of(context, name)
    known = context.forest.store.document(document)
    if known is None:
        return (NOT_INDEXED,)
    if known.digest == hashlib.sha256(data).hexdigest():
        return ()
    refresh_changed(context, [document])
    return (STALE,)


def index_path_of(context: GatewayContext, name: str) -> str:
    """Return the name in the index of a file whose path is relative to the project."""
    real, folder = context.root / name, context.forest.config.folder
    return real.relative_to(folder).as_posix() if real.is_relative_to(folder) else str(real)


def project_path_of(context: GatewayContext, document: str) -> str:
    """Return a document's path relative to the project, or its name if it is outside."""
    real = context.forest.config.folder / document
    return (
        real.relative_to(context.root).as_posix() if real.is_relative_to(context.root) else document
    )
