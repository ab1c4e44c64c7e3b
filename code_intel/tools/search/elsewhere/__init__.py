"""Ask the agreements of other repositories, and judge their answers (docs/decisions/0098)."""
