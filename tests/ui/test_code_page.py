"""The page of a file shows its lines as text, and no file that it must not show."""

from pathlib import Path

import pytest

from page_client import opened_page


def test_the_lines_of_an_answer_are_marked(shop: Path) -> None:
    (shop / "long.py").write_text("x = 1\n" * 300, encoding="utf-8")
    with opened_page(shop) as page:
        found = page.get("/code?file=long.py&start=100&end=102")
        assert found.count('class="marked"') == 3
        assert "Lines 60 to 142 of 300." in found
        found = page.get("/code?file=long.py&start=100&all=1")
        assert "Show the whole file" not in found
        assert found.count('class="line-number"') == 300


@pytest.mark.parametrize(
    "file",
    [".git/config", "../outside.py", "/etc/passwd", "nowhere.py", "%00", ".env", "src", ""],
)
def test_files_that_must_not_be_shown_are_refused(shop: Path, file: str) -> None:
    (shop / ".env").write_text("TOKEN=abc\n", encoding="utf-8")
    (shop / ".git").mkdir(exist_ok=True)
    (shop / ".git" / "config").write_text("helper = hunter2\n", encoding="utf-8")
    with opened_page(shop) as page:
        answer = page.client.get(f"/code?file={file}")
        assert answer.status_code in {400, 404}
        assert "hunter2" not in answer.text
        assert "TOKEN" not in answer.text


def test_lines_must_be_numbers(shop: Path) -> None:
    with opened_page(shop) as page:
        assert "start is not a whole number." in page.text("/code?file=README.md&start=x", 400)
        assert page.get("/code?file=README.md&start=99999&end=1")
