"""Make labelled questions from the agreements of a project: each alias means its agreement."""

from collections.abc import Iterable

from code_intel.learned.fit.labels import Labels
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.learned.status.validity import SERVED, lookup_name
from code_intel.records import Agreement

KIND = "alias"
"""Kind of the questions of a project."""


def labels_of(standings: Iterable[AgreementStatus]) -> Labels:
    """Return the confirmed agreements of a project and the questions that they answer.

    Agreements of one symbol count as one: the terms of the later ones are questions. So are all
    aliases. A question that means several agreements is left out, and so are further agreements of
    one term.
    """
    by_symbol: dict[str, Agreement] = {}
    phrases: dict[str, list[str]] = {}
    for standing in standings:
        agreement = standing.entry.agreement
        if agreement is None or not standing.confirmed or standing.validity not in SERVED:
            continue
        symbol = lookup_name(agreement.symbol)
        first = by_symbol.setdefault(symbol, agreement)
        terms = [] if first is agreement else [agreement.nl_term]
        phrases.setdefault(symbol, []).extend([*terms, *agreement.aliases])
    return _labels(list(by_symbol.values()), list(phrases.values()))


def _labels(agreements: list[Agreement], phrases: list[list[str]]) -> Labels:
    meant: dict[str, set[int]] = {}
    for at, (agreement, texts) in enumerate(zip(agreements, phrases, strict=True)):
        for text in (agreement.nl_term, *texts):
            meant.setdefault(fold(text), set()).add(at)
    first_of_term: dict[str, int] = {}
    for at, agreement in enumerate(agreements):
        first_of_term.setdefault(fold(agreement.nl_term), at)
    used = sorted(first_of_term.values())
    place = {at: number for number, at in enumerate(used)}
    questions = [
        (text, place[at])
        for at in used
        for text in dict.fromkeys(phrases[at])
        if meant[fold(text)] == {at} and fold(text) != fold(agreements[at].nl_term)
    ]
    entries = [entry for _, entry in questions]
    plain = [
        Agreement(each.nl_term, each.symbol, each.evidence)
        for each in (agreements[at] for at in used)
    ]
    return Labels(
        agreements=plain,
        queries=[text for text, _ in questions],
        kinds=[KIND] * len(questions),
        expected=entries,
        near=entries,
        disputed=[False] * len(questions),
        elsewhere=[False] * len(questions),
        names=[f"project/{number}" for number in range(len(plain))],
        twins=[frozenset()] * len(plain),
    )
