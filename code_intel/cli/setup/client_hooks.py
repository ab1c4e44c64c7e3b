"""Define the hook file of each client, and the events for which `init` writes hooks.

docs/hooks.md says what a hook does at each event. Matchers are names or patterns of tools.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.config.client_files import HOOK_FILES

TIMEOUT_S = 10
"""How long a client waits for the answer of a hook."""


class HookFile(NamedTuple):
    """The hooks of a client.

    Attributes:
        adapter: The client's name in `code-intel hook`.
        file: The file that it reads, relative to the project.
        events: The events and their matchers; an empty one matches everything.
        timeout: The time limit in the client's unit.
        grouped: Whether hooks are in groups that share a matcher.
        handler: The first fields of every hook.
        document: The first fields of a new file.
        before_writes: The events before writes.
        timeouts: The time limits of single events, if they differ.
        note: The next step for the user.
    """

    adapter: str
    file: str
    events: Mapping[str, str]
    timeout: int = TIMEOUT_S
    grouped: bool = True
    handler: Mapping[str, Any] = MappingProxyType({"type": "command"})
    document: Mapping[str, Any] = MappingProxyType({})
    before_writes: tuple[str, ...] = ("PreToolUse",)
    timeouts: Mapping[str, int] = MappingProxyType({})
    note: str = ""


CLAUDE_CODE = HookFile(
    "claude-code",
    HOOK_FILES["claude"],
    MappingProxyType(
        {
            "SessionStart": "compact|resume",  # a new conversation has no session yet
            "UserPromptSubmit": "",
            "PreToolUse": "Bash|Edit|Glob|Grep|MultiEdit|NotebookEdit|Write"
            "|mcp__code-intel__start_session",
            "PostToolUse": "Bash|Glob|Grep|Read",
            "PostToolUseFailure": "Bash",
            "Stop": "",
            "SessionEnd": "",
        }
    ),
)
CODEX = HookFile(
    "codex",
    HOOK_FILES["codex"],
    MappingProxyType(
        {
            "SessionStart": "",
            "UserPromptSubmit": "",
            "PreToolUse": "Bash|apply_patch|mcp__.*__start_session",
            "PostToolUse": "Bash",
            "Stop": "",
            "SessionEnd": "",
        }
    ),
    timeouts=MappingProxyType({"SessionEnd": 3}),
    note="Codex runs only hooks that you have trusted: start it in the project and enter /hooks."
    " Do so again when init has changed them.",
)
CURSOR = HookFile(
    "cursor",
    HOOK_FILES["cursor"],
    MappingProxyType(
        {
            "sessionStart": "",
            "beforeSubmitPrompt": "",
            "preToolUse": "Shell|Write|StrReplace|Edit|Delete|Grep|Glob|MCP:start_session",
            "postToolUse": "Shell|Read|Grep",
            "stop": "",
            "sessionEnd": "",
        }
    ),
    grouped=False,
    handler=MappingProxyType({}),
    document=MappingProxyType({"version": 1}),
    before_writes=("preToolUse",),
)
GEMINI = HookFile(
    "gemini",
    HOOK_FILES["gemini"],
    MappingProxyType(
        {
            "SessionStart": "",
            "BeforeAgent": "",
            "BeforeTool": "replace|write_file|run_shell_command|mcp_.*start_session",
            "AfterTool": "read_file|read_many_files|grep_search|glob|run_shell_command",
            "AfterAgent": "",
            "SessionEnd": "",
        }
    ),
    timeout=1000 * TIMEOUT_S,
    before_writes=("BeforeTool",),
)
