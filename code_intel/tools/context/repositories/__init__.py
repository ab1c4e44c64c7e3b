"""Search several repositories: which indexes a name means, and what they find together."""
