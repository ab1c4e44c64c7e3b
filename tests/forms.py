"""Fill in the forms of a page as a browser without JavaScript does."""

import html
import re
from urllib.parse import urlencode

from httpx2 import Response

from page_client import PageClient, text_of

_FORM = re.compile(r"<form\b([^>]*)>(.*?)</form>", re.DOTALL)
_FIELD = re.compile(r"<input\b([^>]*)>|<textarea\b([^>]*)>\n?(.*?)</textarea>", re.DOTALL)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')


def _attributes(text: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(text)}


def forms_of(page: str, action: str, method: str = "post") -> list[dict[str, str]]:
    """Return the fields of the forms of a page that lead to an address by a method."""
    found = []
    for head, body in _FORM.findall(page):
        given = _attributes(head)
        if (given.get("action"), given.get("method", "get")) == (action, method):
            fields = {}
            for one_line, area, text in _FIELD.findall(body):
                field = _attributes(one_line or area)
                if "name" in field:
                    fields[field["name"]] = html.unescape(text) if area else field.get("value", "")
            found.append(fields)
    return found


def submit(
    client: PageClient, page: str, action: str, status: int = 200, at: int = 0, **changed: str
) -> str:
    """Send one of the forms of a page, with some fields changed; return the page that follows."""
    answer: Response = client.client.post(
        action,
        content=urlencode(forms_of(page, action)[at] | changed),
        headers={"content-type": "application/x-www-form-urlencoded"},
        follow_redirects=True,
    )
    assert answer.status_code == status, text_of(answer.text)
    return str(answer.text)
