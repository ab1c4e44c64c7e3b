"""A symbol has a second name only if a line registers it under words of its own name."""

import doctest

import pytest

from code_intel.forest.text import registered_names as module
from code_intel.forest.text.registered_names import registered_names


def test_the_docstrings_are_true() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("name", "line", "found"),
    [
        ("f_trim", '  {(cfunction_ptr)f_trim, "trim", 1},', ("trim",)),
        ("f_trim", '  {"trim", f_trim, "Removes white space."},', ("trim",)),
        ("cmdAddUser", 'register("add-user", &cmdAddUser)', ("add-user",)),
        ("serializeValue", "  'serialize': self.serializeValue,", ("serialize",)),
        ("serializeValue", '  exports["serialize"] = serializeValue;', ("serialize",)),
        ("f_trim", '  {(cfunction_ptr)f_trim, "split", 1},', ()),
        ("f_trim", '  {f_trim, "trim", "split"},', ()),
        ("verify_password", 'check("password", verify_password(form))', ()),
        ("verify_password", 'verify_password("password")', ()),
        ("f_trim", 'f_trim, "f_trim"', ()),
        ("login_as", 'register("as", login_as)', ()),
        ("f_trim", '{f_trimmed, "trim"}', ()),
    ],
)
def test_line_registers_a_name(name: str, line: str, found: tuple[str, ...]) -> None:
    assert registered_names(name, [line]) == found


def test_only_decorators_directly_above_count() -> None:
    above = ['@app.command("add")', "", '@app.command("add-user")', "@cache"]
    assert registered_names("add_user", [], above) == ("add-user",)
    assert registered_names("add_user", [], [*above, "x = 1"]) == ()
