"""`python -m code_intel` is `code-intel`. Hooks start from here, because they must start fast."""

import sys


def run() -> None:
    """Entry point of the console script."""
    if sys.argv[1:2] == ["hook"]:
        from code_intel.cli.hook import client

        code = client.main(sys.argv[2:])
        if code is not None:
            sys.exit(code)
    if sys.argv[1:] in (["serve"], ["commands"]):
        from code_intel.servers.relay.start import begin

        begin("code-intel", sys.argv[1:])
    from code_intel.cli.main import run as run_command

    run_command()


def run_devrag() -> None:
    """Entry point of the console script `devrag`."""
    if sys.argv[1:2] == ["--config"]:
        from code_intel.servers.relay.start import begin

        begin("devrag", sys.argv[1:])
    from code_intel.cli.devrag import run as run_command

    run_command()


if __name__ == "__main__":
    run()
