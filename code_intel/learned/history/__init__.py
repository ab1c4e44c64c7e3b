"""Store and count outcomes, decisions and feedback on agreements."""
