"""Say in one line where a symbol that the agent searches for is defined, and what is agreed on it.

Only exact names count: a pattern that looks like a symbol or declares one, and the terms of valid
agreements. All other searches pass without a word.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from code_intel.forest.ranking.closeness import ASIDE
from code_intel.forest.ranking.paths import kinds_of
from code_intel.forest.ranking.question import RankedQuestion
from code_intel.foundation.text import visible
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.agreement_status import standings_of
from code_intel.learned.status.validity import lookup_name
from code_intel.records import Agreement, Definition
from code_intel.tools.context.freshness import ask_fresh_index
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import current_text
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.hooks.event_files import existing_files
from code_intel.tools.hooks.events import HookEvent, HookReply
from code_intel.tools.wire.suspicion import flags_of

MAX_DEFINITIONS = 3
"""A name with more definitions gets no line, because it says too little."""
_MAX_COMPARED = 12
MAX_NAMES = 3
"""Maximum names and phrases of one search that are looked up."""
MAX_PATTERN_CHARS = 1000
MIN_NAME_CHARS = 4
_FILE_TOOLS = frozenset({"Glob", "glob"})
_NO_QUESTION = RankedQuestion((), (), frozenset())
_KEYWORDS = (
    "def|class|func|function|fn|struct|interface|enum|trait|type|module|macro|object|record|const"
)
_DECLARED = re.compile(rf"(?:.*\s)?(?:{_KEYWORDS})\s+(?P<name>[^\W\d]\w*)\W*")
_SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->|#)[^\W\d]\w*)*", re.ASCII)
_SCOPE = re.compile(r"\.|::|->|#")
_SPACE = re.compile(r"\\s[*+]?|\.\*|\\t")
_ANCHOR = re.compile(r"\\[bB<>AzZ]|\(\?[a-z]+\)|[\^$]")
_ESCAPED = re.compile(r"\\([^\w\s])")
_QUOTES = " \t\"'`()[]{}:;,"
_IN_FIND = re.compile(r"\*.*|.*[\w-]\*")
"""Patterns of file names; as a regular expression they would make no sense, or little."""
_FILE_NAME = re.compile(r"[*?]*([^*?{}\[\]/]+?)[*?]*(?:\.[\w*{},]+)?")
_OPEN_KINDS = frozenset({"key", "selector", "element", "property", "variable"})
"""Kinds of symbols whose names say little by themselves."""


async def comment_search(context: GatewayContext, event: HookEvent) -> HookReply:
    """Return one line about the symbols or the phrase that the agent searches for."""
    return HookReply(context=await run_in_thread(line_about, context, event))


def line_about(context: GatewayContext, event: HookEvent) -> str:
    """Return what is known about a search in one line; empty if nothing is. This blocks."""
    phrases = list(islice(phrases_of(event.text, event.tool), MAX_NAMES))
    names = [name for phrase in phrases if (name := symbol_in(phrase))]
    searched = set(existing_files(context.root, event.files))
    parts = [_defined(context, name, searched) for name in names]
    agreed = _agreed(context, [*phrases, *names])
    return visible("; ".join(filter(None, (*parts, *agreed))))


def phrases_of(text: str, tool: str = "") -> Iterator[str]:
    r"""Yield what a pattern searches for, without the signs of regular expressions.

    >>> list(phrases_of(r"def\s+load_settings\b|class Settings\(", "Grep"))
    ['def load_settings', 'class Settings']
    >>> list(phrases_of("**/*GatewayContext*.py", "Glob"))
    ['GatewayContext']
    """
    for pattern in text[:MAX_PATTERN_CHARS].splitlines():
        if tool in _FILE_TOOLS or _IN_FIND.fullmatch(pattern):
            found = _FILE_NAME.fullmatch(pattern.rpartition("/")[2])
            phrases: Sequence[str] = [found[1]] if found else []
        else:
            phrases = re.split(r"\\?\|", pattern)
        for phrase in phrases:
            plain = _ANCHOR.sub("", _SPACE.sub(" ", phrase))
            if text := _ESCAPED.sub(r"\1", plain).strip(_QUOTES):
                yield text


def symbol_in(phrase: str) -> str:
    """Return the symbol that a phrase names; "" if it does not look like code.

    >>> symbol_in("class Settings"), symbol_in("load_settings"), symbol_in("settings")
    ('Settings', 'load_settings', '')
    """
    if found := _DECLARED.fullmatch(phrase):
        return found["name"]
    return phrase if _SYMBOL.fullmatch(phrase) and _looks_like_code(phrase) else ""


def _looks_like_code(name: str) -> bool:
    """Return whether a name looks like `getUser`, `get_user`, `GET_USER`, `Auth.login`."""
    if len(name) < MIN_NAME_CHARS:
        return False
    bare = name.strip("_")
    has_capital = any(b.isupper() and not a.isupper() and a.isalnum() for a, b in pairwise(bare))
    return has_capital or "_" in bare or bool(_SCOPE.search(bare))


def _defined(context: GatewayContext, name: str, searched: Iterable[str]) -> str:
    """Return where a symbol is defined; "" if that says nothing."""
    store = context.forest.store

    def definitions() -> list[Definition]:
        return store.definitions(name, exact=True, limit=_MAX_COMPARED)

    found = ask_fresh_index(context, definitions, lambda rows: dict.fromkeys(d.file for d in rows))
    own = [d for d in found if not _says_little(d) and not _is_constructor(d, found)]
    files = {project_path_of(context, d.file) for d in own}
    if not own or len(own) > MAX_DEFINITIONS or files & set(searched):
        return ""
    places = [place for d in own if (place := _place_now(context, d))]
    return f"{name} is defined in {', '.join(places)}" if places else ""


def _place_now(context: GatewayContext, definition: Definition) -> str:
    """Return the file and line of a definition; "" if its line is gone.

    A hook without a gateway cannot index a file that has changed.
    """
    file = project_path_of(context, definition.file)
    signature = definition.signature.split("\n")[0].strip()
    lines = [n for n, text in enumerate(current_text(context, file), 1) if signature in text]
    line = min(lines, key=lambda number: abs(number - definition.line), default=0)
    return f"{file}:{line} ({_description(definition)})" if line else ""


def _says_little(definition: Definition) -> bool:
    """Return whether a definition is of no use: in a test, a copy, an example, or as a key."""
    kinds = kinds_of(definition.file, _NO_QUESTION)
    return definition.kind in _OPEN_KINDS or any(kind.name in ASIDE for kind in kinds)


def _is_constructor(definition: Definition, found: Iterable[Definition]) -> bool:
    """Return whether a definition has the name of the class around it."""
    owner = definition.qualified.rpartition(".")[0]
    return any(d.file == definition.file and d.qualified == owner for d in found)


def _description(definition: Definition) -> str:
    is_scoped = definition.qualified != definition.name
    return f"{definition.kind} {definition.qualified}" if is_scoped else definition.kind


def _agreed(context: GatewayContext, texts: Iterable[str]) -> Iterator[str]:
    """Yield what valid agreements of the map say about these names and phrases."""
    wanted = {fold(text) for text in texts}
    if not wanted or not os.path.isdir(context.settings.agreements):  # noqa: PTH112 - may be missing
        return
    known = context.map_cache.known(context.settings).by_key
    keys = [
        key for key, entry in known.items() if entry.agreement and _names(entry.agreement) & wanted
    ]
    found = standings_of(
        context.settings, context.forest, keys[:MAX_NAMES], cache=context.map_cache
    )
    for standing in found.values():
        agreement = standing.entry.agreement
        if agreement and standing.validity == "valid":
            texts = (agreement.nl_term, standing.symbol)
            if not flags_of(*texts):
                yield f"agreed in the map: “{agreement.nl_term}” means {standing.symbol}"


def _names(agreement: Agreement) -> set[str]:
    """Return the folded texts that name an agreement exactly."""
    name = lookup_name(agreement.symbol)
    terms = (agreement.nl_term, *agreement.aliases, agreement.symbol, name)
    return {fold(text) for text in (*terms, name.rpartition(".")[2])}
