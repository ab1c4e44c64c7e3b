"""List the references of symbols as jedi finds them; run by a Python that has jedi.

    python benchmarks/oracles/jedi_references.py ROOT < symbols.jsonl > references.jsonl

Each line of the input is `{"id", "file", "line", "column", "places": [[file, line, column], …]}`:
where a name is defined, and where it occurs; lines count from 1 and columns from 0. Each line of
the output is `{"id", "references": [[file, line], …]}`, with the definitions: what
`get_references` returns, and the places from which `goto` leads to the definition, because each
misses some. A symbol for which `get_references` fails has `"error"` instead.
"""

import json
import sys
from functools import lru_cache
from pathlib import Path

import jedi
from jedi.inference import references

# jedi stops after it has parsed 30 files with the name, so it would not find all.
references._PARSED_FILE_LIMIT = 100_000  # noqa: SLF001 - there is no public setting
references._OPENED_FILE_LIMIT = 100_000  # noqa: SLF001
MAX_PLACES = 400


def main() -> None:
    """Answer each line of standard input."""
    root = Path(sys.argv[1]).resolve()
    project = jedi.Project(root)

    @lru_cache(maxsize=64)
    def script_of(file: str) -> jedi.Script:
        return jedi.Script(path=root / file, project=project)

    for line in sys.stdin:
        row = json.loads(line)
        try:
            found = script_of(row["file"]).get_references(
                row["line"], row["column"], include_builtins=False
            )
        except Exception as error:  # noqa: BLE001 - jedi fails in many ways; the symbol is left out
            print(json.dumps({"id": row["id"], "error": repr(error)}), flush=True)
            continue
        places = {
            (str(Path(name.module_path).relative_to(root)), name.line)
            for name in found
            if name.module_path and Path(name.module_path).is_relative_to(root)
        }
        for file, number, column in row["places"][:MAX_PLACES]:
            try:
                targets = script_of(file).goto(number, column, follow_imports=True)
            except Exception:  # noqa: BLE001, S112 - as above; the place is no reference then
                continue
            if any(
                target.module_path == root / row["file"] and target.line == row["line"]
                for target in targets
            ):
                places.add((file, number))
        print(json.dumps({"id": row["id"], "references": sorted(places)}), flush=True)


if __name__ == "__main__":
    main()
