"""Set a project up, and undo that, once for each of its disk operations, which fails.

Run as `python -m cli.setup.init_faults FOLDER CASE WAY EVERY` in `tests`; it forks, so it needs its
own process. It prints one JSON line: how often the disk refused, how often the process died, and
what was wrong afterwards.
"""

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from code_intel.cli.setup import clients, transaction
from code_intel.cli.setup.init import apply, setup
from code_intel.cli.setup.removal import removal
from code_intel.cli.setup.transaction import SETUP
from code_intel.index.schema import APPLICATION_ID
from faulty_disk import Next, Tree, Work, faults, tree

DERIVED = re.compile(r"\.db$|/backup(/|$)|/agreements$|^\.code-intel$|^\.claude$")
"""What goes last, and may be left where a removal was refused."""
FILES = {
    ".gitignore": b"*.pyc",
    ".mcp.json": b'{"mcpServers": {"o": {}}}',
    ".vscode/mcp.json": b"// mine\n",
    ".code-intel/.gitignore": b"# theirs\n*.db\n",
}


def init(root: Path) -> None:
    """Set up for three clients, of which two have files."""
    transaction.recover(root, SETUP)
    apply(setup(root, clients.chosen(["claude", "vscode", "codex"])))


def init_for_claude(root: Path) -> None:
    """Set up for one."""
    transaction.recover(root, SETUP)
    apply(setup(root))


def remove(root: Path) -> None:
    """Take it back."""
    transaction.recover(root, SETUP)
    apply(removal(root))


def write(root: Path, files: Mapping[str, bytes]) -> Path:
    """Make a project of files; return it."""
    root.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def after(start: Path, work: Work, root: Path) -> Tree:
    """Return what a work makes of a project."""
    shutil.copytree(start, root)
    work(root)
    return tree(root)


def of_owned(folder: Path, found: Counter[str], way: str, every: int) -> Iterator[str]:
    """Stop a set-up of a project whose files are people's."""
    owned = write(folder / "owned" / "p", FILES)
    done = after(owned, init, folder / "made" / "p")
    one = after(owned, init_for_claude, folder / "one" / "p")
    then: Next = {
        init: (done, done),
        init_for_claude: (one, done),
        remove: (tree(owned), tree(owned)),
    }
    return faults(owned, folder / "a" / "p", init, then, found, DERIVED, way, every)


def of_nothing(folder: Path, found: Counter[str], way: str, every: int) -> Iterator[str]:
    """Stop a set-up of an empty folder."""
    bare = write(folder / "bare" / "p", {})
    done = after(bare, init_for_claude, folder / "made" / "p")
    then: Next = {init_for_claude: (done, done), remove: (tree(bare), tree(bare))}
    return faults(bare, folder / "a" / "p", init_for_claude, then, found, DERIVED, way, every)


def of_removal(folder: Path, found: Counter[str], way: str, every: int) -> Iterator[str]:
    """Stop what takes it all back, databases included."""
    owned = write(
        folder / "owned" / "p", {name: FILES[name] for name in (".gitignore", ".mcp.json")}
    )
    after(owned, init_for_claude, made := folder / "made" / "p")
    database = b"\0" * 68 + APPLICATION_ID.to_bytes(4)
    write(made, dict.fromkeys(("vectors-forest.db", ".code-intel/vectors-map.db"), database))
    then: Next = {remove: (tree(owned), tree(owned))}
    return faults(made, folder / "a" / "p", remove, then, found, DERIVED, way, every)


CASES = {case.__name__: case for case in (of_owned, of_nothing, of_removal)}


def main(folder: Path, case: str, way: str, every: str) -> None:
    """Try one case in a folder, at every n-th change."""
    found: Counter[str] = Counter()
    wrong = list(CASES[case](folder, found, way, int(every)))
    sys.stdout.write(json.dumps({"wrong": wrong, **found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
