"""The code of a definition without comments, documentation, blank lines and layout."""

import pytest

from code_intel.chunking.code_text import code_of

PYTHON = '''def login(user):
    """Log in."""
    if user:
        check(user)
    return open_session(user)
'''
GO = "func login(user string) error {\n\treturn check(user) // once\n}\n"
COBOL = "       CALC-TAX.\n           MOVE TAX TO RESULT.\n"


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", PYTHON, PYTHON.replace("Log in", "Sign in")),
        ("a.py", PYTHON, PYTHON.replace("    return", "    # why\n\n    return")),
        ("a.py", PYTHON, PYTHON.replace("check(user)", "check( user )  ")),
        ("a.go", GO, GO.replace("// once", "/* twice */")),
        ("a.go", GO, GO.replace("{\n", "{\n\n\n")),
        ("a.cbl", COBOL, COBOL.replace("MOVE", "MOVE  ") + "\n"),
    ],
)
def test_comments_documentation_and_layout_are_no_code(path: str, old: str, new: str) -> None:
    assert old != new
    assert code_of(path, old, 1, 99) == code_of(path, new, 1, 99)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", PYTHON, PYTHON.replace("check(user)", "check(user, 1)")),
        ("a.py", PYTHON, PYTHON.replace("    return open", "        return open")),
        ("a.py", PYTHON, PYTHON.replace("    return", "    'x'.strip()\n    return")),
        ("a.go", GO, GO.replace("check", "verify")),
        ("a.cbl", COBOL, COBOL.replace("RESULT", "OTHER")),
    ],
)
def test_a_change_of_the_code_shows(path: str, old: str, new: str) -> None:
    assert code_of(path, old, 1, 99) != code_of(path, new, 1, 99)


def test_only_the_lines_of_the_definition_count() -> None:
    two = PYTHON + "\n\ndef logout(user):\n    close(user)\n"
    assert code_of("a.py", two, 1, 5) == code_of("a.py", PYTHON, 1, 5)
    assert "close" not in code_of("a.py", two, 1, 5)
    assert "close" in code_of("a.py", two, 8, 9)
