"""Settings and index configurations: read here, then passed down as arguments.

Finds the project and reads its files and environment variables. Nothing here writes files.
"""

from code_intel.config.index_config import (
    FOREST_CONFIG,
    MAP_CONFIG,
    STATE_FOLDER,
    IndexConfig,
    default_config,
    load_index_config,
)
from code_intel.config.settings import (
    KNOWLEDGE_FOLDER,
    Settings,
    active_environments,
    allowed_folders,
    ci_branch,
    default_cache,
    default_state,
    find_root,
    find_served_root,
    holds_all_projects,
    load_settings,
    require_single_project,
    shows_colours,
)
from code_intel.config.shared import SharedConfig
from code_intel.config.table import SETTINGS, Setting, TokenizationStrategy
from code_intel.config.upstreams import UPSTREAMS, UpstreamConfig

__all__ = [
    "FOREST_CONFIG",
    "KNOWLEDGE_FOLDER",
    "MAP_CONFIG",
    "SETTINGS",
    "STATE_FOLDER",
    "UPSTREAMS",
    "IndexConfig",
    "Setting",
    "Settings",
    "SharedConfig",
    "TokenizationStrategy",
    "UpstreamConfig",
    "active_environments",
    "allowed_folders",
    "ci_branch",
    "default_cache",
    "default_config",
    "default_state",
    "find_root",
    "find_served_root",
    "holds_all_projects",
    "load_index_config",
    "load_settings",
    "require_single_project",
    "shows_colours",
]
