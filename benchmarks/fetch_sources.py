"""Fetch the sources for `data/code_search_others.jsonl`, each by its registry's own client.

    python -m benchmarks.fetch_sources DIR [--repo NAME]...

makes one folder for each repository in DIR: source distributions by pip, packages by npm, and other
languages by apt-get, from the source packages of Debian 12, without Debian's changes. That needs no
root and does not change the system's package lists. It needs a Debian or Debian-like system, or a
container of one, that has run `apt-get update`. Versions and checksums are pinned in the manifest
beside the questions. Existing folders stay. A source that cannot be fetched is named with the
reason, and the exit code is 1 then.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.labels import OTHERS, manifest_of

RELEASE = "bookworm"
SECONDS = 600


class NotFetchedError(Exception):
    """A package could not be had; the text says why and, where there is one, the way out."""


def by_pip(package: str, version: str, scratch: Path) -> Path:
    """Download a source distribution, by a pip in an environment of its own: ours has none."""
    environment = scratch.parent / "pip"
    if not environment.exists():
        venv.create(environment, with_pip=True)
    python = environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    options = ["--quiet", "--no-deps", f"--no-binary={package}", f"--dest={scratch}"]
    run_client([str(python), "-m", "pip", "download", *options, f"{package}=={version}"], scratch)
    return only(scratch, f"*{version}.tar.gz")


def by_npm(package: str, version: str, scratch: Path) -> Path:
    """Download a package as it is published."""
    run_client(["npm", "pack", "--silent", f"{package}@{version}"], scratch)
    return only(scratch, f"*{version}.tgz")


def by_apt(package: str, version: str, scratch: Path) -> Path:
    """Download the archive that a source package of Debian is made from.

    Fetch the lists of source packages once into the folder above, from the sources of this system's
    apt.
    """
    lists, sources = scratch.parent / "lists", scratch.parent / "sources.list"
    apt = [
        *("apt-get", "--quiet", "--quiet", "--option", f"Dir::Etc::SourceList={sources}"),
        *("--option", "Dir::Etc::SourceParts=-", "--option", f"Dir::State::Lists={lists}"),
        *("--option", f"Dir::Cache={scratch.parent}", "--option", "APT::Update::Error-Mode=any"),
    ]
    if not list(lists.glob("*_Sources*")):
        known = run_client(
            ["apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)"], scratch
        )
        release = f"Debian {RELEASE} "  # a mirror of updates has no source packages of the release
        places = sorted({x.split()[2] for x in known.splitlines() if x.startswith(release)})
        if not places:
            raise NotFetchedError(
                "apt knows of no Debian: run `apt-get update` on Debian, then again"
            )
        lists.mkdir(exist_ok=True)
        sources.write_text(f"deb-src {places[0]} {RELEASE} main\n", encoding="utf-8")
        run_client([*apt, "update"], scratch)
    run_client([*apt, "source", "--download-only", "--tar-only", package], scratch)
    return only(scratch, f"{package}_{version}.orig.tar.[bgx]z*")


CLIENTS: Mapping[str, Callable[[str, str, Path], Path]] = {
    "pypi": by_pip,
    "npm": by_npm,
    "debian": by_apt,
}
"""Who fetches, by the manifest's `from`."""


def unpack(archive: Path, target: Path, sha256: str) -> None:
    """Unpack what lies in the one folder of an archive.

    Raises:
        NotFetchedError: The archive is not the one that was labelled.
    """
    with archive.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise NotFetchedError(f"{archive.name} is not the archive whose files were labelled")
    with tempfile.TemporaryDirectory(dir=target.parent) as beside, tarfile.open(archive) as packed:
        packed.extractall(beside, filter="data")
        (top,) = Path(beside).iterdir()
        top.rename(target)


def run_client(command: list[str], folder: Path) -> str:
    """Run a client in a folder and return its output; an error has its last line as reason."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise NotFetchedError(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise NotFetchedError(f"{command[0]} took more than {SECONDS} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NotFetchedError(f"{command[0]}: {said[-1] if said else 'failed and says nothing'}")
    return done.stdout


def only(folder: Path, pattern: str) -> Path:
    """Return the archive that was fetched."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise NotFetchedError(f"{pattern} was expected, {there} came")
    return found[0]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    manifest = json.loads(manifest_of(OTHERS).read_text(encoding="utf-8"))
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument(
        "--repo", action="append", choices=list(manifest), help="only this; may be repeated"
    )
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    missing = 0
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)  # apt fetches as a user of its own
        for repo in args.repo or manifest:
            row, target = manifest[repo], args.folder / repo
            name = f"{repo:<14}{row['package']} {row['version']}"
            if target.exists():
                print(f"{name}: there already")
                continue
            place = Path(scratch) / repo
            place.mkdir()
            try:
                archive = CLIENTS[row["from"]](row["package"], row["version"], place)
                unpack(archive, target, row["sha256"])
                print(f"{name}: fetched", flush=True)
            except NotFetchedError as error:
                missing += 1
                print(f"{name}: not fetched: {error}", flush=True)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
