"""The score of seed 002: a weighted sum of what a file has to do with a goal.

    textMatch x (keywords + 2 x phrases) + pathMatch x path + editingPath x editing
    + dependency x dependency + proximity x proximity + structural x structural

It is a pure function with golden numbers. How its weights enter the ranking, and why they are bounded
there, is decided in docs/decisions/0023.
"""

from typing import NamedTuple

from code_intel.forest.bundles.profiles import Profile
from code_intel.forest.bundles.tokens import Terms, fold

PHRASE_WEIGHT = 2.0
"""Keywords that a phrase counts for."""
PATH_PHRASE, PATH_SEGMENT, PATH_KEYWORD = 1.5, 1.0, 0.5
"""What a path is worth for the first phrase in it, else for a segment, else for a keyword."""


class FileTraits(NamedTuple):
    """What a file has to do with a goal, before any weight.

    Attributes:
        keywords: How many different keywords its text has.
        phrases: How many different phrases.
        path: One of the three numbers above, or 0.
        editing: 1 when it is being edited.
        dependency: How many edges join it to the files that matter.
        proximity: 1 when it lies beside one of them.
        structural: Cosine of its meaning to the goal's; 0 without vectors.
    """

    keywords: float = 0.0
    phrases: float = 0.0
    path: float = 0.0
    editing: float = 0.0
    dependency: float = 0.0
    proximity: float = 0.0
    structural: float = 0.0


class GoalMatch(NamedTuple):
    """Terms that were found, with a tag for each."""

    keywords: int
    phrases: int
    tags: tuple[str, ...]


def score(profile: Profile, found: FileTraits) -> float:
    """Return the score of a file; 0 when it has nothing to do with the goal."""
    return sum(terms(profile, found).values())


def terms(profile: Profile, found: FileTraits) -> dict[str, float]:
    """Return what each weight contributes, by its name in the seed's files."""
    return {
        "textMatch": profile.text_match * (found.keywords + PHRASE_WEIGHT * found.phrases),
        "pathMatch": profile.path_match * found.path,
        "editingPath": profile.editing_path * found.editing,
        "dependency": profile.dependency * found.dependency,
        "proximity": profile.proximity * found.proximity,
        "structural": profile.structural * found.structural,
    }


def text_match(text: str, wanted: Terms) -> GoalMatch:
    """Count the terms that a text has; `text` as `tokens.fold` gives it."""
    phrases = [phrase for phrase in wanted.phrases if phrase in text]
    keywords = [keyword for keyword in wanted.keywords if keyword in text]
    tags = (*(f"phrase:{p}" for p in phrases), *(f"text:{k}" for k in keywords))
    return GoalMatch(len(keywords), len(phrases), tags)


def path_match(path: str, wanted: Terms) -> tuple[float, str]:
    """Return what a path is worth, and the tag of the first match; (0, "") without one."""
    folded = fold(path)
    *folders, name = folded.split("/")
    components = {*folders, name, name.partition(".")[0]}
    rules = (
        (PATH_PHRASE, "path-phrase", (p for p in wanted.phrases if p in folded)),
        (PATH_SEGMENT, "path-segment", (s for s in wanted.segments if s in components)),
        (PATH_KEYWORD, "path-keyword", (k for k in wanted.keywords if k in folded)),
    )
    for worth, tag, matches in rules:
        if (match := next(matches, None)) is not None:
            return worth, f"{tag}:{match}"
    return 0.0, ""
