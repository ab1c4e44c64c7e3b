"""Remove what no head needs. Removing is idempotent: an interrupted prune is continued by the next.

A generation is first marked as unused, and removed when it has been so for the grace period, so
that readers which still hold it can finish. A layer is removed when no generation has it and no
push has written to it for that time.

A push may need again what is being removed, as after a revert. So the head is read again after a
generation was removed, and the generations after a layer was hidden; what is needed is put back.
`SharedIndex.finish` looks at both again after it has moved the head. So one of the two notices.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from code_intel.shared.default_branch import DEFAULT_BRANCHES
from code_intel.shared.milvus.contents import Content, Contents, key_of
from code_intel.shared.milvus.engine import Engine, batches
from code_intel.shared.milvus.heads import Records, age_of
from code_intel.shared.milvus.literals import any_of, repositories
from code_intel.shared.milvus.schema import Opened
from code_intel.shared.milvus.writing import place_of
from code_intel.shared.records import Generation, Head

_OF_LAYERS = ("contents", "words", "vectors", "symbols")
"""The collections with rows of layers."""
REPOSITORIES_PER_READ = 50
"""Repositories of which everything is in memory at once."""
_OLDER = key_of("older")
_NO_REPOSITORY = "/"
"""The repository of rows that belong to none; no repository can have this name."""


class Pruned(NamedTuple):
    """What was removed.

    Attributes:
        generations: How many generations.
        layers: How many layers.
        versions: The older versions of the index.
        waiting: Repositories that only an older version has, so that it was kept.
        marked: How many generations no head needs, but are kept for the grace period.
    """

    generations: int = 0
    layers: int = 0
    versions: tuple[int, ...] = ()
    waiting: tuple[str, ...] = ()
    marked: int = 0

    def plus(self, other: "Pruned") -> "Pruned":
        """Return what both have removed."""
        return Pruned(
            self.generations + other.generations,
            self.layers + other.layers,
            tuple(sorted({*self.versions, *other.versions})),
            tuple(sorted({*self.waiting, *other.waiting})),
            self.marked + other.marked,
        )


class _Facts(NamedTuple):
    """What is known of a repository.

    Attributes:
        repository: Its name.
        used: The generations to which heads point.
        generations: All generations.
        layers: Layers, with the time of the last write.
        unused: Since when generations are marked as unused.
    """

    repository: str
    used: set[str]
    generations: list[Generation]
    layers: list[tuple[str, float]]
    unused: Mapping[str, float] = MappingProxyType({})


class Pruning:
    """Removes rows of one index.

    Args:
        engine: The connection.
        opened: The collections.
        records: The heads and generations.
        is_dry: Whether to find out only what would be removed.
    """

    def __init__(
        self, engine: Engine, opened: Opened, records: Records, *, is_dry: bool = False
    ) -> None:
        self._engine = engine
        self._opened = opened
        self._records = records
        self._contents = Contents(engine, opened.names["contents"])
        self._is_dry = is_dry

    def prune(self, grace_s: float) -> Pruned:
        """Remove what no head has needed for the grace period; see the module."""
        removed = self._drop_older(grace_s)
        for some in batches(self._records.repositories(), REPOSITORIES_PER_READ):
            for facts in self._facts(some):
                removed = removed.plus(self._prune(facts, grace_s))
        return removed

    def _facts(self, names: Sequence[str]) -> Iterator[_Facts]:
        """Yield what is known of repositories, with one read of each kind for all of them."""
        found = {name: _Facts(name, set(), [], []) for name in names}
        unused = self._records.unused(names)
        for head in self._records.heads(names):
            found[head.repository].used.add(head.generation)
        for generation in self._records.generations(names):
            found[generation.repository].generations.append(generation)
        for repository, layer, touched in self._records.pushes(names):
            found[repository].layers.append((layer, touched))
        for facts in found.values():
            mine = {each.id for each in facts.generations} & unused.keys()
            yield facts._replace(unused={each: unused[each] for each in mine})

    def prune_heads(self, age_s: float) -> list[Head]:
        """Remove the heads of branches that were not pushed for that long, and return them.

        A branch whose name is one of `DEFAULT_BRANCHES` is kept. If a repository has none of them,
        its trunk is not known, and all its branches are kept.
        """
        removed: list[Head] = []
        for repository in sorted(self._records.with_heads()):
            heads = self._records.heads([repository])
            if all(head.branch not in DEFAULT_BRANCHES for head in heads):
                continue
            others = [head for head in heads if head.branch not in DEFAULT_BRANCHES]
            known = self._records.generations_of([head.generation for head in others])
            removed += [
                head
                for head in others
                if head.generation not in known or age_of(known[head.generation]) >= age_s
            ]
        for head in () if self._is_dry else removed:
            self._records.delete_head(head)
        return removed

    def delete(self, repository: str) -> Pruned:
        """Remove a repository at once, of older versions, too: first what makes it visible."""
        mine = repositories([repository])
        generations = len(self._records.generations([repository]))
        layers = len(self._records.pushes([repository]))
        for names in (self._opened.names, *self._opened.older.values()):
            for short in ("records", *_OF_LAYERS):
                if short in names:
                    self._engine.delete(names[short], mine)
        return Pruned(generations, layers)

    def has(self, repository: str) -> bool:
        """Return whether there is anything of a repository, also in an older version."""
        records = self._records
        found = records.heads([repository]) or records.pushes([repository])
        return bool(found) or repository in self._older_repositories()

    def _older_repositories(self) -> set[str]:
        """Return the repositories that older versions have."""
        found = (names["records"] for names in self._opened.older.values() if "records" in names)
        return {
            name for each in found for name in Records(Contents(self._engine, each)).with_heads()
        }

    def _prune(self, facts: _Facts, grace_s: float) -> Pruned:
        records, now = self._records, time.time()
        repository, used, unused = facts.repository, facts.used, facts.unused
        kept: list[Generation] = []
        gone: list[Generation] = []
        for each in facts.generations:
            is_expired = each.id in unused and now - unused[each.id] >= grace_s
            (gone if is_expired and each.id not in used else kept).append(each)
        if not self._is_dry:
            records.mark_used(each.id for each in kept if each.id in unused.keys() & used)
            marked = [each.id for each in kept if each.id not in unused.keys() | used]
            records.mark_unused(repository, marked, now)
            revived = self._remove_generations(repository, gone)
            kept += revived
            gone = [each for each in gone if each.id not in {one.id for one in revived}]
        needed = _layers_of(kept)
        layers = [
            layer
            for layer, touched in facts.layers
            if layer not in needed and now - touched >= grace_s
        ]
        removed = layers if self._is_dry else self._remove_layers(repository, layers)
        waits = sum(each.id not in used for each in kept)
        return Pruned(len(gone), len(removed), marked=waits)

    def _remove_generations(self, repository: str, gone: Sequence[Generation]) -> list[Generation]:
        """Remove generations; return those that a head needs again, which are put back."""
        if not gone:
            return []
        self._records.remove_generations(each.id for each in gone)
        commits = {head.generation: head.commit for head in self._records.heads([repository])}
        revived = [each._replace(commit=commits[each.id]) for each in gone if each.id in commits]
        for each in revived:
            self._records.put_generation(each)
        return revived

    def _remove_layers(self, repository: str, layers: Sequence[str]) -> list[str]:
        """Remove layers, except those that a generation needs again; return the removed ones."""
        if not layers:
            return []
        keys = {key_of("layer", layer): layer for layer in layers}
        finished = self._contents.get(keys)
        self._contents.remove(finished)
        needed = _layers_of(self._records.generations([repository]))
        self._contents.put(
            Content(key, repository, keys[key], "layer", "", value)
            for key, value in finished.items()
            if keys[key] in needed
        )
        removed = [layer for layer in layers if layer not in needed]
        for some in batches(removed, 100):
            condition = f"{repositories([repository])} and {any_of('layer', some)}"
            for short in (*_OF_LAYERS, "records"):
                self._engine.delete(self._opened.names[short], condition)
        return removed

    def _drop_older(self, grace_s: float) -> Pruned:
        """Drop the collections of older versions if all repositories have been pushed since.

        They stay for the grace period after that was found, for readers of the older version.
        """
        if not self._opened.older:
            return Pruned()
        contents = Contents(self._engine, self._opened.names["records"])
        waiting = self._older_repositories() - self._records.with_heads()
        since = contents.get_one(_OLDER)
        is_due = not waiting and since is not None and time.time() - since >= grace_s
        if self._is_dry:
            return Pruned(0, 0, tuple(self._opened.older) if is_due else (), tuple(waiting))
        if is_due:
            for name in (name for names in self._opened.older.values() for name in names.values()):
                self._engine.drop(name)
        if is_due or waiting:
            contents.remove([_OLDER])
        elif since is None:
            contents.put([Content(_OLDER, _NO_REPOSITORY, "", "older", "", time.time())])
        return Pruned(0, 0, tuple(self._opened.older) if is_due else (), tuple(waiting))


def _layers_of(generations: Iterable[Generation]) -> Collection[str]:
    """Return the layers of generations, as rows name them."""
    return {
        place_of(each.repository, layer.id).layer for each in generations for layer in each.layers
    }
