"""The settings as a table: a row each, which `docs/settings.md` describes and `config.settings` reads."""

from typing import Literal, NamedTuple, get_args

Embedding = Literal["auto", "faithful", "sentence-transformers", "off"]
TokenizationStrategy = Literal["phrase-aware", "legacy", "hybrid"]
ToolGroup = Literal["code", "meaning", "reports", "plans", "commands"]

MOST = 1_000_000
"""Days, hours or minutes of a setting; beyond it dates overflow."""


class Setting(NamedTuple):
    """One row of the settings table; `docs/settings.md` has a section for each.

    `choices` are the only values, where there are any, of a list those of its items; `older` is a variable
    that also sets it. What is not read `in_file` is the machine's to say: the file travels with branches, so
    that it also names only folders `inside` the project where things are written. A number is `least` to `most`.
    """

    name: str
    default: object
    about: str
    choices: tuple[str, ...] = ()
    older: str = ""
    in_file: bool = True
    inside: bool = False
    least: int = 0
    most: int = MOST

    @property
    def variable(self) -> str:
        """The environment variable that overrides the file."""
        return f"CODE_INTEL_{self.name.upper()}"


SETTINGS = (
    Setting(
        "embedding",
        "auto",
        "`auto`, `faithful` or `sentence-transformers` engines; `off` searches with words only.",
        choices=get_args(Embedding),
    ),
    Setting("embedding_threads", 0, "Threads that embed in the background; 0: up to four."),
    Setting(
        "cache_dir",
        "",
        "Where vectors are cached for all projects; empty: the user's cache folder.",
    ),
    Setting(
        "state_dir",
        "",
        "Where it is kept what sessions have acknowledged; empty: the user's state folder.",
        in_file=False,
    ),
    Setting("expire_days", 30, "Days without confirmed use before an agreement expires; 0: never."),
    Setting(
        "trust_git",
        default=True,
        about="Agreements merged in git that say `confirmed: true` count as confirmed.",
    ),
    Setting(
        "trunk",
        "",
        "Branch whose agreements are merged; empty: the remote's default, else `main`, `master`.",
        in_file=False,
    ),
    Setting("session_hours", 24, "Hours after its last event until a session expires; 0: never."),
    Setting(
        "idle_minutes", 5, "Minutes without a question until the model is dropped from memory."
    ),
    Setting(
        "tokenization_strategy",
        "phrase-aware",
        "Whether `page-agent` is looked for whole, in parts (`legacy`), or as both (`hybrid`).",
        choices=get_args(TokenizationStrategy),
        older="KIRI_TOKENIZATION_STRATEGY",
    ),
    Setting(
        "tool_groups",
        (),
        "Groups of tools that the gateway lists beside the core, such as `code`.",
        choices=get_args(ToolGroup),
    ),
    Setting("plans_dir", ".gistdex", "Where query plans and their pages are kept.", inside=True),
    Setting(
        "command_runner",
        "auto",
        "What executes commands: `climpt`, `deno`, `prompts`, or a program's absolute path.",
        in_file=False,
    ),
    Setting(
        "climpt_module",
        "jsr:@aidevtool/climpt",
        "The module that Deno runs to execute a command.",
        in_file=False,
    ),
    Setting("command_timeout", 60, "Seconds a command may take to answer.", least=1, most=3600),
)
