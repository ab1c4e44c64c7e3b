"""What failing tests, diffs, edited files and hints say: which documents, and which words."""

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


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (
            GivenArtifacts(editing_path=("src/auth/service.py",)),
            {"src/auth/service.py": ("editing_path",)},
        ),
        (
            GivenArtifacts(editing_path=("src/認証/ログイン.py",)),
            {"src/認証/ログイン.py": ("editing_path",)},
        ),
        (
            GivenArtifacts(failing_tests=("tests/auth/test_service.py::test_login",)),
            {"tests/auth/test_service.py": ("failing_test",)},
        ),
        (
            GivenArtifacts(
                failing_tests=('File "/home/me/shop/src/auth/service.py", line 8, in login',)
            ),
            {"src/auth/service.py": ("failing_test",)},
        ),
        (GivenArtifacts(last_diff=DIFF), {"src/auth/service.py": ("last_diff",)}),
        (GivenArtifacts(last_diff=QUOTED), {"src/認証/ログイン.py": ("last_diff",)}),
        (
            GivenArtifacts(last_diff="--- /dev/null\n+++ b/a/index.ts\n"),
            {"a/index.ts": ("last_diff",)},
        ),
        (GivenArtifacts(hints=("src/auth/service.py:8-12",)), {"src/auth/service.py": ("hint",)}),
        (GivenArtifacts(hints=("service.py", "a token")), {"src/auth/service.py": ("hint",)}),
        (GivenArtifacts(hints=("index.ts",)), {}),
        (GivenArtifacts(hints=("b\\index.ts",)), {"b/index.ts": ("hint",)}),
        (GivenArtifacts(editing_path=("src/new.py",)), {}),
    ],
)
def test_files_are_named_as_the_index_has_them(
    given_: GivenArtifacts, expected: dict[str, tuple[str, ...]]
) -> None:
    assert read_artifacts(given_, DOCUMENTS).files == expected


def test_a_file_may_be_named_in_several_ways() -> None:
    at_hand = read_artifacts(
        GivenArtifacts(last_diff=DIFF, hints=("src/auth/service.py",)), DOCUMENTS
    )
    assert at_hand.files == {"src/auth/service.py": ("last_diff", "hint")}


def test_words_come_from_tests_and_from_changed_lines_alone() -> None:
    at_hand = read_artifacts(
        GivenArtifacts(failing_tests=("test_login_expires",), last_diff=DIFF, hints=("期限切れ",)),
        DOCUMENTS,
    )
    assert at_hand.words[0] == "test_login_expires"
    assert {"new_token", "old_token", "audit"} <= set(at_hand.words)
    assert "untouched_name" not in at_hand.words
    assert at_hand.hints == ("期限切れ",)


texts = st.text(alphabet='ab./\\:-+ 0378\n"語é\u0301', max_size=80)


@given(
    given_=st.builds(
        GivenArtifacts,
        failing_tests=st.lists(texts, max_size=3).map(tuple),
        last_diff=texts,
        editing_path=st.lists(texts, max_size=3).map(tuple),
        hints=st.lists(texts, max_size=3).map(tuple),
    )
)
def test_whatever_is_given_only_documents_are_named(given_: GivenArtifacts) -> None:
    at_hand = read_artifacts(given_, DOCUMENTS)
    assert set(at_hand.files) <= set(DOCUMENTS)
    assert len(at_hand.files) <= MAX_FILES
    assert all(tags for tags in at_hand.files.values())


@pytest.mark.parametrize("text", ["/" * 2000, "a/" * 1000, "a." * 1000, "-" * 2000, "+++ b/" * 300])
def test_what_names_nothing_takes_no_time(text: str) -> None:
    given_ = GivenArtifacts((text,) * 20, text * 100, (text,), (text,) * 20)
    assert read_artifacts(given_, DOCUMENTS).files == {}
