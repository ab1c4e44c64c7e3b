"""Build git repositories whose commits change known symbols."""

from collections.abc import Mapping
from pathlib import Path

from programs import git

FEES = '''def shipping_fee(weight: int) -> int:
    """Return what the parcel service charges for a weight."""
    fee = 500
    return fee


def label(address: str) -> str:
    """Return the label of a parcel."""
    return address.upper()
'''
HEAVY = FEES.replace("    return fee", "    if weight > 30:\n        fee += 200\n    return fee")
ISLANDS = HEAVY.replace("    fee = 500", "    fee = 500\n    fee += island_surcharge(weight)")


def repository(root: Path) -> Path:
    """Create an empty repository."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    return root


def commit(root: Path, message: str, files: Mapping[str, str | None]) -> None:
    """Write files (None removes one) and commit them."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)


def parcels(root: Path) -> Path:
    """Create a repository with two commits that are about `shipping_fee`."""
    repository(root)
    commit(root, "Initial commit", {"src/fees.py": FEES, "README.md": "# Parcels\n"})
    commit(root, "Charge a surcharge for heavy parcels (#12)", {"src/fees.py": HEAVY})
    commit(root, "Fix surcharge for parcels to islands", {"src/fees.py": ISLANDS})
    return root
