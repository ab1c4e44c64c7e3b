"""Recognize the actions that a text names: 「印刷」 and `export` are different ones.

A table lists families of English verbs that are used in code. Japanese is translated first (see
`english`). `opposites` lists actions that exclude each other; here, any difference counts as
evidence, which the fit weighs (docs/decisions/0009).
"""

from functools import lru_cache

from code_intel.chunking.words import stem
from code_intel.learned.recall.english import ideas, stems

FAMILIES = """
add append insert put attach
create make generate new build issue compose
register signup enroll entry enrollment registration
remove delete erase destroy discard purge drop trash cleanup clear deletion removal
cancel revoke withdraw abort cancellation void
update edit modify change rewrite amend
save store persist write record
load read open
fetch get retrieve obtain acquire pull
search find lookup query seek
filter narrow
sort order rank arrange
list browse index enumerate
show display view render present preview
hide conceal mask
print printing
export dump output
import ingest
upload
download
send transmit deliver dispatch
receive accept incoming
notify notification alert remind reminder
login signin authenticate authentication
logout signout
authorize authorization permit permission grant
verify validate check validation verification confirm confirmation inspect
approve approval
reject deny decline refuse
enable activate activation
disable deactivate
start launch begin boot resume
stop halt end terminate shutdown pause suspend
retry
restore recover recovery revert rollback undo
backup snapshot
copy duplicate clone
move relocate transfer migrate migration
merge combine join concat
split divide partition
compare diff comparison
convert transform translate conversion
compress zip archive
decompress extract unzip
encrypt encryption
decrypt decryption
encode
decode
parse parsing
format formatting
calculate compute calculation estimate
aggregate summarize count total aggregation
schedule reserve book reservation booking
pay charge payment settle billing
refund
share publish post
subscribe
unsubscribe
follow
unfollow
rate review evaluate
comment reply
lock
unlock
connect
disconnect
sync synchronize
cache memoize
invalidate expire evict expiration
log logging trace
monitor watch observe
test
deploy release
install
uninstall
scale resize
crop trim cut
rotate
localize translate
recommend suggest suggestion
complete autocomplete completion
detect recognize recognition
tag label
assign allocate allocation
limit throttle
reset
scan
track tracking
return
ship shipping
measure
train
predict inference
play playback
record recording
"""
"""One family per line; a verb may belong to several."""


@lru_cache(maxsize=8192)
def actions(text: str) -> frozenset[int]:
    """Return the families of the actions that a text names, as line numbers of `FAMILIES`."""
    known = _families()
    return frozenset().union(*(known.get(word, ()) for word in stems(ideas(text))))


def is_action(word: str) -> bool:
    """Return whether a stem is a verb of `FAMILIES`."""
    return word in _families()


@lru_cache(maxsize=1)
def _families() -> dict[str, set[int]]:
    known: dict[str, set[int]] = {}
    for line, family in enumerate(FAMILIES.split("\n")):
        for verb in family.split():
            known.setdefault(stem(verb), set()).add(line)
    return known
