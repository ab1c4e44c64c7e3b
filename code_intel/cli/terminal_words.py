"""Say what the tools that agents call are called in the terminal."""

from collections.abc import Mapping
from types import MappingProxyType

from code_intel.errors import CodeIntelError
from code_intel.tools.wire.reader import in_words

TERMINAL_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "find_definitions": "`code-intel defs`",
        "find_references": "`code-intel refs`",
        "search_text": "`code-intel grep`",
        "search_smart": "`code-intel search`",
        "search_map": "`code-intel search --map`",
        "search_forest": "`code-intel search --forest`",
        "files_search": "`code-intel files`",
        "context_bundle": "`code-intel context`",
        "semantic_rerank": "`code-intel rerank`",
        "deps_closure": "`code-intel deps`",
        "snippets_get": "`code-intel snippets`",
        "gistdex_query_plan": "`code-intel plan`",
        "add_agreement": "`code-intel map add`",
        "list_agreements": "`code-intel map list`",
        "get_outcome_stats": "`code-intel stats`",
        "command_list": "`code-intel commands list`",
        "command_search": "`code-intel commands search`",
        "command_describe": "`code-intel commands describe`",
        "command_execute": "`code-intel commands execute`",
        "command_reload": "`code-intel commands reload`",
        "call again": "run the command again",
        "path relative to the project's root, as answers name files": "an existing file or folder",
        "a path relative to the project's root": "a path within the project",
    }
)
"""The command for each tool that has one, and phrases about calls."""


def translate_hint(error: CodeIntelError) -> None:
    """Name commands instead of tools in the hint of an error."""
    error.hint = in_words(error.hint, TERMINAL_WORDS)
