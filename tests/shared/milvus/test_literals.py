"""Texts in conditions are texts: they select nothing else, and break nothing."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_intel.errors import UsageError
from code_intel.shared.milvus import SharedIndex, literals
from code_intel.shared.milvus.contents import Content, Contents, key_of
from hostile_texts import HOSTILE

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
MINE, OTHER = "literals/mine", "literals/other"


def put(index: SharedIndex, repository: str, text: str) -> str:
    contents: Contents = index._reading.contents  # noqa: SLF001 - conditions are internal
    key = key_of("literal", repository, text)
    contents.put([Content(key, repository, "", "literal", text, text, folded=text.casefold())])
    return key


def found(index: SharedIndex, condition: str) -> Mapping[str, Any]:
    contents: Contents = index._reading.contents  # noqa: SLF001
    rows = contents.listed(f"{condition} and kind == {literals.quoted('literal')}", ("id", "name"))
    return {row["id"]: row["name"] for row in rows}


@pytest.mark.milvus
@given(text=TEXTS, other=TEXTS)
@example(text='" or 1 == 1 or "', other="x")
@example(text="\\", other='"')
@example(text='\\" or name like "%', other="")
@example(text="{a}", other="\n\r\t\0\x1b\u2028")
def test_a_literal_is_its_text(shared_index: SharedIndex, text: str, other: str) -> None:
    for each in {text, other}:
        put(shared_index, MINE, each)
        put(shared_index, OTHER, each)
    condition = f"{literals.repositories([MINE])} and name == {literals.quoted(text)}"
    assert found(shared_index, condition) == {key_of("literal", MINE, text): text}


@pytest.mark.milvus
@given(text=TEXTS.filter(bool), before=TEXTS, after=TEXTS)
@example(text="100%_[x]", before='"', after="\\")
@example(text="\n", before="a", after="b")
def test_a_pattern_finds_what_contains_the_text(
    shared_index: SharedIndex, text: str, before: str, after: str
) -> None:
    whole = f"{before}{text}{after}"
    key = put(shared_index, MINE, whole)
    put(shared_index, OTHER, whole)
    pattern = literals.containing("folded", text.casefold())
    rows = found(shared_index, f"{literals.repositories([MINE])} and {pattern}")
    assert key in rows
    assert put(shared_index, OTHER, whole) not in rows


@given(st.text())
@example("a/../b")
@example("a//b")
@example("/a")
@example("a/")
@example("a\n")
def test_a_repository_has_a_plain_name(name: str) -> None:
    with suppress(UsageError):
        assert literals.checked_name(name) == name
        assert literals.quoted(name) == f'"{name}"'
        assert not {"", ".", ".."} & {*name.split("/")}
        assert len(name.encode()) <= 255


@pytest.mark.parametrize(
    "name", ["", "a/../b", "a/./b", "a//b", "/a", "a/", "a\n", 'a"b', ".", "組/店", "x" * 256]
)
def test_an_unusual_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        literals.checked_name(name)
    assert caught.value.details == {"field": "repository"}


@pytest.mark.parametrize("name", ["shop", "team/shop", "a.b/c_d-e", "git@host/x", "~u/x", "a/.b"])
def test_usual_names_of_repositories_are_allowed(name: str) -> None:
    assert literals.checked_name(name) == name


@pytest.mark.parametrize("text", [*HOSTILE, "", "G" * 32, "ab\n", 'a" or "b'])
def test_only_digests_are_digests(text: str) -> None:
    with pytest.raises(UsageError, match="not a digest"):
        literals.any_of("layer", ["0" * 32, text])
