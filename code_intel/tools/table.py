"""Define the tables of all tools, in the order of tools/list and the docs (docs/decisions/0034)."""

import functools
from collections.abc import Container
from dataclasses import replace
from typing import NamedTuple

from code_intel.config.table import Demands
from code_intel.tools.code.analyze_impact import analyze_impact
from code_intel.tools.code.analyze_structure import analyze_structure
from code_intel.tools.code.deps_closure import deps_closure
from code_intel.tools.code.find_definitions import find_definitions
from code_intel.tools.code.find_references import find_references
from code_intel.tools.code.get_function_at_line import get_function_at_line
from code_intel.tools.code.get_symbols import get_symbols
from code_intel.tools.code.repo_pack import repo_pack
from code_intel.tools.code.search_files import search_files
from code_intel.tools.code.search_text import search_text
from code_intel.tools.code.snippets_get import snippets_get
from code_intel.tools.commands.command_describe import command_describe, describe
from code_intel.tools.commands.command_execute import command_execute, execute
from code_intel.tools.commands.command_list import command_list
from code_intel.tools.commands.command_list import list as list_commands
from code_intel.tools.commands.command_reload import command_reload, reload
from code_intel.tools.commands.command_search import command_search
from code_intel.tools.commands.command_search import search as search_commands
from code_intel.tools.declaration import Tool
from code_intel.tools.documents.add_frontmatter import add_frontmatter
from code_intel.tools.documents.delete_document import delete_document
from code_intel.tools.documents.index_code import index_code
from code_intel.tools.documents.index_markdown import index_markdown
from code_intel.tools.documents.list_documents import list_documents
from code_intel.tools.documents.reindex_document import reindex_document
from code_intel.tools.documents.search import search
from code_intel.tools.documents.sync import sync
from code_intel.tools.documents.update_frontmatter import update_frontmatter
from code_intel.tools.plans.gistdex_query_plan import gistdex_query_plan
from code_intel.tools.search.add_agreement import add_agreement
from code_intel.tools.search.context_bundle import context_bundle
from code_intel.tools.search.files_search import files_search
from code_intel.tools.search.list_agreements import list_agreements
from code_intel.tools.search.query import query
from code_intel.tools.search.search_forest import search_forest
from code_intel.tools.search.search_map import search_map
from code_intel.tools.search.search_smart import search_smart
from code_intel.tools.search.semantic_rerank import semantic_rerank
from code_intel.tools.session.add_explored_files import add_explored_files
from code_intel.tools.session.check_write_target import check_write_target
from code_intel.tools.session.confirm_symbol_relevance import confirm_symbol_relevance
from code_intel.tools.session.get_outcome_stats import get_outcome_stats
from code_intel.tools.session.get_session_status import get_session_status
from code_intel.tools.session.record_outcome import record_outcome
from code_intel.tools.session.revert_to_exploration import revert_to_exploration
from code_intel.tools.session.set_query_frame import set_query_frame
from code_intel.tools.session.start_session import start_session
from code_intel.tools.session.submit_semantic import submit_semantic
from code_intel.tools.session.submit_understanding import submit_understanding
from code_intel.tools.session.submit_verification import submit_verification
from code_intel.tools.session.validate_symbol_relevance import validate_symbol_relevance


class Group(NamedTuple):
    """Tools that are listed together, with a description of their purpose (`about`)."""

    name: str
    about: str
    tools: tuple[Tool, ...]


CORE = Group(
    "core",
    "The tools that every session needs; always listed.",
    (
        Tool(start_session, read_only=False),
        Tool(search_smart),
        Tool(search_text, verbatim=frozenset({"pattern"})),
        Tool(find_definitions),
        Tool(find_references),
        Tool(snippets_get),
        Tool(submit_understanding, read_only=False),
        Tool(submit_semantic, read_only=False),
        Tool(submit_verification, read_only=False),
        Tool(check_write_target),
        Tool(revert_to_exploration, read_only=False),
        Tool(record_outcome, read_only=False),
    ),
)

SESSION = Group(
    "session",
    "Single steps of a session, and its state.",
    (
        Tool(set_query_frame, read_only=False),
        Tool(validate_symbol_relevance),
        Tool(confirm_symbol_relevance, read_only=False),
        Tool(add_explored_files, read_only=False),
        Tool(get_session_status),
    ),
)

SEARCH = Group(
    "search",
    "Searches of the map or the forest alone, of files, and of what a goal needs.",
    (
        Tool(search_map),
        Tool(search_forest),
        Tool(query),
        Tool(files_search),
        Tool(context_bundle),
        Tool(deps_closure),
    ),
)

AGREEMENTS = Group(
    "agreements",
    "The map's agreements: list them, and add one by hand.",
    (Tool(add_agreement, read_only=False), Tool(list_agreements)),
)

CODE = Group(
    "code",
    "File structure, whole files, and the impact of a change.",
    (
        Tool(search_files),
        Tool(get_symbols),
        Tool(analyze_structure),
        Tool(get_function_at_line),
        Tool(repo_pack),
        Tool(analyze_impact),
    ),
)

MEANING = Group(
    "meaning",
    "Ordering of results by meaning.",
    (Tool(semantic_rerank),),
)

REPORTS = Group(
    "reports",
    "Statistics of this project's sessions.",
    (Tool(get_outcome_stats),),
)

PLANS = Group(
    "plans",
    "Query plans: searches that are refined and repeated until the results match a description of "
    "good ones.",
    (
        Tool(
            gistdex_query_plan,
            read_only=False,
            aliases=("query_plan",),
        ),
    ),
)

COMMAND_GROUP = Group(
    "commands",
    "Prompt commands of the project's registries: list, find, describe and execute them.",
    (
        Tool(command_list),
        Tool(command_search),
        Tool(command_describe),
        Tool(command_execute, read_only=False, open_world=True),
        Tool(command_reload),
    ),
)

GROUPS = (CORE, SESSION, SEARCH, AGREEMENTS, CODE, MEANING, REPORTS, PLANS, COMMAND_GROUP)
"""The tools of the gateway.

`core` is always listed; another group only if the setting `tool_groups` names it.
"""

GATEWAY_TOOLS = tuple(tool for group in GROUPS for tool in group.tools)
"""All tools of the gateway; each can be called by name, listed or not."""


@functools.cache
def gateway_tools(demands: Demands) -> tuple[Tool, ...]:
    """Return all tools; under the demands of counts, the list shows every parameter they name."""
    if demands != "counts":
        return GATEWAY_TOOLS
    return tuple(replace(tool, lists_all=True) for tool in GATEWAY_TOOLS)


def listed_tools(names: Container[str] = (), *, demands: Demands = "evidence") -> tuple[Tool, ...]:
    """Return the tools of `core` and of the named groups.

    The demands of counts add the group `session`, because their hints name its tools.
    """
    return tuple(
        tool
        for group in GROUPS
        for tool in group.tools
        if group is CORE or group.name in names or (group is SESSION and demands == "counts")
    )


INDEX_TOOLS = (
    Tool(search),
    Tool(list_documents),
    Tool(index_markdown, read_only=False),
    Tool(index_code, read_only=False),
    Tool(reindex_document, read_only=False),
    Tool(delete_document, read_only=False, destructive=True),
    Tool(add_frontmatter, read_only=False),
    Tool(update_frontmatter, read_only=False),
    Tool(sync, read_only=False),
)
"""The tools of `devrag-map` and `devrag-forest`."""

COMMAND_TOOLS = (
    Tool(list_commands),
    Tool(search_commands),
    Tool(describe),
    Tool(execute, read_only=False, open_world=True),
    Tool(reload),
)
"""The tools of the command server, for clients without a session.

Clients of Climpt expect these names (seed 001, see docs/decisions/README.md).
"""
