"""`python -m code_intel.migrate_to_v38` is `code-intel migrate` (seed 004 §6.1, step 3)."""

import sys

from code_intel.cli.main import main, use_utf8
from code_intel.foundation.math_threads import limit_math_threads

if __name__ == "__main__":
    use_utf8()
    limit_math_threads()
    sys.exit(main(["migrate", *sys.argv[1:]]))
