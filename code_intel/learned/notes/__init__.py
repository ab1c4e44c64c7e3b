"""Keep the notes of the map: conventions, decisions and warnings (docs/decisions/0083)."""
