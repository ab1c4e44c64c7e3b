"""Copy a part of the shipped labels, so that a test fits in seconds."""

import json
import shutil
from pathlib import Path

from code_intel.learned.fit.labels import QUESTIONS
from code_intel.learned.fit.whole_requests import REQUESTS


def some_labels(folder: Path) -> tuple[Path, Path]:
    """Return a folder with one set of questions, and one with the requests of two repositories."""
    questions, requests = folder / "questions", folder / "requests"
    questions.mkdir()
    requests.mkdir()
    shutil.copy(QUESTIONS / "infrastructure.json", questions)
    raw = json.loads((REQUESTS / "first.json").read_text(encoding="utf-8"))
    repos = sorted({row["repo"] for row in raw["store"]})[:2]
    store = [row for row in raw["store"] if row["repo"] in repos]
    ids = {row["id"] for row in store}
    queries = [row for row in raw["queries"] if row["near"] in ids]
    (requests / "some.json").write_text(json.dumps({"store": store, "queries": queries}))
    return questions, requests
