"""Extract the text of comments and docstrings, and its first sentence."""

import re

_STARRED = re.compile(r"^\s*(?:/\*+!?|\*+/|\*(?!/)|//+!?|#+!?)\s?|\*+/\s*$", re.MULTILINE)
_DASHED = re.compile(r"^\s*(?:--\[=*\[|--+)\s?|\]=*\]\s*$", re.MULTILINE)
_ANGLED = re.compile(r"^\s*<!--+|--+>\s*$", re.MULTILINE)
_XML_TAG = re.compile(r"</?(?:summary|para|remarks)>")
_STRING = re.compile(r"""\A[a-zA-Z]{0,2}(\"\"\"|'''|"|')(.*?)\1?\Z""", re.DOTALL)
_SENTENCE = re.compile(r".*?(?:[.!?](?=\s|$)|。|\Z)", re.DOTALL)
_LEGAL = re.compile(r"copyright|licen[cs]e|eslint|prettier|@ts-|pylint|-\*-|^\s*!", re.IGNORECASE)
_PRAGMA = re.compile(
    r"#!|spdx|shellcheck|rubocop|frozen_string_literal|encoding:|clang-format|swift(?:lint|-tools)"
    r"|phpcs|luacheck|yaml-language-server",
    re.IGNORECASE,
)
MAX_SENTENCE_CHARS = 200


def comment_text(comment: str) -> str:
    """Return a comment without `//`, `#`, `*`, `--` and `<!-- -->`."""
    text = comment.lstrip()
    marks = _DASHED if text.startswith("--") else _ANGLED if text.startswith("<") else _STARRED
    return _XML_TAG.sub("", marks.sub("", comment))


def string_text(literal: str) -> str:
    """Return the text between the quotes of a literal."""
    match = _STRING.match(literal)
    return match[2] if match else ""


def is_legal(comment: str) -> bool:
    """Return whether a comment is a licence or an instruction for a tool."""
    return bool(_LEGAL.search(comment) or _PRAGMA.search(comment))


def first_sentence(text: str) -> str:
    """Return the first sentence of a documentation text, on one line."""
    paragraph: list[str] = []
    for line in text.strip().splitlines():
        stripped = line.strip()
        if stripped and not any(map(str.isalnum, stripped)):
            paragraph.clear()  # an underline: the lines above are a title
        elif paragraph and (not stripped or stripped.startswith("@")):
            break
        elif not stripped.startswith("@"):
            paragraph.append(stripped)
    match = _SENTENCE.match(" ".join(paragraph))
    return match[0].strip()[:MAX_SENTENCE_CHARS] if match else ""
