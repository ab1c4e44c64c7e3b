"""A file of the project, opened for a tool that shows what is in it now."""

import hashlib
from typing import NamedTuple

from code_intel.chunking import decode, parse_file
from code_intel.errors import UsageError
from code_intel.forest.text.grep import confined
from code_intel.index.corpus import LARGEST, SECRET, refusal
from code_intel.index.reading import read_inside
from code_intel.records import Symbol
from code_intel.session.paths import plain_path
from code_intel.tools.context.freshness import freshen
from code_intel.tools.context.gateway import GatewayContext

STALE = "The file had changed since it was indexed: line numbers from before may have moved."
UNKNOWN = "The file is not in the index: searches do not find it."


class Opened(NamedTuple):
    """A file as it is on disk.

    Attributes:
        path: Relative to the project.
        text: Decoded, secret values masked.
        symbols: What it defines.
        language: As chunking names it.
        imports: Targets; see `chunking.imports`.
        problem: Why a parser gave up, or empty.
        warnings: How it differs from what the index knows.
    """

    path: str
    text: str
    symbols: tuple[Symbol, ...]
    language: str
    imports: tuple[str, ...]
    problem: str
    warnings: tuple[str, ...]


def open_source(
    context: GatewayContext, path: str, field: str = "path", language_path: str = ""
) -> Opened:
    """Read and parse a file of the project, through no link; `a.py:34` is `a.py`; blocks.

    Args:
        context: Of the project.
        path: As a caller names it.
        field: What the caller's parameter is called.
        language_path: A name whose ending says the language, where the file's own does not.

    Raises:
        UsageError: It is outside the project, missing, a folder, larger than what is indexed, binary,
            or it may hold secrets; names `field`.
    """
    try:
        name = confined(context.root, path, field)
    except UsageError:
        name = confined(context.root, plain_path(path), field)
    why = f"{SECRET} and is never shown" if refusal(name) == SECRET else ""
    if not why and not (context.root / name).is_file():
        why = "is no file"
    try:
        data = b"" if why else read_inside(context.root, name)
    except (OSError, ValueError) as error:
        data, why = b"", f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if len(data) > LARGEST:
        why = "is larger than 1 MiB"
    text = "" if why else decode(data)
    if text is None:
        why = "is binary, or not in a known encoding"
    if why or text is None:
        raise UsageError(f"{path[:200]} {why}.", details={"field": field})
    parsed = parse_file(language_path or name, text)
    return Opened(
        name,
        text,
        parsed.symbols,
        parsed.language,
        parsed.imports,
        parsed.problem,
        _differences(context, name, data),
    )


def _differences(context: GatewayContext, name: str, data: bytes) -> tuple[str, ...]:
    """Say how the index differs from the file, and bring it up to date."""
    document = called_by_index(context, name)
    known = context.forest.store.document(document)
    if known is None:
        return (UNKNOWN,)
    if known.digest == hashlib.sha256(data).hexdigest():
        return ()
    freshen(context, [document])
    return (STALE,)


def called_by_index(context: GatewayContext, name: str) -> str:
    """Return how the index calls a file that is named relative to the project."""
    real, folder = context.root / name, context.forest.config.folder
    return real.relative_to(folder).as_posix() if real.is_relative_to(folder) else str(real)


def called_by_project(context: GatewayContext, document: str) -> str:
    """Return a document's name relative to the project; as it is where it lies outside."""
    real = context.forest.config.folder / document
    return (
        real.relative_to(context.root).as_posix() if real.is_relative_to(context.root) else document
    )
