"""A person replaces the text of an agreement or a note, or resolves a merge conflict."""

import pytest

from code_intel.errors import ConflictError, NotFoundError, UsageError
from code_intel.learned.learn import learn
from code_intel.operations.map.confirm import confirm_agreement
from code_intel.operations.map.current import find_standing
from code_intel.operations.map.edit import conflict_of, edit_agreement, file_of
from code_intel.operations.map.reject import reject
from code_intel.records import Agreement
from code_intel.tools.context.gateway import GatewayContext
from operations.words import SYMBOL, TERM, TITLE, agreement_file, files_of
from planted import planted

pytestmark = pytest.mark.anyio


def note_file(context: GatewayContext) -> str:
    (file,) = context.settings.agreements.glob("convention_*.md")
    return file.name


async def test_edited_agreement_must_be_confirmed_again(context: GatewayContext) -> None:
    await confirm_agreement(context, TERM, SYMBOL)
    file = file_of(context, agreement_file(context).name)
    text = file.text.replace("It returns the fee.", "It returns the whole fee.")
    done = await edit_agreement(context, file.path.name, text, file.digest)
    assert done.data["pair"] == {"nl_term": TERM, "symbol": SYMBOL}
    assert agreement_file(context).read_text("utf-8") == text
    found = await find_standing(context, TERM, SYMBOL)
    assert found
    assert not found.confirmed


async def test_history_follows_an_edited_term(context: GatewayContext) -> None:
    reject(context.settings, TERM, SYMBOL)
    file = file_of(context, agreement_file(context).name)
    text = file.text.replace(f'nl_term: "{TERM}"', 'nl_term: "運賃"')
    await edit_agreement(context, file.path.name, text, file.digest)
    found = await find_standing(context, "運賃", SYMBOL)
    assert found
    assert found.listed_status == "rejected"


async def test_edit_of_a_file_that_has_changed_is_a_conflict(context: GatewayContext) -> None:
    file = file_of(context, agreement_file(context).name)
    other = file.text.replace("the fee", "the price")
    file.path.write_text(other, encoding="utf-8")
    with pytest.raises(ConflictError) as caught:
        await edit_agreement(context, file.path.name, file.text, file.digest)
    assert file.path.name in caught.value.message
    assert file.path.read_text("utf-8") == other


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (f'symbol: "{SYMBOL}"', 'symbol: ""', "symbol"),
        (f'nl_term: "{TERM}"', "nl_term: [1]", "nl_term"),
        (f'nl_term: "{TERM}"\n', "", "nl_term"),
        ("confirmed: false", "confirmed: maybe", "confirmed"),
        ("---\n", "", "text"),
    ],
)
async def test_error_names_the_field_of_an_agreement(
    context: GatewayContext, old: str, new: str, field: str
) -> None:
    file = file_of(context, agreement_file(context).name)
    assert old in file.text
    before = files_of(context)
    with pytest.raises(UsageError) as caught:
        await edit_agreement(context, file.path.name, file.text.replace(old, new, 1), file.digest)
    assert caught.value.details["field"] == field
    assert files_of(context) == before


async def test_error_names_the_field_of_a_note(context: GatewayContext) -> None:
    file = file_of(context, note_file(context))
    for old, new, field in (
        ("convention", "custom", "kind"),
        (f'title: "{TITLE}"', 'title: "a\u202eb"', "title"),
    ):
        assert old in file.text
        with pytest.raises(UsageError) as caught:
            await edit_agreement(
                context, file.path.name, file.text.replace(old, new, 1), file.digest
            )
        assert caught.value.details["field"] == field


async def test_note_can_be_edited(context: GatewayContext) -> None:
    file = file_of(context, note_file(context))
    text = file.text.replace("whole numbers", "whole yen")
    done = await edit_agreement(context, file.path.name, text, file.digest)
    assert (done.data["kind"], done.data["title"]) == ("convention", TITLE)
    assert file.path.read_text("utf-8") == text


async def test_term_and_symbol_of_another_file_are_refused(context: GatewayContext) -> None:
    learn(context.settings, Agreement("籠", "ShoppingCart", ("x",)), confirmed=False)
    file = file_of(context, agreement_file(context).name)
    text = file.text.replace(f'nl_term: "{TERM}"', 'nl_term: "籠"')
    text = text.replace(f'symbol: "{SYMBOL}"', 'symbol: "ShoppingCart"')
    with pytest.raises(UsageError) as caught:
        await edit_agreement(context, file.path.name, text, file.digest)
    assert caught.value.details["field"] == "nl_term"


@pytest.mark.parametrize("name", ["../state.db", "none.md", "", "/etc/passwd", ".."])
async def test_only_files_of_the_map_can_be_edited(context: GatewayContext, name: str) -> None:
    with pytest.raises(NotFoundError):
        file_of(context, name)
    with pytest.raises(NotFoundError):
        await edit_agreement(context, name, "x", "")


async def test_line_ends_of_a_browser_become_those_of_the_file(context: GatewayContext) -> None:
    file = file_of(context, agreement_file(context).name)
    text = file.text.replace("the fee", "the price")
    await edit_agreement(context, file.path.name, text.replace("\n", "\r\n"), file.digest)
    assert file.path.read_bytes() == text.encode()

    file.path.write_bytes(text.replace("\n", "\r\n").encode())
    again = file_of(context, file.path.name)
    await edit_agreement(context, file.path.name, file.text, again.digest)
    assert file.path.read_bytes() == file.text.replace("\n", "\r\n").encode()


async def test_secret_is_masked_before_it_is_written(context: GatewayContext) -> None:
    file = file_of(context, agreement_file(context).name)
    plant = planted()["GitHub classic"]
    text = file.text.replace("It returns the fee.", f"It uses {plant.text}.")
    await edit_agreement(context, file.path.name, text, file.digest)
    written = file.path.read_text("utf-8")
    assert written != file.text
    assert all(secret not in written for secret in plant.secrets)


def conflicted(context: GatewayContext, *, base: bool) -> tuple[str, str, str]:
    """Write conflict markers into the agreement; return the texts of the three sides."""
    path = agreement_file(context)
    text = path.read_text("utf-8")
    ours = text.replace("the fee", "our fee")
    theirs = text.replace("the fee", "their fee")
    line = next(line for line in text.split("\n") if "the fee" in line)
    middle = f"||||||| 1a2b3c\n{line}\n" if base else ""
    marked = (
        f"<<<<<<< HEAD\n{line.replace('the fee', 'our fee')}\n{middle}=======\n"
        f"{line.replace('the fee', 'their fee')}\n>>>>>>> topic branch"
    )
    path.write_text(text.replace(line, marked), encoding="utf-8")
    return ours, text, theirs


@pytest.mark.parametrize("base", [True, False])
async def test_both_sides_of_a_conflict_are_read(context: GatewayContext, *, base: bool) -> None:
    ours, text, theirs = conflicted(context, base=base)
    found = conflict_of(context, agreement_file(context).name)
    assert (found.sides.ours.text, found.sides.theirs.text) == (ours, theirs)
    assert (found.sides.ours.name, found.sides.theirs.name) == ("HEAD", "topic branch")
    for side in (found.sides.ours, found.sides.theirs):
        assert side.entry.agreement
        assert side.entry.agreement.symbol == SYMBOL
    assert found.file.entry.problem == "conflict"
    if base:
        assert found.sides.base
        assert found.sides.base.text == text
    else:
        assert found.sides.base is None


async def test_chosen_side_resolves_the_conflict(context: GatewayContext) -> None:
    _, _, theirs = conflicted(context, base=True)
    found = conflict_of(context, agreement_file(context).name)
    await edit_agreement(context, found.file.path.name, theirs, found.file.digest)
    standing = await find_standing(context, TERM, SYMBOL)
    assert standing
    assert standing.entry.agreement
    assert standing.entry.agreement.evidence == ("It returns their fee.",)


async def test_markers_cannot_be_written(context: GatewayContext) -> None:
    conflicted(context, base=False)
    file = file_of(context, agreement_file(context).name)
    with pytest.raises(UsageError, match="conflict"):
        await edit_agreement(context, file.path.name, file.text + "\n", file.digest)


@pytest.mark.parametrize("cut", ["<<<<<<<", "=======", ">>>>>>>"])
async def test_incomplete_conflict_has_no_sides(context: GatewayContext, cut: str) -> None:
    conflicted(context, base=False)
    path = agreement_file(context)
    lines = path.read_text("utf-8").split("\n")
    kept = [line for line in lines if not line.startswith(cut)]
    path.write_text("\n".join(kept), encoding="utf-8")
    with pytest.raises(NotFoundError):
        conflict_of(context, path.name)
