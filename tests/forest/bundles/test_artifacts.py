"""Test which documents and words artifacts name: failing tests, diffs, edited files, hints."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.forest.bundles.artifacts import MAX_FILES, GivenArtifacts, read_artifacts

DOCUMENTS = (
    "src/auth/service.py",
    "src/認証/ログイン.py",
    "tests/auth/test_service.py",
    "a/index.ts",
    "b/index.ts",
)
DIFF = """\
diff --git a/src/auth/service.py b/src/auth/service.py
--- a/src/auth/service.py
+++ b/src/auth/service.py
@@ -1,3 +1,3 @@
 untouched_name
-    return old_token
+    return new_token
+    audit(new_token)
"""

QUOTED = (
    "diff --git "
    r'"a/src/\350\252\215\350\250\274/\343\203\255\343\202\260\343\202\244\343\203\263.py" '
    r""""b/x"
--- "a/src/\350\252\215\350\250\274/\343\203\255\343\202\260\343\202\244\343\203\263.py"
+++ "b/src/\350\252\215\350\250\274/\343\203\255\343\202\260\343\202\244\343\203\263.py"
@@ -1 +1 @@
-old
+new
"""
)


TAGS = {
    "editing_path": "editing_path",
    "failing_tests": "failing_test",
    "last_diff": "last_diff",
    "hints": "hint",
}


@pytest.mark.parametrize(
    ("kind", "value", "document"),
    [
        ("editing_path", ("src/auth/service.py",), "src/auth/service.py"),
        ("editing_path", ("src/認証/ログイン.py",), "src/認証/ログイン.py"),
        ("editing_path", ("src/new.py",), ""),
        (
            "failing_tests",
            ("tests/auth/test_service.py::test_login",),
            "tests/auth/test_service.py",
        ),
        (
            "failing_tests",
            ('File "/home/me/shop/src/auth/service.py", line 8, in login',),
            "src/auth/service.py",
        ),
        ("last_diff", DIFF, "src/auth/service.py"),
        ("last_diff", QUOTED, "src/認証/ログイン.py"),
        ("last_diff", "--- /dev/null\n+++ b/a/index.ts\n", "a/index.ts"),
        ("hints", ("src/auth/service.py:8-12",), "src/auth/service.py"),
        ("hints", ("service.py", "a token"), "src/auth/service.py"),
        ("hints", ("index.ts",), ""),
        ("hints", ("b\\index.ts",), "b/index.ts"),
    ],
)
def test_an_artifact_names_a_document(kind: str, value: Any, document: str) -> None:
    expected = {document: (TAGS[kind],)} if document else {}
    assert read_artifacts(GivenArtifacts(**{kind: value}), DOCUMENTS).files == expected


def test_a_document_has_a_tag_per_kind_of_artifact() -> None:
    parsed = read_artifacts(
        GivenArtifacts(last_diff=DIFF, hints=("src/auth/service.py",)), DOCUMENTS
    )
    assert parsed.files == {"src/auth/service.py": ("last_diff", "hint")}


def test_words_come_from_tests_and_changed_lines() -> None:
    parsed = read_artifacts(
        GivenArtifacts(failing_tests=("test_login_expires",), last_diff=DIFF, hints=("期限切れ",)),
        DOCUMENTS,
    )
    assert parsed.words[0] == "test_login_expires"
    assert {"new_token", "old_token", "audit"} <= set(parsed.words)
    assert "untouched_name" not in parsed.words
    assert parsed.hints == ("期限切れ",)


texts = st.text(alphabet='ab./\\:-+ 0378\n"語é\u0301', max_size=80)


@given(
    artifacts=st.builds(
        GivenArtifacts,
        failing_tests=st.lists(texts, max_size=3).map(tuple),
        last_diff=texts,
        editing_path=st.lists(texts, max_size=3).map(tuple),
        hints=st.lists(texts, max_size=3).map(tuple),
    )
)
def test_any_artifacts_name_only_documents(artifacts: GivenArtifacts) -> None:
    parsed = read_artifacts(artifacts, DOCUMENTS)
    assert set(parsed.files) <= set(DOCUMENTS)
    assert len(parsed.files) <= MAX_FILES
    assert all(tags for tags in parsed.files.values())


@pytest.mark.parametrize("text", ["/" * 2000, "a/" * 1000, "a." * 1000, "-" * 2000, "+++ b/" * 300])
def test_long_artifacts_without_a_name_are_read(text: str) -> None:
    artifacts = GivenArtifacts((text,) * 20, text * 100, (text,), (text,) * 20)
    assert read_artifacts(artifacts, DOCUMENTS).files == {}
