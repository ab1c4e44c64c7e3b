"""code-intel: look before you write, remember what you learn."""

__version__ = "0.1.0"
