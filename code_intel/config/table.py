"""The table of settings; `docs/settings.md` describes them and `config.settings` reads them."""

from typing import Literal, NamedTuple, get_args

from code_intel.records import Language

Embedding = Literal["auto", "faithful", "sentence-transformers", "off"]
TokenizationStrategy = Literal["phrase-aware", "legacy", "hybrid"]
Demands = Literal["evidence", "counts"]
ToolGroup = Literal[
    "session", "search", "agreements", "code", "meaning", "reports", "plans", "commands"
]

MAX_NUMBER = 1_000_000
"""Maximum number of days, hours or minutes; larger ones overflow a date."""


class Setting(NamedTuple):
    """One row of the settings table; `docs/settings.md` has a section for each.

    Attributes:
        name: The key in `config.toml`.
        table: The table of `config.toml` that has the key; empty for the top level.
        default: The default; a value must have its type.
        choices: The allowed values, or items of a list; empty if all are allowed.
        old_variable: Another environment variable that sets it.
        in_file: Whether `config.toml` may set it. That file is versioned with the code, so it
            must not decide what only the user of this machine may decide.
        inside: Whether a folder given in `config.toml` must be inside the project.
        min: Minimum of a number.
        max: Maximum of a number.
    """

    name: str
    default: object
    choices: tuple[str, ...] = ()
    old_variable: str = ""
    in_file: bool = True
    inside: bool = False
    min: int = 0
    max: int = MAX_NUMBER
    table: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that overrides the file."""
        return f"CODE_INTEL_{self.key.replace('.', '_').upper()}"

    @property
    def key(self) -> str:
        """The key with its table, as messages show it."""
        return f"{self.table}.{self.name}" if self.table else self.name


EXPIRE_DAYS = 30
SETTINGS = (
    Setting("embedding", "auto", choices=get_args(Embedding)),
    # 0: up to four threads.
    Setting("embedding_threads", 0),
    # Empty: the user's cache folder.
    Setting("cache_dir", "", in_file=False),
    # Empty: the user's state folder.
    Setting("state_dir", "", in_file=False),
    # Folders outside the project that its index configurations may name, separated as in PATH.
    Setting("outside_folders", "", in_file=False),
    # 0: agreements never expire.
    Setting("expire_days", EXPIRE_DAYS),
    # The language of the headings in files of the map.
    Setting("language", "ja", choices=get_args(Language)),
    Setting("trust_git", default=True),
    # Empty: the default branch of the remote, else `main` or `master`.
    Setting("trunk", "", in_file=False),
    # 0: sessions never expire.
    Setting("session_hours", 24),
    # What READY requires: evidence, or as many symbols and files as in earlier versions.
    Setting("demands", "evidence", choices=get_args(Demands), table="gate"),
    Setting("idle_minutes", 5),
    Setting(
        "tokenization_strategy",
        "phrase-aware",
        choices=get_args(TokenizationStrategy),
        old_variable="KIRI_TOKENIZATION_STRATEGY",
    ),
    Setting("tool_groups", (), choices=get_args(ToolGroup)),
    Setting("plans_dir", ".gistdex", inside=True),
    # `auto`, `climpt`, `deno`, `prompts`, or the absolute path of a program.
    Setting("command_runner", "auto", in_file=False),
    Setting("climpt_module", "jsr:@aidevtool/climpt", in_file=False),
    Setting("command_timeout", 60, min=1, max=3600),
    Setting("url", "", table="shared"),
    # Empty: the name from the git remote.
    Setting("repository", "", table="shared"),
    Setting("map", default=False, table="shared"),
    Setting("token", "", table="shared", in_file=False),
)
