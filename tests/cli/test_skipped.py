"""`sync`, `status` and `doctor` name the files that are never indexed, with the reason."""

import json

from projects import Project

IMAGE = b"\x89PNG\r\n\x1a\n\x00\x00\x01"
REASON = "binary, or not in a known encoding"


def test_skipped_files_are_named_with_the_reason(shop: Project) -> None:
    (shop.root / "logo.dat").write_bytes(IMAGE)
    line = f"Skipped 1 file ({REASON}): logo.dat"
    for command in ("sync", "status", "doctor"):
        assert line in shop.call("code-intel", command, check=False).stdout
    found = json.loads(shop.call("code-intel", "status", "--json").stdout)["forest"]
    row = {"reason": REASON, "files": 1, "names": ["logo.dat"]}
    assert row in found["skipped_files"]


def test_lines_of_other_encodings_are_shown_as_utf_8(shop: Project) -> None:
    line = "def facade(): return 'façade, déjà vu'\n"
    (shop.root / "latin.py").write_bytes(line.encode("cp1252"))
    shown = shop.call("code-intel", "grep", "facade").stdout
    assert shown == f"latin.py:1:{line}"
