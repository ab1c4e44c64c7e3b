"""Resolve imports of JavaScript and TypeScript: relative paths, aliases, workspace packages."""

from collections.abc import Iterable, Iterator
from posixpath import dirname, splitext

from code_intel.forest.dependencies.manifests import Package, match_wildcard
from code_intel.forest.dependencies.paths import ancestors, join_path
from code_intel.forest.dependencies.project import Lookups

_ENDINGS = (
    "", ".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".d.ts", ".vue", ".svelte",
    ".json",
    "/index.ts", "/index.tsx", "/index.js", "/index.jsx", "/index.mts", "/index.mjs", "/index.cjs",
    "/index.d.ts", "/index.vue", "/index.svelte",
)  # fmt: skip
_WRITTEN = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx",),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
"""Extensions in imports → extensions of the TypeScript files that may be meant."""
_BUILT = ("dist", "build", "lib", "out", "esm", "cjs", "es", "types")
"""Names of folders that may contain files built from `src`."""
_SOURCE = "src"
_OWN = ("@/", "~/")
"""Prefixes that by convention mean the source folder."""


def resolve(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the document that an import in `path` means, in a tuple; an empty tuple if none."""
    name = target.partition("?")[0]
    if name.startswith("."):
        return _file(lookups, join_path(dirname(path), name))
    if name.startswith("#"):
        return _internal(lookups, path, name)
    aliased = _first(lookups, _aliased(lookups, path, name))
    return aliased or _packaged(lookups, name)


def package(target: str) -> str:
    """Return the package that an import names, with its scope; empty for a path."""
    if target.startswith((".", "/", "#", *_OWN)):
        return ""
    scope, _, rest = target.partition("/")
    return f"{scope}/{rest.partition('/')[0]}" if scope.startswith("@") and rest else scope


def _file(lookups: Lookups, stem: str) -> tuple[str, ...]:
    """Return the document that Node.js or TypeScript would find for a path."""
    found = lookups.completed(stem, _ENDINGS)
    if found:
        return found
    root, extension = splitext(stem)
    found = lookups.completed(root, _WRITTEN.get(extension, ()))
    if not found and (package_here := lookups.project.manifests.package_at.get(stem)) and stem:
        return _entry(lookups, package_here, "")
    return found or lookups.first([join_path(stem, "index.ts"), join_path(stem, "index.js")])


def _first(lookups: Lookups, stems: Iterable[str]) -> tuple[str, ...]:
    """Return the document of the first path for which there is one."""
    return next((found for stem in stems if (found := _file(lookups, stem))), ())


def _aliased(lookups: Lookups, path: str, name: str) -> Iterator[str]:
    """Yield the paths that an alias may mean, those of the innermost folder first."""
    for folder in ancestors(path):
        aliases = lookups.project.manifests.aliases.get(folder, ())
        for pattern, places in aliases:
            rest = match_wildcard(pattern, name)
            if rest is not None:
                yield from (place.replace("*", rest) for place in places)
        if name.startswith(_OWN):
            yield join_path(folder, f"{_SOURCE}/{name[2:]}")


def _internal(lookups: Lookups, path: str, name: str) -> tuple[str, ...]:
    """Return the document for a `#name` from the `imports` of the package around `path`."""
    for folder in ancestors(path):
        if package_here := lookups.project.manifests.package_at.get(folder):
            return _listed(lookups, package_here, package_here.internal, name)
    return ()


def _packaged(lookups: Lookups, name: str) -> tuple[str, ...]:
    """Return the document for an import that begins with the name of a workspace package."""
    own = package(name)
    known = lookups.project.manifests.packages.get(own)
    if known is None or not own:
        return ()
    return _entry(lookups, known, name[len(own) :])


def _entry(lookups: Lookups, known: Package, rest: str) -> tuple[str, ...]:
    """Return the document of a package for `rest`, the part after the package's name."""
    found = _listed(lookups, known, known.entries, rest)
    if found:
        return found
    guesses = (
        (rest.lstrip("/"), f"{_SOURCE}{rest}")
        if rest
        else (f"{_SOURCE}/index", "index", "lib/index")
    )
    return _first(lookups, (join_path(known.folder, guess) for guess in guesses))


def _listed(
    lookups: Lookups, known: Package, entries: Iterable[tuple[str, tuple[str, ...]]], name: str
) -> tuple[str, ...]:
    """Return the file that a manifest lists for a name, or the source from which it is built."""
    for pattern, files in entries:
        rest = match_wildcard(pattern, name)
        if rest is None:
            continue
        for file in files:
            stem = join_path("", file.replace("*", rest).removeprefix("./"))
            if found := _first(lookups, (join_path(known.folder, s) for s in _sources(stem))):
                return found
    return ()


def _sources(file: str) -> Iterator[str]:
    """Yield a file and possible sources: `dist/esm/a.js` may be built from `src/a.ts`."""
    yield file
    parts = file.split("/")
    plain = parts
    while len(plain) > 1 and plain[0] in _BUILT:
        plain = plain[1:]
        stem = "/".join(plain)
        for ending in (".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs"):
            stem = stem.removesuffix(ending)
        yield f"{_SOURCE}/{stem}"
        yield stem
