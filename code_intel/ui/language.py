"""Choose the language of a page, and translate its texts.

The texts are English. `locales/ja.toml` has the Japanese of each.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from starlette.requests import Request

LANGUAGES: Mapping[str, str] = MappingProxyType({"en": "English", "ja": "日本語"})
LANGUAGE_COOKIE = "code_intel_ui_language"
_WANTED = re.compile(r"\s*([A-Za-z]{2})[\w-]*\s*(?:;\s*q=([\d.]+))?\s*")


def N_(text: str) -> str:  # noqa: N802 - gettext's name
    """Return a text unchanged, and mark it as one that a template translates."""
    return text


@cache
def catalog(language: str) -> Mapping[str, str]:
    """Return the translations of a language: English text to text."""
    if language == "en":
        return MappingProxyType({})
    source = files("code_intel.ui") / "locales" / f"{language}.toml"
    return MappingProxyType(tomllib.loads(source.read_text("utf-8")))


def translate(language: str, text: str, values: Mapping[str, object] = MappingProxyType({})) -> str:
    """Return a text in a language, with `{name}` replaced by values."""
    found = catalog(language).get(text, text)
    return found.format_map(values) if values else found


def language_of(request: Request) -> str:
    """Return the language that a browser chose on the page, or else prefers."""
    if (chosen := request.cookies.get(LANGUAGE_COOKIE, "")) in LANGUAGES:
        return chosen
    wanted = map(_WANTED.fullmatch, request.headers.get("accept-language", "").split(","))
    found = [(_quality(each[2]), each[1].lower()) for each in wanted if each]
    known = [(quality, name) for quality, name in found if name in LANGUAGES and quality > 0]
    return max(known, key=lambda each: each[0])[1] if known else "en"


def _quality(text: str | None) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0
