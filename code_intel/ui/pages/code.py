"""Show a file of the project as it is now, with some of its lines marked."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.errors import UsageError
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.source_file import read_source
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render

LINES_AROUND = 40
"""Lines shown before and after the marked ones."""


@dataclass(frozen=True)
class Line:
    """A line of a file; `marked` if it is one of those that a page speaks of."""

    number: int
    text: str
    marked: bool = False


@dataclass(frozen=True)
class Excerpt:
    """Lines of a file.

    Attributes:
        file: The path, relative to the project.
        lines: The lines shown.
        total: How many lines the file has.
        start: The first marked line; 0 if none is.
        end: The last marked line.
    """

    file: str
    lines: tuple[Line, ...]
    total: int
    start: int = 0
    end: int = 0


def excerpt(
    context: GatewayContext, file: str, start: int = 0, end: int = 0, around: int = LINES_AROUND
) -> Excerpt:
    """Return lines of a file as it is now; all of them if none is to be marked.

    Raises:
        UsageError: The file is outside the project, missing, binary, of git, or may contain
            secrets.
    """
    if ".git" in PurePosixPath(file).parts:
        raise UsageError("Files of git are not shown.", details={"field": "file"})
    source = read_source(context, file)
    end = max(start, end)
    first = max(0, start - 1 - around) if start else 0
    last = end + around if start else len(source.lines)
    lines = tuple(
        Line(number, text, start <= number <= end)
        for number, text in enumerate(source.lines[first:last], first + 1)
    )
    return Excerpt(source.path, lines, len(source.lines), start, end)


def number_of(request: Request, name: str) -> int:
    """Return a number of the query; 0 if it is not given.

    Raises:
        UsageError: It is not a whole number.
    """
    text = request.query_params.get(name, "") or "0"
    if not text.isdecimal() or len(text) > 9:  # noqa: PLR2004 - more than any file has
        raise UsageError(f"{name} is not a whole number.", details={"field": name})
    return int(text)


async def show(request: Request) -> Response:
    """Show a file, or lines of it."""
    start, end = number_of(request, "start"), number_of(request, "end")
    context = project_of(request).context
    file = request.query_params.get("file", "")
    is_whole = "all" in request.query_params
    found = await run_in_thread(
        excerpt, context, file, start, end, 10**9 if is_whole else LINES_AROUND
    )
    return render(request, "code.html", {"excerpt": found})


ROUTES = (Route("/code", show),)
