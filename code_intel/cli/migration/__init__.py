"""Plan and apply the migration of a project from earlier versions (docs/decisions/0035)."""
