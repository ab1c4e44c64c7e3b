"""Compare a whole request with the requests for which an agreement succeeded.

A term alone does not say what is to be done: "recovery middleware must answer 503" needs other code
than "recovery middleware must mask a header". An agreement therefore keeps the query frames of its
successful sessions, and the measure of this module compares all slots with them
(docs/decisions/0053).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from code_intel.embedding.engine import Embedder
from code_intel.learned.files.frames import QUERY, SLOTS, SlotPairs, frames_of
from code_intel.learned.recall import calibration
from code_intel.learned.recall.actions import actions, is_action
from code_intel.learned.recall.calibration import Calibration, Space
from code_intel.learned.recall.contrast import symbols_in
from code_intel.learned.recall.english import covered, ideas, stems
from code_intel.learned.recall.evidence import wide_share, wording
from code_intel.learned.recall.glossary import content_words
from code_intel.learned.recall.recall import fold, hard_limit
from code_intel.records import VERIFICATION_SCORE, Agreement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MAX_COMPARED = 3
"""Number of agreements, best first, whose requests are compared."""
MAX_REQUESTS = 5
"""Number of an agreement's requests, newest first, that are compared."""


BELOW_VERIFICATION = round(VERIFICATION_SCORE - 0.01, 2)
"""Upper limit if neither the target feature nor the rest says that it is the same: a miss."""
MIN_FEATURE_SCORE = 0.5
"""With a lower score of the target feature, the rest decides only if it `outweighs` the feature."""
MIN_OWN_WORDS = 4
"""Number of content words beside the feature that a request needs to outweigh it.

Short requests ("Add X", "Fix the Y") are alike whatever they are about.
"""
MIN_SHARED_IDEAS = 2
"""Number of ideas beside the feature that an earlier request must share to outweigh it."""


class Request(NamedTuple):
    """A request: the feature, and what else it says.

    Attributes:
        feature: The target feature.
        parts: The values of the other slots that have content words; or the user's request, if
            it has content words beside the feature.
        action: The desired action; empty if unknown.
    """

    feature: str
    parts: tuple[str, ...]
    action: str = ""

    @property
    def rest(self) -> str:
        """All that it says beside the feature."""
        return " ".join(self.parts)


def request_of(slots: Mapping[str, str], query: str = "") -> Request:
    """Return the request of a query frame.

    Args:
        slots: The values of the filled slots, by name.
        query: The user's request, which counts if no slot but the target feature is filled.
    """
    feature = slots.get("target_feature", "")
    parts = tuple(slots[name] for name in SLOTS[1:] if content_words(slots.get(name, "")))
    query = query or slots.get(QUERY, "")
    if not parts and content_words(_without(query, feature) if feature else query):
        parts = (query,)
    return Request(feature or query, parts, slots.get("desired_action", ""))


def says_more(request: Request, term: str) -> bool:
    """Return whether a request has content words beside a term."""
    whole = request.parts == (request.feature,)
    return bool(content_words(_without(request.feature, term))) if whole else bool(request.parts)


def pairs_to_keep(slots: Iterable[tuple[str, str]], query: str) -> SlotPairs:
    """Return the (slot, value) pairs of a request that an agreement keeps."""
    pairs = tuple((name, value) for name, value in slots if name in SLOTS and value)
    request = request_of(dict(pairs), query)
    return (*pairs, (QUERY, query)) if request.parts == (query,) else pairs


def requests_of(agreement: Agreement) -> tuple[Request, ...]:
    """Return the requests of an agreement that say more than a feature, newest first."""
    found = (request_of(dict(frame)) for frame in reversed(frames_of(agreement.frame)))
    return tuple(request for request in found if request.parts)[:MAX_REQUESTS]


def compared(
    request: Request,
    scored: Sequence[tuple[Agreement, float]],
    embedder: Embedder,
    constants: Calibration | None,
) -> list[float | None]:
    """Return how surely each agreement succeeded for this request, as a calibrated score.

    The result is None if the request or the agreement says nothing beside the feature, or if the
    engine has no constants for this comparison.

    Args:
        request: The session's request.
        scored: Agreements with the score of the target feature (`recall.recall`).
        embedder: The map's engine.
        constants: Its constants, if it is calibrated.

    Raises:
        EmbeddingError: There is no model.
    """
    known = [
        requests_of(agreement) if says_more(request, agreement.nl_term) else ()
        for agreement, _ in scored
    ]
    if constants is None or constants.request is None or not request.parts or not any(known):
        return [None] * len(scored)
    texts = dict.fromkeys(
        part for each in (request, *(item for items in known for item in items))
        for part in each.parts
    )  # fmt: skip
    vectors = _vectors(embedder, constants, tuple(texts))
    found: list[float | None] = []
    for (agreement, score), items in zip(scored, known, strict=True):
        rows = [evidence(request, item, score, vectors) for item in items]
        best = max(map(constants.request.score, rows), default=None)
        limit = upper_limit(request, agreement, score)
        found.append(None if best is None else min(best, limit))
    return found


def upper_limit(request: Request, agreement: Agreement, score: float) -> float:
    """Return the highest score that the target feature allows; `score` is that of the feature."""
    limit = hard_limit(request.feature, wording(agreement))
    if score >= MIN_FEATURE_SCORE or outweighs(request, requests_of(agreement)):
        return limit
    return min(limit, BELOW_VERIFICATION)


def outweighs(request: Request, earlier: Iterable[Request]) -> bool:
    """Return whether the rest of a request can say that it repeats one whose feature differs.

    Words of the feature and verbs such as "add" do not count.
    """
    words = content_words(request.rest) - content_words(request.feature)
    if sum(not is_action(word) for word in words) < MIN_OWN_WORDS:
        return False
    feature = stems(ideas(request.feature))
    own = {idea for idea in ideas(request.rest) if not idea & feature}
    own = {idea for idea in own if not any(map(is_action, idea))}
    known = [stems(ideas(each.rest)) for each in earlier]
    return any(sum(bool(idea & said) for idea in own) >= MIN_SHARED_IDEAS for said in known)


def evidence(
    request: Request, earlier: Request, score: float, vectors: Mapping[str, "Array"]
) -> tuple[float, ...]:
    """Return the evidence that a request repeats an earlier one, as `REQUEST_FEATURES`.

    score     log-odds of the score of the target feature
    align     mean cosine of each part with the closest part of the other request, both ways
    shared    mean share of the ideas of each request that the other one has, without the features
    action    1 if both desired actions name actions but none in common, else 0
    wide      share of Japanese script in the request: its cosines are higher
    aim       cosine of the desired actions, or align without them, in requests with little Japanese
              script: there it says more than align, in Japanese ones less
    """
    ours, theirs = ideas(request.rest), ideas(earlier.rest)
    does, did = actions(request.action), actions(earlier.action)
    align = _alignment(
        [vectors[part] for part in request.parts], [vectors[p] for p in earlier.parts]
    )
    wide = wide_share(f"{request.feature} {request.rest}")
    one, other = vectors.get(request.action), vectors.get(earlier.action)
    aim = align if one is None or other is None else float(one @ other)
    return (
        calibration.log_odds(score),
        align,
        (covered(ours, stems(theirs)) + covered(theirs, stems(ours))) / 2,
        float(bool(does and did) and not does & did),
        wide,
        aim * max(0.0, 1 - 2 * wide),
    )


def symbols_named(request: Request) -> frozenset[str]:
    """Return the symbols that a request names beside its feature, by their spelling."""
    marked = _IDENTIFIER.findall(request.rest)
    return symbols_in(request.rest) | frozenset(name for names in marked for name in names if name)


_IDENTIFIER = re.compile(
    r"`([A-Za-z_][\w.]*)(?:\(\))?`|(?<![\w.])([A-Za-z]\w*_\w+|[A-Z][a-z0-9]+(?:[A-Z]\w*)+)(?!\w)",
    re.ASCII,
)


def _without(query: str, feature: str) -> str:
    """Return a request without its feature."""
    return fold(query).replace(fold(feature), " ")


def _alignment(ours: "Sequence[Array]", theirs: "Sequence[Array]") -> float:
    import numpy as np

    cosines = np.stack(ours) @ np.stack(theirs).T
    return float(cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2


def _vectors(
    embedder: Embedder, constants: Calibration, texts: tuple[str, ...]
) -> Mapping[str, "Array"]:
    """Return the vectors of texts in the space of the constants; each text is embedded once."""
    known = _known_vectors(constants)
    if len(known) > _MAX_KNOWN_VECTORS:
        known.clear()
    new = [text for text in texts if text not in known]
    if new:
        rows = in_space(embedder, constants.space, new)
        known.update(zip(new, rows, strict=True))
    return {text: known[text] for text in texts}


def in_space(embedder: Embedder, space: Space, texts: Sequence[str]) -> "Array":
    """Return the vectors of texts, embedded as queries, in a space."""
    return space.queries(embedder.queries(texts))


_MAX_KNOWN_VECTORS = 4096


@lru_cache(maxsize=2)
def _known_vectors(constants: Calibration) -> dict[str, "Array"]:  # noqa: ARG001 - the key
    return {}
