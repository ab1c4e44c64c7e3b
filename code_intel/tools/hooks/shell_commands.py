"""Find out which files a shell command names and writes, and what it searches for.

The command is parsed and never executed. Writes by other programs, and paths that only the shell
can compute, is unknown; the audit of the changed files finds them later.
"""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from code_intel.foundation.timed_parse import parse_within
from code_intel.tools.hooks.patches import diffed_files, patched_files
from code_intel.tools.hooks.shell_programs import searched_by, written_by

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

MAX_COMMAND_CHARS = 60_000
"""The rest of a longer command, usually the text of a file, is not parsed."""
PARSE_TIMEOUT_S = 0.3
"""Of a command that takes longer, only the start is parsed: text that is no command takes quadratic
time, and a client waits for its hook."""
START_CHARS = 2000
"""Length of that start."""
MAX_FILES = 50
"""Maximum files of a command, and maximum patterns, that are returned."""
MAX_PATCH_BYTES = 1_000_000
"""The rest of a longer patch is not read."""
_MAX_VALUES = 20
"""Maximum values of a word that contains the variable of a loop."""
_MAX_DEPTH = 3
"""Maximum depth of `bash -c` within `bash -c`."""
_MAX_NODES = 20_000
_MAX_TREE_DEPTH = 200
"""Maximum nesting of a command."""
_WRITE_OPERATORS = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_WRAPPERS = frozenset(
    {"sudo", "env", "nohup", "time", "command", "exec", "nice", "timeout", "xargs", "stdbuf"}
)
"""Programs that execute the command in their arguments."""
_OF_WRAPPER = re.compile(r"-.*|\d+[smhd]?|\w+=.*", re.DOTALL)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_PATCHERS = frozenset({"apply_patch", "applypatch"})
_PYTHON = re.compile(r"python(?:\d(?:\.\d+)?)?")
_ESCAPED = {
    "word": re.compile(r"\\(.)"),
    "number": re.compile(r"\\(.)"),
    "command_name": re.compile(r"\\(.)"),
    "string_content": re.compile(r'\\([$`"\\])'),
}
"""What a backslash protects, by the type of a word."""
_WRITTEN_BY_PYTHON = re.compile(
    r"""\bopen\(\s*(['"])(?P<opened>[^'"\n]+)\1\s*,\s*(?:mode\s*=\s*)?['"][rbt]*[wax+]"""
    r"""|\bPath\(\s*(['"])(?P<path>[^'"\n]+)\3\s*\)\.(?:write_text|write_bytes|unlink)\("""
)


_PATH = re.compile(r"[\w./~+-]+")
"""A word that may name a file with a patch."""


class ShellCommand(NamedTuple):
    """What is known of a command. Paths are absolute, and may contain `*`, `?` and `[`.

    Attributes:
        writes: The files that it writes, moves or deletes.
        names: The words that may name a file.
        patterns: What it searches for with `rg`, `grep`, `find` or a similar program.
        places: The words that say where it searches.
        folders: The folders in which it is executed; `cd` adds to them.
    """

    writes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def read_command(command: str, folder: str) -> ShellCommand:
    """Return what is known of a command that a shell executes in `folder`.

    >>> read_command("cd src && sed -i s/a/b/ x.py > /dev/null", "/shop").writes
    ('/shop/src/x.py', '/dev/null')
    >>> read_command("rg -n 'def login' src", "/shop").patterns
    ('def login',)
    """
    reader = _Reader(folder)
    reader.read(command)
    rows = (reader.writes, reader.names, reader.patterns, reader.places, reader.folders)
    return ShellCommand(*(tuple(dict.fromkeys(row))[:MAX_FILES] for row in rows))


class _Reader:
    """Follows a command in its order, with the folders of `cd` and the variables of loops."""

    def __init__(self, folder: str, depth: int = 0) -> None:
        self.folder: str | None = folder
        self.variables: dict[str, Sequence[str]] = {"PWD": (folder,)}
        self.depth = depth
        self.nodes = 0
        self.writes: list[str] = []
        self.names: list[str] = []
        self.patterns: list[str] = []
        self.places: list[str] = []
        self.folders = [folder]
        self.command = ""

    def read(self, command: str) -> None:
        """Add what is known of a command; nothing if the grammar is not installed."""
        self.command = command
        if parser := _parser():
            tree = _parsed(parser, command[:MAX_COMMAND_CHARS])
            self._walk(tree.root_node, 0, piped=False)

    def _walk(self, node: "Node", depth: int, *, piped: bool) -> None:
        """Read a node of the tree; `piped` is whether it reads what another command prints."""
        self.nodes += 1
        if self.nodes > _MAX_NODES or depth > _MAX_TREE_DEPTH:
            return
        folder = self.folder
        if node.type == "command":
            self._command(node, piped=piped)
        elif node.type == "file_redirect":
            self._redirect(node)
        elif node.type == "for_statement":
            self._loop(node)
        elif node.type == "variable_assignment":
            self._assign(node)
        for place, child in enumerate(node.named_children):
            is_fed = piped or (node.type == "pipeline" and place > 0)
            self._walk(child, depth + 1, piped=is_fed)
        if node.type in {"subshell", "command_substitution", "process_substitution"}:
            self.folder = folder

    def _loop(self, node: "Node") -> None:
        if name := node.child_by_field_name("variable"):
            values = (self._values(each) for each in node.children_by_field_name("value"))
            self.variables[_text(name)] = [text for each in values for text in each]

    def _assign(self, node: "Node") -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name:
            self.variables[_text(name)] = self._values(value) if value else ()

    def _redirect(self, node: "Node") -> None:
        target = node.child_by_field_name("destination")
        signs = {child.type for child in node.children}
        is_write = bool(signs & _WRITE_OPERATORS)
        if target and ">&" in signs:  # not `2>&1`, which names no file
            is_write = not _text(target).isdigit() and _text(target) != "-"
        if target:
            self._add(self.writes if is_write else self.names, self._values(target))

    def _command(self, node: "Node", *, piped: bool) -> None:
        nodes = [*node.children_by_field_name("name"), *node.children_by_field_name("argument")]
        around = _with_redirects(node)
        for redirect in around.children_by_field_name("redirect"):
            # The grammar takes the words after a redirection for further files of it.
            nodes += redirect.children_by_field_name("destination")[1:]
        words = [self._values(each) for each in nodes]
        words = words[_wrapped(words) :]
        if not words or len(words[0]) != 1:
            return
        program = words[0][0].rpartition("/")[2]
        arguments = [value for word in words[1:] for value in word]
        if program in {"cd", "pushd"}:
            self.folder = self._path(arguments[0]) if arguments and arguments[0] != "-" else None
            self.folders += [self.folder] if self.folder else []
        elif program in _SHELLS and arguments[:1] == ["-c"]:
            self._inner(arguments[1:2])
        else:
            self._program(program, arguments, piped=piped)
            self._patch(program, arguments)
            if _PYTHON.fullmatch(program):
                self._python((*arguments, _text(around)))

    def _program(self, program: str, arguments: Sequence[str], *, piped: bool) -> None:
        if program == "git" and arguments:
            program, arguments = f"git {arguments[0]}", arguments[1:]
        self._add(self.names, arguments)
        self._add(self.writes, written_by(program, arguments, self._is_folder))
        if not piped:
            patterns, places = searched_by(program, arguments)
            self.patterns += patterns
            self._add(self.places, places)

    def _patch(self, program: str, arguments: Sequence[str]) -> None:
        """Add the files of a patch in an argument, a here-document, a file, or a piped text."""
        text = self.command
        if program in _PATCHERS:
            self._add(self.writes, patched_files(text))
        elif program == "patch" or (program == "git" and arguments[:1] in (["apply"], ["am"])):
            named = [path for word in _PATH.findall(text) if (path := self._path(word))]
            texts = (text, *map(_content, named[:MAX_FILES]))
            for each in texts:
                self._add(self.writes, diffed_files(each)[:MAX_FILES])
            if program == "patch":
                self._add(self.writes, [word for word in arguments[:1] if word[:1] != "-"])

    def _inner(self, scripts: Iterable[str]) -> None:
        for script in scripts if self.folder and self.depth < _MAX_DEPTH else ():
            inner = _Reader(self.folder or "", self.depth + 1)
            inner.read(script)
            self.writes += inner.writes
            self.names += inner.names
            self.patterns += inner.patterns
            self.places += inner.places

    def _python(self, texts: Iterable[str]) -> None:
        for text in texts:
            for match in islice(_WRITTEN_BY_PYTHON.finditer(text), MAX_FILES):
                self._add(self.writes, [match["opened"] or match["path"]])

    def _is_folder(self, word: str) -> bool:
        path = self._path(word)
        return path is not None and os.path.isdir(path)  # noqa: PTH112 - Path raises for long names

    def _add(self, paths: list[str], words: Iterable[str]) -> None:
        paths += [path for word in words if (path := self._path(word))]

    def _path(self, word: str) -> str | None:
        """Return the path that a word names; None if only the shell knows."""
        if not word or "\0" in word or "\n" in word or word.startswith("~"):
            return None
        if self.folder is None and not word.startswith("/"):
            return None
        # Path would normalize the text; the kernel reads it as it is.
        return os.path.join(self.folder or "/", word.removeprefix("./"))  # noqa: PTH118

    def _values(self, node: "Node") -> Sequence[str]:
        """Return the values of a word; () if only the shell can compute it."""
        if node.type in {"string", "concatenation"}:
            parts = [self._values(child) for child in node.named_children]
            return ["".join(each) for each in islice(product(*parts), _MAX_VALUES)]
        if node.type in {"simple_expansion", "expansion"}:
            return self.variables.get(_text(node).strip("${}"), ())
        if node.type == "command_name" and node.named_children:
            return self._values(node.named_children[0])
        if node.type == "raw_string":
            return (_text(node)[1:-1],)
        escaped = _ESCAPED.get(node.type)
        return (escaped.sub(r"\1", _text(node)),) if escaped else ()


def _content(path: str) -> str:
    """Return the text of a file, if it can be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_PATCH_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


@cache
def _parser() -> "Parser | None":
    """Return a parser of shell commands; None if the grammar is not installed."""
    try:
        import tree_sitter_bash
        from tree_sitter import Language, Parser
    except ImportError:
        return None
    return Parser(Language(tree_sitter_bash.language()))


def _parsed(parser: "Parser", command: str) -> "Tree":
    """Parse a command, or its start if that takes too long."""
    command = command.replace("\0", " ")  # no program gets them, and they slow the parser down
    for part in (command, command[:START_CHARS]):
        with suppress(ValueError):
            return parse_within(PARSE_TIMEOUT_S, parser, part.encode("utf-8", "replace"))
        parser.reset()
    return parser.parse(b"")


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _with_redirects(node: "Node") -> "Node":
    """Return the statement that contains the redirections of a command; the command without them.

    Those of the last command in a list belong to the statement around the list.
    """
    around = node
    while around.parent and around.parent.type in {"list", "pipeline"}:
        if around.next_named_sibling:
            return node
        around = around.parent
    return around.parent if around.parent and around.parent.type == "redirected_statement" else node


def _wrapped(words: Sequence[Sequence[str]]) -> int:
    """Return the place of the program that wrappers such as `sudo` execute."""
    place = 0
    while place < len(words) and len(words[place]) == 1 and words[place][0] in _WRAPPERS:
        place += 1
        while place < len(words) and all(map(_OF_WRAPPER.fullmatch, words[place])):
            place += 1
    return place
