"""Fill in the forms of a page as a browser without JavaScript does."""

from html.parser import HTMLParser
from urllib.parse import urlencode

from httpx2 import Response

from page_client import PageClient, html_of


class _Forms(HTMLParser):
    """Collects the forms of a page: action, method, and fields with their values."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[tuple[str, str, dict[str, str]]] = []
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # type: ignore[explicit-override]
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((given.get("action", ""), given.get("method", "get"), {}))
        elif given.get("type") == "radio" and "checked" not in given:
            pass
        elif tag in {"input", "textarea"} and self.forms and "name" in given:
            self.forms[-1][2][given["name"]] = given.get("value", "")
            self._area = given["name"] if tag == "textarea" else ""

    def handle_data(self, data: str) -> None:  # type: ignore[explicit-override]
        if self._area:
            # A parser of HTML drops the first line end of a text area.
            self.forms[-1][2][self._area] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:  # type: ignore[explicit-override]
        if tag == "textarea":
            self._area = ""


def forms_of(html: str, action: str, method: str = "post") -> list[dict[str, str]]:
    """Return the fields of the forms of a page that lead to an address by a method."""
    found = _Forms()
    found.feed(html)
    return [fields for *each, fields in found.forms if each == [action, method]]


def submit(
    page: PageClient, html: str, action: str, status: int = 200, at: int = 0, **changed: str
) -> str:
    """Send one of the forms of a page, with some fields changed; return the page that follows."""
    fields = forms_of(html, action)[at] | changed
    answer: Response = page.client.post(
        action,
        content=urlencode(fields),
        headers={"content-type": "application/x-www-form-urlencoded"},
        follow_redirects=True,
    )
    return html_of(answer, status)
