"""Compute the weighted sum that seed 002 defines as the score of a file.

    textMatch x (keywords + 2 x phrases) + pathMatch x path + editingPath x editing
    + dependency x dependency + proximity x proximity + structural x structural

docs/decisions/0023 explains how the ranking uses its weights, and why it limits their effect.
"""

from typing import NamedTuple

from code_intel.forest.bundles.profiles import Profile
from code_intel.forest.bundles.tokens import Terms, fold

PHRASE_WEIGHT = 2.0
"""Weight of a phrase; a keyword has 1."""
PATH_PHRASE, PATH_SEGMENT, PATH_KEYWORD = 1.5, 1.0, 0.5
"""Values of a path that contains a phrase, else a segment, else a keyword."""


class FileTraits(NamedTuple):
    """The unweighted inputs of the formula for one file.

    Attributes:
        keywords: Number of different keywords in its text.
        phrases: Number of different phrases.
        path: One of the three path values, or 0.
        editing: 1 if it is being edited.
        dependency: Number of import edges to the edited or named files.
        proximity: 1 if it is in a folder of one of them.
        structural: Cosine with the goal; 0 without vectors.
    """

    keywords: float = 0.0
    phrases: float = 0.0
    path: float = 0.0
    editing: float = 0.0
    dependency: float = 0.0
    proximity: float = 0.0
    structural: float = 0.0


class GoalMatch(NamedTuple):
    """The numbers of keywords and phrases found, with a tag for each."""

    keywords: int
    phrases: int
    tags: tuple[str, ...]


def score(profile: Profile, found: FileTraits) -> float:
    """Return the score of a file."""
    return sum(terms(profile, found).values())


def terms(profile: Profile, found: FileTraits) -> dict[str, float]:
    """Return the contribution of each weight, by its name in profile files."""
    return {
        "textMatch": profile.text_match * (found.keywords + PHRASE_WEIGHT * found.phrases),
        "pathMatch": profile.path_match * found.path,
        "editingPath": profile.editing_path * found.editing,
        "dependency": profile.dependency * found.dependency,
        "proximity": profile.proximity * found.proximity,
        "structural": profile.structural * found.structural,
    }


def text_match(text: str, wanted: Terms) -> GoalMatch:
    """Count the terms that a text contains; the text must be folded by `tokens.fold`."""
    phrases = [phrase for phrase in wanted.phrases if phrase in text]
    keywords = [keyword for keyword in wanted.keywords if keyword in text]
    tags = (*(f"phrase:{p}" for p in phrases), *(f"text:{k}" for k in keywords))
    return GoalMatch(len(keywords), len(phrases), tags)


def path_match(path: str, wanted: Terms) -> tuple[float, str]:
    """Return the value of a path and the tag of the first match; (0, "") without a match."""
    folded = fold(path)
    *folders, name = folded.split("/")
    components = {*folders, name, name.partition(".")[0]}
    rules = (
        (PATH_PHRASE, "path-phrase", (p for p in wanted.phrases if p in folded)),
        (PATH_SEGMENT, "path-segment", (s for s in wanted.segments if s in components)),
        (PATH_KEYWORD, "path-keyword", (k for k in wanted.keywords if k in folded)),
    )
    for value, tag, matches in rules:
        if (match := next(matches, None)) is not None:
            return value, f"{tag}:{match}"
    return 0.0, ""
