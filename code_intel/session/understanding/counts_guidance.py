"""State next steps and remedies under the demands of counts (`[gate] demands = "counts"`).

These texts name tools of the group `session`, which servers with these demands list, too.
"""

from collections.abc import Mapping
from types import MappingProxyType

from code_intel.session.phases import LOOKUP_TOOLS, NEXT_STEP, Phase
from code_intel.session.state import MAX_OPENED_FILES

COUNTS_STEP: Mapping[Phase, str] = MappingProxyType(
    {
        **NEXT_STEP,
        Phase.EXPLORATION: "Call search_smart, explore with find_definitions and "
        "find_references, call confirm_symbol_relevance for the symbol that implements the target "
        "feature, then call submit_understanding.",
        Phase.VERIFICATION: "Check each hypothesis against the code with find_definitions, "
        "find_references or search_text, then call submit_verification.",
        Phase.READY: "Call check_write_target before each edit of an explored file; "
        "add_explored_files adds other files that you have looked at. If you have confirmed no "
        "symbol, call confirm_symbol_relevance, so that it can be learned. When finished, call "
        "record_outcome.",
    }
)
"""The next step in each phase, in place of `NEXT_STEP`."""

REQUIREMENT_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "required_tools": "Use the tools listed in required_tools (find_definitions, "
        "find_references; search_text if no symbols can be read); a call counts if it succeeds and "
        "finds something",
        "symbols_identified": "Name more symbols that find_definitions finds",
        "unverified_symbols": "Look up each of unverified_symbols with find_definitions and spell "
        "it as in the code, or leave it out",
        "made_since": "Replace what made_since lists: it was added during this session, so it "
        "is no evidence about the existing code",
        "entry_points": "List in entry_points the functions where the flow starts; each must be "
        "one of symbols_identified",
        "files_analyzed": f"Look at more files with {LOOKUP_TOOLS} and list them in files_analyzed",
        "files_seen": f"Look at the files in files_seen with {LOOKUP_TOOLS}; a file counts if such "
        f"a call finds something in it and in at most {MAX_OPENED_FILES} files altogether; forest "
        "hits do not count",
        "existing_patterns": "List in existing_patterns the conventions of the code that you keep",
        "slot_evidence": "Give evidence for a slot by calling search_text with its words, or "
        "confirm_symbol_relevance: a confirmed symbol counts for target_feature and for each slot "
        "whose words are in code_evidence",
        "nl_symbol_mapping": "Call confirm_symbol_relevance with the symbols that implement the "
        "target feature; this is needed especially if the feature's name is not in the language of "
        "the code",
    }
)
"""How to supply each kind of missing requirement; required tools come first."""

FRAME_FIRST = "Call set_query_frame to name the target feature. "
CHECK_HITS = (
    "These hits are hypotheses: check them with find_definitions and find_references, call "
    "confirm_symbol_relevance for the one that implements the target feature, then call "
    "submit_understanding."
)
CREATE_PLANNED_FILES = (
    "Create the files named in the evidence, look at them with find_definitions, call "
    "add_explored_files and confirm_symbol_relevance, and call record_outcome when finished."
)
CONFIRM_WITHOUT_FEATURE = (
    "The agreement is not confirmed, and the session has no target feature: call start_session, "
    "then set_query_frame before search_smart."
)
CONFIRM_AGREEMENT = (
    "The agreement is not confirmed: look up its symbol with find_definitions and "
    "find_references, call confirm_symbol_relevance if it implements the target feature, then "
    "call submit_verification."
)
FOUND = (
    "Your calls have found everything that submit_understanding requires. If you have not done "
    "so, call confirm_symbol_relevance for the symbol that implements the target feature. Then "
    "call submit_understanding."
)
NO_IMPLEMENTING_SYMBOL = (
    "nl_symbol_mapping: no known symbol implements the target feature; name it with "
    "confirm_symbol_relevance"
)
CONFIRM_BEFORE_VERIFICATION = (
    "Call confirm_symbol_relevance with one, then submit_verification again."
)
FRAME_BEFORE_SEARCH = (
    "Call start_session, then set_query_frame before search_smart: the map has already answered "
    "the query of this session."
)
LOOK_AND_ADD = f"look at the file with {LOOKUP_TOOLS}, then call add_explored_files."
FRAME_IN_VERIFICATION = (
    "Call set_query_frame with one; if the map has answered already, call start_session."
)
