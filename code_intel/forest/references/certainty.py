"""Say how certain it is that lines refer to a symbol (docs/decisions/0078)."""

from collections.abc import Iterable, Sequence

from code_intel.forest.references.by_scope import ScopeJudge
from code_intel.forest.references.judgement import NAME_ONLY, Judgement
from code_intel.forest.references.nearby import NearbyJudge
from code_intel.forest.references.project import ProjectNames
from code_intel.forest.references.scip import ScipJudge
from code_intel.forest.references.table import is_resolved
from code_intel.records import Definition

MAX_FILES = 150
"""Maximum files with the name to parse; lines of further ones are not judged."""

Line = tuple[str, int]
"""A file and the number of one of its lines."""


def judge(
    project: ProjectNames,
    asked: Sequence[Definition],
    namesakes: Iterable[Definition],
    lines: Iterable[Line],
) -> dict[Line, Judgement]:
    """Return what is known of each line with the name of a symbol.

    A line with several occurrences has the most certain one. Files without a grammar, and those
    after the first `MAX_FILES`, are not parsed: their lines are `text`.

    Args:
        project: Parses the files.
        asked: The definitions that are meant; they have the same name.
        namesakes: All definitions of the name.
        lines: The lines, those of the most important files first.
    """
    by_file: dict[str, list[int]] = {}
    for file, line in lines:
        by_file.setdefault(file, []).append(line)
    named = tuple(namesakes)
    scopes, nearby = ScopeJudge(project, asked, named), NearbyJudge(project, asked, named)
    by_compiler = ScipJudge(project.scip, asked) if project.scip else None
    found: dict[Line, Judgement] = {}
    for number, (file, wanted) in enumerate(by_file.items()):
        by_name = scopes if is_resolved(file) else nearby
        known = by_compiler.lines_of(file, project.read(file)) if by_compiler else None
        if known is None:
            known = by_name.lines_of(file) if asked and number < MAX_FILES else {}
        found |= {(file, line): known.get(line, NAME_ONLY) for line in wanted}
    return found
