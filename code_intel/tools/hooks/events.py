"""Define the events of a client's hooks, and what a hook may answer, for all clients."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.tools.context.prints import Passage


class Kind(StrEnum):
    """What has happened or is about to happen in the client.

    Attributes:
        PROMPT: The user sent a prompt.
        READ: The client printed lines of files.
        SEARCH: The agent is about to search with a tool of the client.
        WRITE: The agent is about to write files with a tool of the client.
        START: The agent is about to call start_session.
        STOP: The agent has answered.
        END: The client's session ends.
        BEGIN: The client's session begins, resumes, or has been compacted.
    """

    PROMPT = "prompt"
    READ = "read"
    SEARCH = "search"
    WRITE = "write"
    START = "start"
    STOP = "stop"
    END = "end"
    BEGIN = "begin"


class HookEvent(NamedTuple):
    """An event of a client's hook.

    Attributes:
        kind: What happened.
        session: The client's session; a subagent has that of its parent.
        text: The prompt, or what is searched for; of READ, only if it gets the comment on a search.
        tool: The client's tool.
        files: Absolute paths: files to write, places to search in, or files that may have been
            printed. They may contain `*`, `?` and `[`.
        passages: The lines that were printed; their files are absolute or relative to the root.
        arguments: The arguments of start_session.
        is_repeated: Whether the client goes on after STOP: a hook asked for it, or subagents run.
        output: Text that was printed, in which lines of files are looked for.
        folders: The folders to which file names in `output` are relative.
        client: The client's name, such as `claude-code`.
        enforces: Whether the hook denies what the session has not earned.
        is_heard: Whether the model surely gets the context of the answer. Otherwise the lines in
            it do not count as printed.
        is_shell: Whether a shell command is about to write, not a tool that edits files.
    """

    kind: Kind
    session: str
    text: str = ""
    tool: str = ""
    files: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    arguments: Mapping[str, Any] = MappingProxyType({})
    is_repeated: bool = False
    output: str = ""
    folders: tuple[str, ...] = ()
    client: str = ""
    enforces: bool = False
    is_heard: bool = True
    is_shell: bool = False


class HookReply(NamedTuple):
    """What a hook tells the client. All fields empty: no opinion.

    Attributes:
        context: Text for the model; of STOP, a message for the user.
        refusal: Why the agent must not go on; it is shown to the model.
        arguments: The arguments with which to call the tool instead.
    """

    context: str = ""
    refusal: str = ""
    arguments: Mapping[str, Any] = MappingProxyType({})
