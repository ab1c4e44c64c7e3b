"""Test that our programs let numpy multiply with one thread, unless the user chose a number."""

import os
import subprocess
import sys

import pytest

from code_intel.foundation.math_threads import CHOICES, VARIABLE, limit_math_threads

ENTRY_POINTS = ("code_intel.__main__", "code_intel.cli.devrag")
SHOW = """
import os, sys
from contextlib import suppress
sys.argv = ["program", "--version"]
from {module} import run
with suppress(SystemExit):
    run()
print(os.environ.get("OPENBLAS_NUM_THREADS"), "numpy" in sys.modules)
"""


def test_one_thread_is_the_default() -> None:
    environ = {"OTHER": "x"}
    limit_math_threads(environ)
    assert environ == {"OTHER": "x", VARIABLE: "1"}


@pytest.mark.parametrize("name", CHOICES)
def test_the_number_of_the_user_is_kept(name: str) -> None:
    environ = {name: "3"}
    limit_math_threads(environ)
    assert environ == {name: "3"}


def test_an_empty_variable_is_no_choice() -> None:
    environ = {VARIABLE: ""}
    limit_math_threads(environ)
    assert environ == {VARIABLE: "1"}


@pytest.mark.parametrize("module", ENTRY_POINTS)
@pytest.mark.parametrize("chosen", [None, "2"])
def test_every_program_sets_it_before_numpy_is_imported(module: str, chosen: str | None) -> None:
    environ = {key: value for key, value in os.environ.items() if key not in CHOICES}
    environ |= {VARIABLE: chosen} if chosen else {}
    command = [sys.executable, "-c", SHOW.format(module=module)]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == f"{chosen or '1'} False"
