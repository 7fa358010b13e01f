"""The state directory: rights, room, speed, and whether the journal in it is sound."""

from __future__ import annotations

import os
import pwd
import stat
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scannerd.doctor.findings import Finding, fail, ok, warn
from scannerd.doctor.site import Site, content
from scannerd.journal import JournalError, JournalMismatch, JournalMissing, JournalNewer, JournalReader
from scannerd.journal.high_water import HighWater
from scannerd.journal.opening import check_table, check_tail, read_meta, schema_of
from scannerd.journal.recovery import check_waiting
from scannerd.journal.schema import VERSION

SCARCE = 64 * 1024**2
"""Bytes of free space below which the journal will soon not be written."""

LOW = 1024**3
"""Bytes of free space that are spoken of."""

SLOW_MS = 20.0
"""A sync that takes longer is felt by the dealer."""

MUCH_TOO_SLOW_MS = 200.0
"""A sync with which a card can't be told within a second once a few come together."""

_SYNCS = 21
_PAGE = bytes(4_096)
_SHARED = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"}
_PASSING = {"tmpfs", "ramfs"}


@dataclass(frozen=True, slots=True)
class Storage:
    """What is known of the state directory.

    Attributes:
        path: where it is.
        exists: it is there, and a directory.
        obstacle: something else is there in its place.
        creatable: it could be made, where it is missing.
        usable: we may read, write and search it.
        mode: its permission bits.
        euid: who we are.
        foreign: files in it that belong to another user than the directory.
        owner: whose the directory is.
        kind: the file system's kind.
        free: bytes of free space.
        inodes: whether there is room for one more file.
        sync_ms: the median time of a sync; None where it was not tried.
    """

    path: Path
    exists: bool = True
    obstacle: bool = False
    creatable: bool = True
    usable: bool = True
    mode: int = 0o750
    foreign: tuple[str, ...] = ()
    owner: str = ""
    kind: str = "ext4"
    free: int = 10 * LOW
    inodes: bool = True
    sync_ms: float | None = None


@dataclass(frozen=True, slots=True)
class JournalFacts:
    """What is known of the journal.

    Attributes:
        path: where it is.
        missing: there is none.
        trouble: what is wrong with it.
        mismatch: it is another table's.
        newer: a newer version wrote it.
        head: its last seq.
        waiting: how many events the broker has not acknowledged.
        schema: of its tables.
    """

    path: Path
    missing: bool = False
    trouble: str | None = None
    mismatch: bool = False
    newer: bool = False
    head: int = 0
    waiting: int = 0
    schema: int = VERSION


# --- probes -----------------------------------------------------------------------------------------------------


def look_at_storage(site: Site) -> Storage:
    """Looks at the directory; of what it holds nothing is touched, and nothing stays behind."""
    path = site.config.state_dir
    nearest = next(step for step in (path, *path.parents) if step.exists())
    if nearest != path or not path.is_dir():
        return Storage(
            path,
            exists=False,
            obstacle=path.exists() or path.is_symlink(),
            creatable=nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK, effective_ids=True),
        )
    status, room = path.stat(), os.statvfs(path)
    usable = os.access(path, os.R_OK | os.W_OK | os.X_OK, effective_ids=True)
    return Storage(
        path,
        usable=usable,
        mode=stat.S_IMODE(status.st_mode),
        foreign=_foreign(path, status.st_uid),
        owner=_user(status.st_uid),
        kind=file_system(path, content(site.root / "proc/self/mountinfo")),
        free=room.f_bavail * room.f_frsize,
        inodes=room.f_favail > 0 or room.f_files == 0,
        sync_ms=_sync_ms(path) if usable else None,
    )


def look_at_journal(site: Site) -> JournalFacts:
    """Proves the journal's header and its end, as the daemon does at its start; a running daemon's too."""
    path = site.config.state_dir
    try:
        with JournalReader(path) as reader, reader.reading() as db:
            db.execute("BEGIN")
            meta = read_meta(db, reader.path)
            check_table(meta, reader.path, site.config.table.id)
            check_tail(db, reader.path, meta)
            check_waiting(db, reader.path, meta)
            HighWater(path).check(meta.journal, meta.head.seq)
            waiting = meta.head.seq - meta.cursor
            return JournalFacts(reader.path, head=meta.head.seq, waiting=waiting, schema=schema_of(db))
    except JournalMissing:
        return JournalFacts(path, missing=True)
    except JournalNewer as error:
        return JournalFacts(path, trouble=error.line, newer=True)
    except JournalError as error:
        return JournalFacts(path, trouble=error.line, mismatch=isinstance(error, JournalMismatch))


def file_system(path: Path, mounts: str) -> str:
    """The kind of file system that `path` lies on, from the text of /proc/self/mountinfo; empty where unknown."""
    real, found, longest = os.path.realpath(path), "", -1
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        place = fields.split()[4]
        inside = place in {"/", real} or real.startswith(f"{place}/")
        if inside and len(place) >= longest:
            found, longest = rest.split()[0], len(place)
    return found


def _foreign(path: Path, owner: int) -> tuple[str, ...]:
    names = []
    with suppress(OSError):
        names = [file.name for file in sorted(path.iterdir()) if file.lstat().st_uid != owner]
    return tuple(names)


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _sync_ms(path: Path) -> float | None:
    """The median of some syncs of one page each, in a file without a name."""
    try:
        fd = os.open(path, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError:  # full, read-only, or a file system that knows no such files
        return None
    try:
        times = []
        for number in range(_SYNCS):
            begun = time.perf_counter()
            os.pwrite(fd, _PAGE, number * len(_PAGE))
            os.fdatasync(fd)
            times.append((time.perf_counter() - begun) * 1_000)
        return statistics.median(times)
    except OSError:
        return None
    finally:
        os.close(fd)


# --- judgements -------------------------------------------------------------------------------------------------


def judge_storage(facts: Storage) -> Iterator[Finding]:
    """Rights, room and speed."""
    if not facts.exists:
        yield _absent(facts)
        return
    yield from _rights(facts)
    yield from _kind(facts)
    yield _room(facts)
    yield _speed(facts)


def judge_journal(facts: JournalFacts) -> Iterator[Finding]:
    """Whether the daemon will start from it."""
    if facts.missing:
        yield ok("journal", "there is no journal yet; the daemon makes one at its first start")
    elif facts.newer:
        yield fail("journal", facts.trouble or "", "install the newer version; or see `Upgrade` in docs/operators.md")
    elif facts.mismatch:
        yield fail(
            "journal",
            facts.trouble or "",
            "mend `table.id` or `table.state_dir`; each table has a directory of its own",
        )
    elif facts.trouble is not None:
        yield fail(
            "journal",
            facts.trouble,
            "`scannerd journal verify` says where, and `scannerd journal recover` what is lost",
        )
    else:
        waiting = f", {facts.waiting} of them not yet at the broker" if facts.waiting else ""
        yield ok("journal", f"{facts.path} is sound: {facts.head} events{waiting}")
    if facts.schema < VERSION:
        text = f"the journal has schema {facts.schema}; the next start backs it up and brings it to {VERSION}"
        yield ok("schema", text)


def _absent(facts: Storage) -> Finding:
    if facts.obstacle:
        return fail("state_dir", f"{facts.path} is no directory", "move it away, or mend `table.state_dir`")
    if facts.creatable:
        return ok("state_dir", f"{facts.path} is not there yet; the daemon makes it")
    remedy = f"`StateDirectory=` of the service makes it; else mkdir -p {facts.path} and give it to the daemon's user"
    return fail("state_dir", f"{facts.path} is not there, and we may not make it", remedy)


def _rights(facts: Storage) -> Iterator[Finding]:
    if not facts.usable:
        remedy = f"chown -R USER {facts.path}, USER being the daemon's, and chmod 0750; or look as that user"
        yield fail("state_dir", f"{facts.path} belongs to {facts.owner}; we may not write in it", remedy)
    elif facts.foreign:
        names = ", ".join(facts.foreign[:4])
        text = f"{facts.path}: {names} belong to another user than the directory ({facts.owner})"
        yield fail("state_dir", text, f"chown -R --reference={facts.path} {facts.path}")
    elif facts.mode & 0o007:
        remedy = f"chmod o= {facts.path}"
        yield warn("state_dir", f"{facts.path} is open to everybody (mode {facts.mode:04o})", remedy)
    else:
        yield ok("state_dir", f"{facts.path} is ours to write")


def _kind(facts: Storage) -> Iterator[Finding]:
    if facts.kind in _SHARED:
        text = f"{facts.path} lies on {facts.kind}, on which the journal's locks and syncs can't be trusted"
        yield fail("disk", text, "put `table.state_dir` on a disk of this machine")
    elif facts.kind in _PASSING:
        yield warn("disk", f"{facts.path} lies in memory ({facts.kind})", "put `table.state_dir` on a disk")


def _room(facts: Storage) -> Finding:
    free = f"{facts.free / 1024**2:.0f} MiB free"
    if not facts.inodes:
        return fail(
            "disk", f"{facts.path}: no more files can be made (no free inodes)", "delete files on this file system"
        )
    if facts.free < SCARCE:
        return fail("disk", f"{facts.path}: only {free}", "make room on this file system")
    if facts.free < LOW:
        return warn("disk", f"{facts.path}: {free}", "make room on this file system")
    return ok("disk", f"{facts.path}: {free}")


def _speed(facts: Storage) -> Finding:
    if facts.sync_ms is None:
        return warn(
            "sync", f"{facts.path}: how long a sync takes could not be measured", "mend its rights or make room"
        )
    text = f"{facts.path}: a sync takes {facts.sync_ms:.2f} ms (median of {_SYNCS})"
    remedy = "use a disk with power-loss protection, and no SD card; each card waits for one sync"
    if facts.sync_ms >= MUCH_TOO_SLOW_MS:
        return fail("sync", text, remedy)
    return warn("sync", text, remedy) if facts.sync_ms >= SLOW_MS else ok("sync", text)
