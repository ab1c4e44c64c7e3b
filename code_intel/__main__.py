"""`python -m code_intel` is `code-intel`."""

from code_intel.cli.main import run

if __name__ == "__main__":
    run()
