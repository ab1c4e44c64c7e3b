"""Learn from the operating system which files changed, and index these at once."""
