"""The symbol that each commit is about."""

from pathlib import Path

from code_intel.learned.proposals.changes import History, read_history
from code_intel.learned.proposals.current import CurrentCode, Place
from learned.proposals.histories import FEES, HEAVY, ISLANDS, commit, parcels, repository
from programs import git

FEE = Place("src/fees.py", "shipping_fee")


def ignore(_done: int, _total: int, _what: str) -> None:
    """Show no progress."""


def history_of(root: Path) -> History:
    return read_history(root, CurrentCode(root), lambda path: path.endswith(".py"), ignore)


def test_commit_is_about_the_function_that_it_changed(tmp_path: Path) -> None:
    found = history_of(parcels(tmp_path))
    assert [(each.place, each.title) for each in found.changes] == [
        (FEE, "Fix surcharge for parcels to islands"),
        (FEE, "Charge a surcharge for heavy parcels"),
    ]
    assert found.commits == 3
    assert [request.files for request in found.requests] == [{"src/fees.py"}] * 2


def test_removed_lines_belong_to_the_function_that_had_them(tmp_path: Path) -> None:
    repository(tmp_path)
    commit(tmp_path, "Initial commit", {"src/fees.py": HEAVY})
    commit(tmp_path, "Charge heavy parcels like all others", {"src/fees.py": FEES})
    assert [each.place for each in history_of(tmp_path).changes] == [FEE]


def test_class_is_meant_if_a_commit_changed_several_methods(tmp_path: Path) -> None:
    source = "class Parcel:\n" + "".join(
        f"    def {name}(self):\n        return 0\n\n" for name in ("a1", "b2", "c3", "d4", "e5")
    )
    repository(tmp_path)
    commit(tmp_path, "Initial commit", {"parcel.py": source})
    commit(
        tmp_path,
        "Weigh parcels in whole grams",
        {"parcel.py": source.replace("return 0", "return 1")},
    )
    assert [each.place for each in history_of(tmp_path).changes] == [Place("parcel.py", "Parcel")]


def test_renamed_file_is_followed(tmp_path: Path) -> None:
    parcels(tmp_path)
    commit(tmp_path, "Move the fees", {"src/fees.py": None, "src/parcel_fees.py": ISLANDS})
    places = {each.place for each in history_of(tmp_path).changes}
    assert places == {Place("src/parcel_fees.py", "shipping_fee")}


def test_renamed_function_is_followed_by_its_body(tmp_path: Path) -> None:
    parcels(tmp_path)
    renamed = ISLANDS.replace("def shipping_fee", "def parcel_fee")
    commit(tmp_path, "Rename the fee", {"src/fees.py": renamed})
    changes = history_of(tmp_path).changes
    assert changes[0].place == Place("src/fees.py", "parcel_fee")


def test_commits_about_deleted_symbols_are_dropped(tmp_path: Path) -> None:
    parcels(tmp_path)
    label = FEES[FEES.index("def label") :]
    commit(tmp_path, "Leave fees to the parcel service", {"src/fees.py": label})
    assert not history_of(tmp_path).changes


def test_mass_changes_and_unsupported_files_are_left_out(tmp_path: Path) -> None:
    parcels(tmp_path)
    many = {f"src/part{number}.py": FEES for number in range(8)}
    commit(tmp_path, "Charge a fee in every part", many)
    commit(tmp_path, "Describe the surcharge of heavy parcels", {"README.md": "# Fees\n"})
    assert len(history_of(tmp_path).changes) == 2


def test_merge_counts_as_what_it_merged(tmp_path: Path) -> None:
    repository(tmp_path)
    commit(tmp_path, "Initial commit", {"src/fees.py": FEES})
    git(tmp_path, "checkout", "-q", "-b", "heavy")
    commit(tmp_path, "wip", {"src/fees.py": HEAVY})
    git(tmp_path, "checkout", "-q", "main")
    message = "Merge pull request #1 from ann/heavy\n\nCharge a surcharge for heavy parcels"
    git(tmp_path, "merge", "-q", "--no-ff", "heavy", "-m", message)
    (change,) = history_of(tmp_path).changes
    assert (change.place, change.title) == (FEE, "Charge a surcharge for heavy parcels")


def test_names_that_git_quotes_are_read(tmp_path: Path) -> None:
    repository(tmp_path)
    commit(tmp_path, "Initial commit", {"src/送料 fees.py": FEES})
    commit(tmp_path, "Charge a surcharge for heavy parcels", {"src/送料 fees.py": HEAVY})
    (change,) = history_of(tmp_path).changes
    assert change.place.path == "src/送料 fees.py"


def test_folder_without_commits_has_no_history(tmp_path: Path) -> None:
    assert history_of(tmp_path) == History((), (), 0)
