"""Proposals from the history, documents, tests and owners."""

from collections.abc import Collection
from pathlib import Path

import pytest

from code_intel.embedding.onnx_engine import OnnxE5
from code_intel.learned.files.agreements import Key
from code_intel.learned.proposals.composing import Proposal
from code_intel.learned.proposals.current import Place
from code_intel.learned.proposals.past_requests import Rights, is_right
from code_intel.learned.proposals.proposing import Proposed, propose
from code_intel.learned.recall import calibration
from learned.proposals.histories import FEES, commit, parcels, repository


def ignore(_done: int, _total: int, _what: str) -> None:
    """Show no progress."""


def is_source(path: str) -> bool:
    return path.startswith("src/") and path.endswith(".py")


def proposed(root: Path, known: Collection[Key] = ()) -> Proposed:
    """Return what is proposed without a model."""
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    paths = sorted(path.relative_to(root).as_posix() for path in files)
    return propose(root, paths, is_source, None, None, known, ignore)


def only(found: Proposed, symbol: str) -> Proposal:
    (proposal,) = (each for each in found.proposals if each.place.symbol == symbol)
    return proposal


def test_commits_of_a_symbol_are_one_proposal_with_evidence(tmp_path: Path) -> None:
    found = proposed(parcels(tmp_path))
    proposal = only(found, "shipping_fee")
    assert proposal.agreement.nl_term == "surcharge for parcels to islands"
    assert proposal.agreement.evidence == (
        "`def shipping_fee(weight: int) -> int`",
        "Return what the parcel service charges for a weight.",
        "Charge a surcharge for heavy parcels",
    )
    assert proposal.agreement.files[0].path == "src/fees.py"
    assert len(proposal.commits) == 2
    assert not proposal.agreement.confirmed
    assert found.unchecked


def test_known_pairs_are_not_proposed(tmp_path: Path) -> None:
    root = parcels(tmp_path)
    known = {only(proposed(root), "shipping_fee").key}
    assert "shipping_fee" not in {each.place.symbol for each in proposed(root, known).proposals}


def test_owner_comes_from_the_last_rule_of_codeowners(tmp_path: Path) -> None:
    root = parcels(tmp_path)
    commit(root, "wip", {".github/CODEOWNERS": "* @all\n/src/ @fees @ann # both\n"})
    assert dict(only(proposed(root), "shipping_fee").agreement.extra) == {"owner": "@fees @ann"}


@pytest.mark.parametrize(
    ("file", "text", "term"),
    [
        ("docs/use.md", "# Use\n\n## Printing parcel labels\n\nCall `label()`.\n",
         "Printing parcel labels"),
        ("docs/adr/0003-labels.md", "# 3. Labels in capital letters\n\nSo `label` folds.\n",
         "Labels in capital letters"),
        ("tests/test_label.py",
         'def test_label_is_upper():\n    """Postal labels are upper case."""\n    label("a")\n',
         "Postal labels are upper case."),
    ],
)  # fmt: skip
def test_text_that_names_one_symbol_is_a_proposal(
    tmp_path: Path, file: str, text: str, term: str
) -> None:
    repository(tmp_path)
    commit(tmp_path, "Initial commit", {"src/fees.py": FEES, file: text})
    proposal = only(proposed(tmp_path), "label")
    assert proposal.agreement.nl_term == term
    assert proposal.sources[0].startswith(f"{file}:")


def test_text_that_names_two_symbols_is_none(tmp_path: Path) -> None:
    repository(tmp_path)
    page = "# Fees and labels of parcels\n\n`shipping_fee` and `label`.\n"
    commit(tmp_path, "Initial commit", {"src/fees.py": FEES, "docs/use.md": page})
    terms = {each.agreement.nl_term for each in proposed(tmp_path).proposals}
    assert "Fees and labels of parcels" not in terms


def test_documented_symbol_is_a_proposal(tmp_path: Path) -> None:
    repository(tmp_path)
    commit(tmp_path, "Initial commit", {"src/fees.py": FEES})
    assert only(proposed(tmp_path), "label").agreement.nl_term == "Return the label of a parcel"


def test_share_of_right_answers_counts_the_own_ones_most() -> None:
    from collections import Counter

    from code_intel.records import Agreement, FileReference

    def about(term: str) -> Proposal:
        agreement = Agreement(term, "fee", files=(FileReference("a.py"),))
        return Proposal(Place("a.py", "fee"), agreement)

    good, bad, new = about("good"), about("bad"), about("new")
    right, wrong = Counter[object](), Counter[object]()
    right.update(dict.fromkeys((None, "a.py", good.place, good.key), 6))
    wrong.update(dict.fromkeys((None, "a.py", bad.place, bad.key), 6))
    rights = Rights(right, wrong)
    assert rights.share(good) > rights.share(new) == 0.5 > rights.share(bad)
    assert is_right(good, frozenset({"a.py"}))
    assert not is_right(good, frozenset({"b.py"}))


def test_proposals_that_earlier_requests_speak_against_are_left_out(tmp_path: Path) -> None:
    root = repository(tmp_path)
    commit(root, "Initial commit", {"src/fees.py": FEES, "src/tax.py": "RATE = 1\n"})
    commit(root, "Charge a surcharge for heavy parcels", {"src/fees.py": FEES + "\nHEAVY = 30\n"})
    heavy = FEES.replace("fee = 500", "fee = 500 + weight // 30 * 200")
    commit(root, "Raise the surcharge for heavy parcels", {"src/fees.py": heavy})
    for number in range(12):
        text = f"RATE = {number + 2}\n"
        commit(root, f"Raise the surcharge for heavy parcels, step {number}", {"src/tax.py": text})
    engine = OnnxE5()
    constants = calibration.load(engine.identity)
    paths = ["src/fees.py", "src/tax.py"]
    found = propose(root, paths, is_source, engine, constants, (), ignore)
    assert not found.unchecked
    assert found.left_out
    assert not any(each.place.symbol == "shipping_fee" for each in found.proposals)
