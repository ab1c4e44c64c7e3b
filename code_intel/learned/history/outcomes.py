"""Log how sessions ended, in `outcomes.jsonl`."""

from code_intel.learned.history.logs import Log, LogFile, folder_of

__all__ = ["FILE", "OLDER", "Log", "append", "folder_of", "read"]

_LOG = LogFile("outcomes")
FILE, OLDER = _LOG.file, _LOG.older
append = _LOG.append
read = _LOG.read
