"""Make trees of 1,000, 10,000 and 100,000 files of real code, for `growth.py` and others.

    python -m benchmarks.growth_tree DIR [--only SIZE]...

fetches the packages of `data/growth_packages.json`, each by its registry's own client, and makes
one git repository for each size in DIR. Versions and checksums are pinned. A file is taken once,
whatever the number of copies. Each size takes the same share of every package, from the beginning
of its sorted files, so a small tree is a part of the large one and folders stay together. `main`
has one commit; in the branch `other`, 1,000 files differ (a tenth of their lines is gone), and one
is new. The archives stay in DIR/archives. Fetching and unpacking takes about 15 minutes and 8 GB.

    python -m benchmarks.growth_tree DIR --pin FILE

makes the manifest from a list of packages, one `registry package version` a line.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from benchmarks.fetch_sources import NotFetchedError, by_apt, by_npm, only, run_client

PACKAGES = Path(__file__).resolve().parent / "data" / "growth_packages.json"
SIZES = (1_000, 10_000, 100_000)
MOST_OF_A_PACKAGE = 5_000
MOST_BYTES = 256 << 10
"""Larger files are mostly tables."""
CHANGED = 1_000
MARKER = "growth_marker_of_the_other_branch"
SUFFIXES = frozenset(
    """.c .cc .cpp .cs .cxx .go .h .hh .hpp .java .js .jsx .kt .lua .md .mjs .php .py .pyx .rb .rs
    .scala .sh .sql .swift .ts .tsx""".split()  # noqa: SIM905 - a text is easier to read
)
AUTHOR = {
    "GIT_AUTHOR_NAME": "growth",
    "GIT_AUTHOR_EMAIL": "growth@example.org",
    "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "growth",
    "GIT_COMMITTER_EMAIL": "growth@example.org",
    "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
README = """\
Trees of real code, made by `python -m benchmarks.growth_tree`: 1000/, 10000/ and 100000/ files.

Each is a git repository: `main` has one commit; in the branch `other`, 1,000 files differ and one
is new, with the function `{marker}`. Do not change these trees:
copy what you need (`git clone --local` or `git worktree add`). `trees.json` has their digests. A
file has about 10 chunks, so the largest tree has about 1,000,000.
"""


class Source(NamedTuple):
    """A file that the trees may contain."""

    name: str
    member: Path


def by_wheel(package: str, version: str, scratch: Path) -> Path:
    """Download a wheel without code for a platform: building a source distribution takes longer."""
    environment = scratch.parent / "pip"
    if not environment.exists():
        venv.create(environment, with_pip=True)
    options = ["--only-binary=:all:", "--platform=any", "--python-version=3.14", "--abi=none"]
    command = [str(environment / "bin" / "python"), "-m", "pip", "download", "--quiet", "--no-deps"]
    run_client([*command, *options, f"--dest={scratch}", f"{package}=={version}"], scratch)
    return only(scratch, "*.whl")


CLIENTS: Mapping[str, Callable[[str, str, Path], Path]] = {
    "pypi": by_wheel,
    "npm": by_npm,
    "debian": by_apt,
}


def fetch(row: Mapping[str, str], archives: Path, scratch: Path) -> Path:
    """Return the archive of a package, fetched unless it is there.

    Raises:
        NotFetchedError: It cannot be had, or differs from the one of the manifest.
    """
    target = archives / f"{row['from']}-{row['package'].strip('@').replace('/', '-')}"
    if not target.exists():
        place = scratch / target.name
        place.mkdir()
        place.chmod(0o755)
        found = CLIENTS[row["from"]](row["package"], row["version"], place)
        shutil.move(found, target)
        shutil.rmtree(place)
    if row.get("sha256") not in (None, digest_of(target)):
        raise NotFetchedError(f"{target} is not the archive of the manifest; delete it")
    return target


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive, once."""
    if folder.exists():
        return
    with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(beside)  # noqa: S202 - its checksum is pinned
        else:
            with tarfile.open(archive) as packed:
                for member in _code(packed):
                    packed.extract(member, beside, filter="data")
        Path(beside).rename(folder)
        Path(beside).mkdir()


def _code(packed: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the source files of an archive in its order, and no more than are wanted."""
    count = 0
    for member in packed:
        if count == MOST_OF_A_PACKAGE:
            return
        is_code = member.isfile() and PurePosixPath(member.name).suffix in SUFFIXES
        if is_code and 0 < member.size <= MOST_BYTES:
            count += 1
            yield member


def sources_of(package: str, folder: Path, seen: set[bytes]) -> list[Source]:
    """Return the files of an unpacked package that no earlier package has, sorted by name."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES):
        if path.is_symlink() or not path.is_file() or not 0 < path.stat().st_size <= MOST_BYTES:
            continue
        digest = hashlib.sha256(path.read_bytes()).digest()
        if digest not in seen:
            seen.add(digest)
            inner = path.relative_to(folder).parts
            name = "/".join(inner[1:] if len(inner) > 1 else inner)
            found.append(Source(f"{package}/{name}", path))
    return found


def chosen(packages: Sequence[Sequence[Source]], size: int) -> list[Source]:
    """Return so many files, the same share of each package."""
    total = sum(map(len, packages))
    if total < size:
        raise SystemExit(f"The packages have {total:,} files; {size:,} are wanted.")
    taken: list[Source] = []
    passed = 0
    for sources in packages:
        passed += len(sources)
        taken += sources[: passed * size // total - len(taken)]
    return taken


def make(tree: Path, sources: Sequence[Source]) -> dict[str, object]:
    """Write a tree with its two branches, and return its digest and counts."""
    partial = tree.with_name(f"{tree.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    digest, size = hashlib.sha256(), 0
    for source in sources:
        target = partial / source.name
        target.parent.mkdir(parents=True, exist_ok=True)
        data = source.member.read_bytes()
        target.write_bytes(data)
        digest.update(f"{source.name}\0{hashlib.sha256(data).hexdigest()}\n".encode())
        size += len(data)
    git(partial, "init", "--quiet", "--initial-branch=main")
    git(partial, "config", "gc.auto", "0")
    commit(partial, "Add the sources")
    git(partial, "checkout", "--quiet", "-b", "other")
    step = max(1, len(sources) // CHANGED)
    for source in sources[::step][:CHANGED]:
        path = partial / source.name
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: len(lines) - max(1, len(lines) // 10)]) or b"\n")
    marker = partial / "zz_marker" / "marker.py"
    marker.parent.mkdir()
    marker.write_text(f'def {MARKER}():\n    """Mark the other branch."""\n', encoding="utf-8")
    commit(partial, "Change 1,000 files")
    git(partial, "checkout", "--quiet", "main")
    shutil.rmtree(tree, ignore_errors=True)
    partial.rename(tree)
    return {"files": len(sources), "bytes": size, "sha256": digest.hexdigest()}


def git(folder: Path, *arguments: str) -> str:
    """Run git with a fixed author and time; return its output."""
    command = ["git", "-C", str(folder), *arguments]
    environment = os.environ | AUTHOR
    return subprocess.run(
        command, check=True, env=environment, stdout=subprocess.PIPE, text=True
    ).stdout


def commit(folder: Path, subject: str) -> None:
    """Commit everything, whatever the ignore rules of the packages say."""
    git(folder, "-c", "core.autocrlf=false", "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", subject)


def fetched(folder: Path, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Path]]:
    """Yield every package and the folder in which it is unpacked."""
    archives, unpacked = folder / "archives", folder / "unpacked"
    archives.mkdir(parents=True, exist_ok=True)
    unpacked.mkdir(exist_ok=True)
    missing = []
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)  # apt fetches as a user of its own
        for row in rows:
            try:
                archive = fetch(row, archives, Path(scratch))
            except NotFetchedError as error:
                missing.append(row["package"])
                print(f"{row['package']} {row['version']}: not fetched: {error}", flush=True)
                continue
            unpack(archive, unpacked / archive.name)
            yield archive.name.partition("-")[2], unpacked / archive.name
    if missing:
        raise SystemExit(f"Not fetched, so the trees would differ: {', '.join(missing)}")


def pin(folder: Path, listed: Path) -> None:
    """Write the manifest of a list of packages; leave out what cannot be fetched."""
    archives, rows = folder / "archives", []
    archives.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        for line in listed.read_text(encoding="utf-8").splitlines():
            registry, package, version = line.split()
            row = {"from": registry, "package": package, "version": version}
            try:
                rows.append(row | {"sha256": digest_of(fetch(row, archives, Path(scratch)))})
            except NotFetchedError as error:
                print(f"{package} {version}: {error}", flush=True)
    text = ",\n".join(f" {json.dumps(row)}" for row in rows)
    PACKAGES.write_text(f"[\n{text}\n]\n", encoding="utf-8")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--only", type=int, action="append", choices=SIZES)
    parser.add_argument("--pin", type=Path, metavar="FILE")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.pin:
        pin(args.folder, args.pin)
        return 0
    rows = json.loads(PACKAGES.read_text(encoding="utf-8"))
    seen: set[bytes] = set()
    packages = [sources_of(name, path, seen) for name, path in fetched(args.folder, rows)]
    report = args.folder / "trees.json"
    digests = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    for size in args.only or SIZES:
        digests[str(size)] = make(args.folder / str(size), chosen(packages, size))
        report.write_text(json.dumps(digests, indent=1), encoding="utf-8")
        print(f"{size:>8,} files: {digests[str(size)]}", flush=True)
    text = README.format(marker=MARKER)
    (args.folder / "README.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
