"""Words of documentation that mean about the same: a question asks to delete what a page tells how to remove.

Groups of everyday words of computing, written for no document in particular. Values only, beside how they are read.
"""

from __future__ import annotations

from functools import lru_cache

from nanomem_tui.tokens import tokens

_ALIKE = """
delete remove erase discard drop unlink
wipe shred overwrite destroy
folder directory
show display print list output
big large huge
bigger larger greater size
small little
shrink reduce truncate smaller
computer machine host system
remote server
program command process
task job
launch start begin
boot startup
stop halt terminate kill end quit abort
pause suspend
resume continue
restart reload reread
interrupted partial partially broken incomplete
password passphrase
change modify alter edit update
copy duplicate
clone mirror
find search locate look
download fetch retrieve
upload send transmit post
receive accept
upgrade update
move rename
rights permission access mode
allow permit grant
forbid deny prevent refuse prohibit block
user account
root superuser administrator
several multiple many
owner own
bandwidth rate speed throughput
slow delay
fast quick
memory ram
cpu processor core
disk drive
device partition
volume filesystem
schedule cron periodic
run execute invoke
same identical equal
different differ difference
compare diff
link connect connection
attach join
detach disconnect
tunnel forward
network interface
address ip
certificate cert
verify check validate
insecure invalid untrusted
secure encrypted
encrypt cipher
website site web
page document
recursive recursively tree
compress pack zip gzip
extract unpack decompress uncompress expand
archive tarball
priority nice niceness
lower decrease
higher increase raise grow
parallel concurrent concurrently simultaneous simultaneously
repeat duplicate
recent latest newest last
old older
previous earlier prior
later afterwards
backup save
undo revert restore
discard throw
automatic automatically
manual manually
log journal
message entry
limit restrict maximum
count number
ignore skip omit
exclude
include
hide suppress
keep retain preserve
temporary temp
put set
second other another
combine merge
squash fixup
split divide
part piece chunk
sort order
time clock
zone timezone
date day
background daemon
foreground
logout hangup hangup
login log
session
kernel
driver module
load insert
unload
package
install
uninstall purge
configuration config settings
option flag switch
environment variable
default
error failure fail
exit status
quiet silent
verbose
line row
column field
character letter
word
text string
binary
match pattern
regex regular
replace substitute
beginning start head
bottom tail
bigger exceed
space room
free available unused
used usage
capture dump sniff
packet traffic
listen listening
socket port
open
firewall filter
rule
lock exclusive mutex
instance copy
wait block sleep
timeout duration
trace debug
child descendant
parent
thread
place location position
name label
bind assign affinity
mount
unmount umount
symbolic symlink
hidden
invisible
visible
immutable unchangeable
read view
write
permanent persistent
reboot restart
power shutdown
today
uncommitted dirty
untracked
bug regression
history past
author
"""

SHARE = 0.5
"""What a word that means about the same counts beside the one that was asked for."""


@lru_cache(1)
def _groups() -> dict[str, tuple[str, ...]]:
    alike: dict[str, dict[str, None]] = {}
    for line in _ALIKE.split("\n"):
        stems = list(dict.fromkeys(token for word in line.split() for token in tokens(word)))
        for stem in stems:
            alike.setdefault(stem, {}).update(dict.fromkeys(other for other in stems if other != stem))
    return {stem: tuple(others) for stem, others in alike.items()}


def alike(word: str) -> tuple[str, ...]:
    """The tokens that mean about the same as a token."""
    return _groups().get(word, ())
