"""List the tools, in the order of tools/list and the documentation (docs/decisions/0034)."""

from collections.abc import Container
from typing import NamedTuple

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
    """Tools that are listed together; `about` describes their purpose."""

    name: str
    about: str
    tools: tuple[Tool, ...]


CORE = Group(
    "core",
    "The tools of every session; always listed.",
    (
        Tool(start_session, "Start a session", reads=False, repeats=False),
        Tool(set_query_frame, "Set the query frame", reads=False),
        Tool(search_smart, "Search the map, then the forest"),
        Tool(search_map, "Search the map of agreements"),
        Tool(search_forest, "Search the source"),
        Tool(query, "Answer a question by several searches"),
        Tool(
            search_text, "Search files with a regular expression", verbatim=frozenset({"pattern"})
        ),
        Tool(files_search, "Find files by their words"),
        Tool(context_bundle, "Collect what to read for a goal"),
        Tool(find_definitions, "Find definitions"),
        Tool(find_references, "Find references"),
        Tool(deps_closure, "Find dependencies of a file"),
        Tool(snippets_get, "Read lines or a symbol"),
        Tool(validate_symbol_relevance, "Compare symbols with a feature"),
        Tool(confirm_symbol_relevance, "Confirm symbols of a feature", reads=False),
        Tool(submit_understanding, "Submit your understanding", reads=False, repeats=False),
        Tool(submit_semantic, "Submit hypotheses", reads=False, repeats=False),
        Tool(submit_verification, "Submit verified hypotheses", reads=False, repeats=False),
        Tool(add_explored_files, "Add files that may be written", reads=False),
        Tool(revert_to_exploration, "Return to exploration", reads=False, repeats=False),
        Tool(check_write_target, "Check whether a file may be written"),
        Tool(record_outcome, "Record the outcome and learn", reads=False, repeats=False),
        Tool(get_session_status, "Show the session's state"),
        Tool(add_agreement, "Add an agreement by hand", reads=False),
        Tool(list_agreements, "List agreements"),
    ),
)

CODE = Group(
    "code",
    "The structure of files, whole files, and the impact of a change.",
    (
        Tool(search_files, "Find files by their names"),
        Tool(get_symbols, "List symbols of files"),
        Tool(analyze_structure, "Outline a file"),
        Tool(get_function_at_line, "Find the function at a line"),
        Tool(repo_pack, "Pack files into one text"),
        Tool(analyze_impact, "Find what a change may break"),
    ),
)

MEANING = Group(
    "meaning",
    "Ordering by meaning only.",
    (Tool(semantic_rerank, "Order candidates by meaning"),),
)

REPORTS = Group(
    "reports",
    "Statistics of this project's sessions.",
    (Tool(get_outcome_stats, "Count how sessions ended"),),
)

PLANS = Group(
    "plans",
    "Searches that state what they expect and repeat until they have found it.",
    (
        Tool(
            gistdex_query_plan,
            "Plan, search, compare, refine",
            reads=False,
            repeats=False,
            also=("query_plan",),
        ),
    ),
)

COMMAND_GROUP = Group(
    "commands",
    "Prompt commands of the project's registries: find, describe and execute them.",
    (
        Tool(command_search, "Find a command"),
        Tool(command_describe, "Describe a command"),
        Tool(command_execute, "Execute a command", reads=False, repeats=False, reaches=True),
        Tool(command_reload, "Read the registry again"),
    ),
)

GROUPS = (CORE, CODE, MEANING, REPORTS, PLANS, COMMAND_GROUP)
"""The tools of the gateway. `core` is always listed, other groups if `tool_groups` names them."""

GATEWAY_TOOLS = tuple(tool for group in GROUPS for tool in group.tools)
"""All tools of the gateway; each can be called by name, listed or not."""


def listed_tools(names: Container[str]) -> tuple[Tool, ...]:
    """Return the tools of `core` and of the named groups."""
    return tuple(
        tool for group in GROUPS if group is CORE or group.name in names for tool in group.tools
    )


INDEX_TOOLS = (
    Tool(search, "Search"),
    Tool(list_documents, "List documents"),
    Tool(index_markdown, "Index a file", reads=False),
    Tool(index_code, "Index source files", reads=False),
    Tool(reindex_document, "Index a document again", reads=False),
    Tool(delete_document, "Delete a document", reads=False, destroys=True),
    Tool(add_frontmatter, "Add front matter", reads=False, repeats=False),
    Tool(update_frontmatter, "Update front matter", reads=False),
    Tool(sync, "Update the index", reads=False),
)
"""The tools of each index server."""

COMMAND_TOOLS = (
    Tool(search_commands, "Find a command"),
    Tool(describe, "Describe a command"),
    Tool(execute, "Execute a command", reads=False, repeats=False, reaches=True),
    Tool(reload, "Read the registry again"),
)
"""The tools of the command server, named as in seed 001, for clients without a session."""
