"""Notice that the parent process has ended, which may leave the client's pipes open."""

import os

_INIT_PID = 1
"""The process that adopts orphans; a process that it started has no parent to watch."""


class Parent:
    """The process that started this one.

    Attributes:
        handle: A descriptor that becomes readable when it has ended; None where there is none.
    """

    def __init__(self) -> None:
        """Begin to watch it."""
        self._pid = os.getppid()
        self.handle: int | None = None
        if self._pid > _INIT_PID and hasattr(os, "pidfd_open"):
            try:
                self.handle = os.pidfd_open(self._pid)
            except OSError:
                self.handle = None

    @property
    def must_be_asked(self) -> bool:
        """Whether only `has_ended` tells."""
        return self.handle is None and self._pid > _INIT_PID

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._pid > _INIT_PID and os.getppid() != self._pid
