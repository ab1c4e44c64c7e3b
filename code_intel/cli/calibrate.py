"""Calibrate the map's score for the embedding model of this project.

The map (the project's agreements on which symbol a term means) answers with a score. With a model
that has no calibration, only exact terms lead to READY. This command fits the constants of the
score for the model, on labelled questions that are part of code-intel and on the confirmed
agreements and aliases of this project. It prints what the fit reaches on questions that it has not
seen: the shares of right and wrong answers at the scores for VERIFICATION and READY. If that is not
enough, it says why, writes nothing and exits with 1.

The constants apply to this project, on this machine, with this version of the model. Servers use
them from the next call. The default model is calibrated already; `--force` fits it again with the
agreements of this project. The fit embeds 4,500 short texts, which takes one to ten minutes.
Run it again when the map has grown.

--json: `status` (written, dry_run, refused, calibrated, removed or absent), `model`, `revision`,
`file`; after a fit `agreements`, `questions`, `rates` {data, kind, language, questions,
scores: [{score, right, wrong}]}, `problems`; else `note`.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from code_intel.cli.output import emit, progress
from code_intel.cli.project import add_project, project_of
from code_intel.config import Settings
from code_intel.embedding.lazy import LazyEmbedder, model_revision
from code_intel.errors import EmbeddingError, UsageError
from code_intel.foundation import durable
from code_intel.foundation.text import counted
from code_intel.index.facade import Index
from code_intel.learned.recall import calibration
from code_intel.learned.status.agreement_status import standings

FORCE_HINT = "`code-intel calibrate --force` fits it again with this project's agreements."
EXACT_TERMS_ONLY = "Only exact terms lead to READY now."
REMOVE_HINT = "`code-intel calibrate --remove` undoes this."
KINDS: Mapping[tuple[str, str], str] = {
    ("questions", "answerable"): "with an answer",
    ("questions", "near_miss"): "near an agreement",
    ("questions", "unrelated"): "unrelated",
    ("project", "answerable"): "of this project",
    ("requests", "repeated"): "repeated requests",
    ("requests", "other"): "other requests",
}
"""The titles of the rows, by `Rate.data` and `Rate.kind`."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--force", action="store_true", help="fit a model that has a shipped calibration, too"
    )
    parser.add_argument("--dry-run", action="store_true", help="fit and print; write nothing")
    parser.add_argument(
        "--remove", action="store_true", help="remove this project's calibration of the model"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Fit, print and write; return 1 if the fit must not be used."""
    if args.remove and args.force:
        raise UsageError("--remove and --force exclude each other.", details={"field": "remove"})
    settings = project_of(args)
    model = LazyEmbedder(settings, corpus="map")
    if why := model.why_unavailable():
        raise EmbeddingError(why, hint="Install a model, then calibrate it.")
    if args.remove:
        data = _remove(settings, model.identity, dry=args.dry_run)
    elif calibration.fitted(model.identity) and not args.force:
        data = _already_calibrated(settings, model.identity)
    else:
        data = _fit(settings, model, dry=args.dry_run)
    emit(args, data, _text(data))
    return 1 if data["status"] == "refused" else 0


def _remove(settings: Settings, identity: str, *, dry: bool) -> dict[str, Any]:
    file = calibration.own_file(settings, identity)
    if not file.is_file():
        note = f"This project has no calibration of its own for {identity}."
        return _data("absent", settings, identity) | {"note": note}
    if dry:
        note = f"Dry run: this project's calibration of {identity} would be removed."
        return _data("dry_run", settings, identity) | {"note": note}
    durable.remove(file)
    shipped = "The shipped one is used." if calibration.fitted(identity) else EXACT_TERMS_ONLY
    note = f"Removed this project's calibration of {identity}. {shipped}"
    return _data("removed", settings, identity) | {"note": note}


def _already_calibrated(settings: Settings, identity: str) -> dict[str, Any]:
    is_own = calibration.own_file(settings, identity).is_file()
    which = "by this project's own constants" if is_own else "by constants that are shipped with it"
    note = f"{identity} is calibrated {which}. {FORCE_HINT}"
    return _data("calibrated", settings, identity) | {"note": note}


def _fit(settings: Settings, model: LazyEmbedder, *, dry: bool) -> dict[str, Any]:
    from code_intel.learned.fit.calibrate import THRESHOLDS, calibrate
    from code_intel.learned.fit.own_agreements import labels_of

    with Index(settings.forest, readonly=True) as forest:
        own = labels_of(standings(settings, forest))
    with progress() as advance:
        model.load()
        found = calibrate(model, own, advance)
    status = "refused" if found.problems else "dry_run" if dry else "written"
    data = _data(status, settings, model.identity) | {
        "agreements": len(own.agreements),
        "questions": len(own.queries),
        "rates": [
            {
                "data": rate.data,
                "kind": rate.kind,
                "language": rate.language,
                "questions": rate.questions,
                "scores": [
                    {"score": score, "right": round(right, 3), "wrong": round(wrong, 3)}
                    for score, right, wrong in zip(THRESHOLDS, rate.right, rate.wrong, strict=True)
                ],
            }
            for rate in found.rates
        ],
        "problems": list(found.problems),
    }
    if status == "written":
        _write(settings, found.constants, data["revision"])
    return data


def _write(settings: Settings, constants: Mapping[str, Any], revision: str) -> None:
    about = {"revision": revision, "fitted_at": datetime.now(UTC).isoformat(timespec="seconds")}
    raw = {"identity": constants["identity"], **about, **constants}
    file = calibration.own_file(settings, constants["identity"])
    durable.make_folder(file.parent, 0o700)
    durable.replace(file, (json.dumps(raw, indent=1) + "\n").encode())


def _data(status: str, settings: Settings, identity: str) -> dict[str, Any]:
    is_hub_model = "/sentence-transformers-" in identity
    return {
        "status": status,
        "model": identity,
        "revision": model_revision(settings.map) if is_hub_model else "",
        "file": str(calibration.own_file(settings, identity)),
    }


def _text(data: Mapping[str, Any]) -> str:
    if "rates" not in data:
        return str(data["note"])
    own = counted(data["agreements"], "confirmed agreement")
    aliases = counted(data["questions"], "alias", "aliases")
    lines = [
        f"Model: {data['model']}",
        f"Fitted on the shipped questions and this project's {own} with {aliases}.",
        *(_table(data["rates"]) if data["rates"] else ()),
        "",
    ]
    if data["problems"]:
        lines += ["The model was not calibrated:", *(f"- {each}" for each in data["problems"])]
        lines += ["Nothing was written. Only exact terms lead to READY. Try another model."]
    elif data["status"] == "dry_run":
        lines += ["Dry run: nothing was written."]
    else:
        lines += [f"Written to {data['file']}. {REMOVE_HINT}"]
    return "\n".join(lines)


def _table(rates: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the rates as a table: the shares of right and wrong answers at each score."""
    scores = [row["score"] for row in rates[0]["scores"]]
    heads = [f"{kind} {score}" for kind in ("right", "wrong") for score in scores]
    lines = ["", f"{'questions':<26}{'number':>7}" + "".join(f"{head:>11}" for head in heads)]
    for rate in rates:
        title = f"{KINDS[rate['data'], rate['kind']]}, {rate['language']}"
        has_answer = rate["kind"] in {"answerable", "repeated"}
        right = [f"{row['right']:.3f}" if has_answer else "-" for row in rate["scores"]]
        wrong = [f"{row['wrong']:.3f}" for row in rate["scores"]]
        cells = "".join(f"{cell:>11}" for cell in (*right, *wrong))
        lines.append(f"{title:<26}{rate['questions']:>7}{cells}")
    return lines
