"""Frames of an agreement: one list of slots, which can be combined and merged."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking.agreement import canonical, read, render
from code_intel.learned.files.frames import MAX_KEPT_FRAMES, SLOTS, frames_of, with_frames
from code_intel.records import Agreement

FIRST = (("target_feature", "login"), ("desired_action", "return an error"))
SECOND = (("target_feature", "login"), ("trigger_condition", "expired"), ("desired_action", "log"))
LOGIN = Agreement("login", "AuthService.login", ("It is.",), frame=FIRST)

frames = st.lists(
    st.lists(st.sampled_from(SLOTS), min_size=1, unique=True).map(
        lambda names: tuple((name, name) for name in SLOTS if name in {SLOTS[0], *names})
    ),
    max_size=6,
)


def test_repeated_slot_begins_the_next_frame() -> None:
    both = with_frames(FIRST, SECOND)
    assert frames_of(both) == (FIRST, SECOND)
    assert frames_of(read(render(replace(LOGIN, frame=both))).frame) == (FIRST, SECOND)


@given(frames, frames)
def test_combined_frames_end_with_the_new_ones(old: list, new: list) -> None:  # type: ignore[type-arg]
    joined = with_frames(sum(old, ()), sum(new, ()))
    assert with_frames(joined, sum(new, ())) == joined
    assert len(frames_of(joined)) <= MAX_KEPT_FRAMES


def test_oldest_frames_are_dropped() -> None:
    found: tuple[tuple[str, str], ...] = ()
    for number in range(MAX_KEPT_FRAMES + 3):
        found = with_frames(found, (("target_feature", str(number)),))
    assert len(frames_of(found)) == MAX_KEPT_FRAMES
    assert found[0] == ("target_feature", "3")


def test_frames_of_two_branches_are_merged() -> None:
    ours = render(canonical(replace(LOGIN, frame=with_frames(FIRST, SECOND)))).splitlines()
    at = ours.index("  - desired_action: return an error") + 1
    end = max(number for number, line in enumerate(ours) if line.startswith("  - ")) + 1
    theirs = ["  - target_feature: login", "  - desired_action: ask again"]
    conflict = ["<<<<<<< ours", *ours[at:end], "=======", *theirs, ">>>>>>> theirs"]
    merged = read("\n".join([*ours[:at], *conflict, *ours[end:]]))
    assert len(frames_of(merged.frame)) == 3
