"""A change of the map is shown before it is made, and can be undone."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from client_hooks import client_context
from code_intel.errors import ConflictError, NotFoundError
from code_intel.learned.files import trash
from code_intel.learned.history.drafts import OutcomeDraft, read_draft, write_draft
from code_intel.learned.proposals.review_file import ReviewItem, read_review, write_review
from code_intel.learned.recording import recorded
from code_intel.operations.map.confirm import confirm_agreement, confirm_note_named
from code_intel.operations.map.current import find_standing
from code_intel.operations.map.delete import delete_agreement, delete_note_named
from code_intel.operations.map.edit import edit_agreement, file_of
from code_intel.operations.map.preview import Operation, apply, preview, undo
from code_intel.operations.map.proposals import confirm_proposal, edited, refuse_proposal
from code_intel.operations.map.reject import reject_agreement
from code_intel.operations.map.rename import rename_agreement
from code_intel.operations.map.trash import restore_trashed
from code_intel.records import Agreement, FileReference
from code_intel.tools.context.gateway import GatewayContext
from contract.manifest import faults_of_error
from operations.words import (
    SYMBOL,
    TERM,
    TITLE,
    agreement_file,
    files_of,
    named,
    state_of,
)

pytestmark = pytest.mark.anyio
Changed = Callable[[GatewayContext], Operation]
PROPOSED = ReviewItem(
    1,
    Agreement("籠", "ShoppingCart", ("It holds items.",), (FileReference("src/cart/cart.py", 1),)),
    0.9,
    (1, 2),
)


def edited_text(context: GatewayContext) -> Operation:
    file = file_of(context, agreement_file(context).name)
    text = file.text.replace("It returns the fee.", "It returns the whole fee.")
    return partial(edit_agreement, context, file.path.name, text, file.digest)


def retyped_term(context: GatewayContext) -> Operation:
    file = file_of(context, agreement_file(context).name)
    text = file.text.replace(f'nl_term: "{TERM}"', 'nl_term: "運賃"')
    assert text != file.text
    return partial(edit_agreement, context, file.path.name, text, file.digest)


CHANGES: dict[str, Changed] = {
    "confirm": lambda context: partial(confirm_agreement, context, TERM, SYMBOL),
    "confirm a note": lambda context: partial(confirm_note_named, context, TITLE),
    "reject": lambda context: partial(reject_agreement, context, TERM, SYMBOL),
    "reject a query": lambda context: partial(
        reject_agreement, context, TERM, SYMBOL, query="倉庫の料金"
    ),
    "rename the term": lambda context: partial(
        rename_agreement, context, TERM, SYMBOL, new_term="運賃"
    ),
    "rename the symbol": lambda context: partial(
        rename_agreement, context, TERM, SYMBOL, to="ShoppingCart"
    ),
    "delete": lambda context: partial(delete_agreement, context, TERM, SYMBOL),
    "delete a note": lambda context: partial(delete_note_named, context, TITLE),
    "edit": edited_text,
    "edit the term": retyped_term,
}


@pytest.fixture(params=list(CHANGES))
def change(request: pytest.FixtureRequest, context: GatewayContext) -> Operation:
    return CHANGES[request.param](context)


async def test_preview_writes_nothing_and_shows_what_apply_then_writes(
    context: GatewayContext, change: Operation
) -> None:
    before, state = files_of(context), state_of(context.settings)
    shown = await preview(context, change)
    assert files_of(context) == before
    assert state_of(context.settings) == state
    assert shown.answer.data["dry_run"]

    done = await apply(context, change, shown.token)
    assert not done.answer.data["dry_run"]
    on_disk = files_of(context)
    root = context.settings.root
    for each in shown.files:
        name = (root / each.path).relative_to(context.settings.state).as_posix()
        old = before.get(name)
        assert each.before == (None if old is None else old.decode())
        if not each.is_trash:
            new = on_disk.get(name)
            assert each.after == (None if new is None else new.decode())
    assert named(done) == [Path(each.path).name for each in shown.files if not each.is_trash]
    changed = {name for name in before | on_disk if before.get(name) != on_disk.get(name)}
    assert len(changed) == len(done.files)


async def test_undo_puts_files_and_state_back(context: GatewayContext, change: Operation) -> None:
    before, state = files_of(context), state_of(context.settings)
    done = await apply(context, change, (await preview(context, change)).token)
    assert (files_of(context), state_of(context.settings)) != (before, state)
    await undo(context, done)
    assert files_of(context) == before
    assert state_of(context.settings) == state
    pairs = json.loads((context.settings.state / "learned_pairs.json").read_text("utf-8"))
    assert [pair["nl_term"] for pair in pairs["pairs"]] == [TERM]


async def test_rejection_changes_no_file_and_its_preview_says_so(context: GatewayContext) -> None:
    shown = await preview(context, CHANGES["reject"](context))
    assert shown.files == ()
    assert "Agents must verify it before use." in shown.answer.text


async def test_undone_rejection_keeps_an_earlier_one_and_its_order(
    context: GatewayContext,
) -> None:
    reject, confirm = CHANGES["reject"](context), CHANGES["confirm"](context)
    await reject(dry=False)
    await confirm(dry=False)
    events = state_of(context.settings)[2]
    done = await apply(context, reject, (await preview(context, reject)).token)
    found = await find_standing(context, TERM, SYMBOL)
    assert found
    assert found.listed_status == "rejected"
    await undo(context, done)
    assert state_of(context.settings)[2] == events


async def test_restored_file_leaves_the_trash_and_returns_to_it(context: GatewayContext) -> None:
    await delete_agreement(context, TERM, SYMBOL)
    (entry,) = trash.contents(context.settings)
    restore = partial(restore_trashed, context, entry.name)
    before = files_of(context)
    shown = await preview(context, restore)
    assert files_of(context) == before
    assert [(each.is_trash, each.before is None) for each in shown.files] == [
        (False, True),
        (True, False),
    ]
    done = await apply(context, restore, shown.token)
    assert trash.contents(context.settings) == []
    await undo(context, done)
    assert files_of(context) == before


async def test_deletion_can_be_undone_after_the_trash_was_emptied(context: GatewayContext) -> None:
    before = files_of(context)
    delete = CHANGES["delete"](context)
    done = await apply(context, delete, (await preview(context, delete)).token)
    trash.discard(context.settings, trash.contents(context.settings))
    await undo(context, done)
    assert files_of(context) == before


async def test_nothing_is_written_if_a_file_has_changed_since_it_was_shown(
    context: GatewayContext,
) -> None:
    for name in ("confirm", "rename the term", "delete"):
        change = CHANGES[name](context)
        shown = await preview(context, change)
        file = agreement_file(context)
        file.write_text(file.read_text("utf-8") + f"\n## Mine\n\n{name}\n", encoding="utf-8")
        before, state = files_of(context), state_of(context.settings)
        with pytest.raises(ConflictError) as caught:
            await apply(context, change, shown.token)
        assert caught.value.error == "conflict"
        assert files_of(context) == before
        assert state_of(context.settings) == state


async def test_files_are_compared_once_more_under_the_lock(context: GatewayContext) -> None:
    """A change by another process after the comparison of `apply` is found by the writer."""
    file = agreement_file(context)
    before, state = files_of(context), state_of(context.settings)
    with recorded({file: "0" * 64}), pytest.raises(ConflictError, match="Nothing was written"):
        await confirm_agreement(context, TERM, SYMBOL)
    assert files_of(context) == before
    assert state_of(context.settings) == state


@pytest.mark.covers("error.conflict", "error.conflict.files")
async def test_undo_is_refused_if_a_file_has_changed_since(context: GatewayContext) -> None:
    change = CHANGES["confirm"](context)
    done = await apply(context, change, (await preview(context, change)).token)
    file = agreement_file(context)
    file.write_text(file.read_text("utf-8") + "\n## Mine\n\nx\n", encoding="utf-8")
    before, state = files_of(context), state_of(context.settings)
    with pytest.raises(ConflictError) as caught:
        await undo(context, done)
    error = caught.value.as_dict()
    assert (error["files"], faults_of_error(error)) == ([file.name], [])
    assert file.name in error["message"]
    assert files_of(context) == before
    assert state_of(context.settings) == state


async def test_file_with_the_same_term_in_a_second_file_is_shown_with_both(
    context: GatewayContext,
) -> None:
    """A git merge can leave two files of one agreement; a rename merges them."""
    file = agreement_file(context)
    twin = file.with_name("twin.md")
    twin.write_text(file.read_text("utf-8").replace("the fee", "the price"), encoding="utf-8")
    rename = CHANGES["rename the term"](context)
    shown = await preview(context, rename)
    assert {Path(each.path).name for each in shown.files if each.after is None} == {
        file.name,
        twin.name,
    } - {Path(each.path).name for each in shown.files if each.after is not None}
    before = files_of(context)
    done = await apply(context, rename, shown.token)
    assert not twin.exists()
    await undo(context, done)
    assert files_of(context) == before


async def test_proposal_is_accepted_and_confirmed_in_one_change(context: GatewayContext) -> None:
    write_review(context.settings, [PROPOSED])
    before, state = files_of(context), state_of(context.settings)
    accept = partial(confirm_proposal, context, edited(PROPOSED, "買い物籠", ""))
    shown = await preview(context, accept)
    (new,) = shown.files
    assert new.before is None
    assert "confirmed: true" in str(new.after)
    assert (files_of(context), read_review(context.settings).items) == (before, (PROPOSED,))

    done = await apply(context, accept, shown.token)
    found = await find_standing(context, "買い物籠", "ShoppingCart")
    assert found
    assert found.confirmed
    assert read_review(context.settings).items == ()
    await undo(context, done)
    assert (files_of(context), state_of(context.settings)) == (before, state)
    assert read_review(context.settings).items == (PROPOSED,)


async def test_refused_proposal_is_open_again_after_undo(context: GatewayContext) -> None:
    write_review(context.settings, [PROPOSED])
    refuse = partial(refuse_proposal, context, 1)
    shown = await preview(context, refuse)
    assert (shown.files, read_review(context.settings).items) == ((), (PROPOSED,))
    done = await apply(context, refuse, shown.token)
    assert read_review(context.settings).refused == {PROPOSED.key}
    await undo(context, done)
    found = read_review(context.settings)
    assert (found.items, found.refused) == ((PROPOSED,), frozenset())


async def test_agreement_of_a_draft_is_shown_and_returns_to_the_draft(
    context: GatewayContext,
) -> None:
    drafted = Agreement("籠", "ShoppingCart", ("It holds items.",), learned_at="2026-11-01T00:00Z")
    draft = OutcomeDraft("session_x", "session_x_h", "2026-11-27T00:00:00+00:00", ("a.py",))
    write_draft(context.settings, draft._replace(agreements=(drafted,)))
    before = files_of(context)
    confirm = partial(confirm_agreement, context, "籠", "ShoppingCart")
    shown = await preview(context, confirm)
    (new,) = shown.files
    assert "confirmed: true" in str(new.after)
    done = await apply(context, confirm, shown.token)
    assert read_draft(context.settings, "session_x") is None
    await undo(context, done)
    assert files_of(context) == before
    put_back = read_draft(context.settings, "session_x")
    assert put_back
    assert [each.symbol for each in put_back.agreements] == ["ShoppingCart"]


async def test_change_that_is_not_possible_fails_before_it_is_shown(
    context: GatewayContext,
) -> None:
    for change in (
        partial(confirm_agreement, context, "無い", "vanished"),
        partial(delete_agreement, context, "無い", "vanished"),
        partial(rename_agreement, context, TERM, SYMBOL, to="vanished"),
        partial(restore_trashed, context, "none.md"),
    ):
        with pytest.raises(NotFoundError):
            await preview(context, change)


async def test_two_windows_cannot_both_apply_what_they_saw(context: GatewayContext) -> None:
    with client_context(context.settings.root) as other:
        here, there = CHANGES["delete"](context), CHANGES["confirm"](other)
        first, second = await preview(context, here), await preview(other, there)
        await apply(other, there, second.token)
        with pytest.raises(ConflictError):
            await apply(context, here, first.token)
        assert agreement_file(context).exists()
