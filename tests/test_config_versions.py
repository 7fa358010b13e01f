"""A configuration says what it was written for: an older one is understood and brought up, a newer one is refused."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.cli import run
from scannerd.cli.config import bring_up
from scannerd.config import load
from scannerd.config.versions import KEY, STEPS, VERSION, Drop, Rename, Step, migrated
from scannerd.errors import ConfigError, Exit, UsageError
from scannerd.toml_lines import key_lines
from tests.test_journal_faults import small_disk

LATER = (
    Step(2, (Rename("round", "same_ms", "bounce_ms"), Rename("scanner", "longest", "max_length"))),
    Step(3, (Drop("mqtt", "clean", "the daemon always begins clean"), Rename("round", "gap", "min_gap_ms"))),
)
"""What may have changed by version 3; `max_length` and the others are keys of today."""

OLD = """\
# Table 1, second floor.

# The identity
[table]
id = "tp-01"

[[scanner]]
name = "shoe"
driver = "line"
url = "/dev/scannerd/shoe"
longest = 2   # of a code

[[scanner]]
name = "spare"
driver = "line"
url = "/dev/scannerd/spare"
  longest= 3

[round]
same_ms = 500  # was 400, until the new shoe
gap = 200
stall_ms = 5000

[mqtt]
clean = true
root = "longest"
"""
NEW = """\
# Table 1, second floor.

config_version = 3

# The identity
[table]
id = "tp-01"

[[scanner]]
name = "shoe"
driver = "line"
url = "/dev/scannerd/shoe"
max_length = 2   # of a code

[[scanner]]
name = "spare"
driver = "line"
url = "/dev/scannerd/spare"
  max_length= 3

[round]
bounce_ms = 500  # was 400, until the new shoe
min_gap_ms = 200
stall_ms = 5000

[mqtt]
# clean = true
root = "longest"
"""
PATH = Path("tp-01.toml")


def written(folder: Path, text: str) -> Path:
    """A configuration file."""
    path = folder / "tp-01.toml"
    path.write_bytes(text.encode())
    return path


def test_versions_count_up() -> None:
    """There is one step to each version from the second to this one."""
    assert list(range(2, VERSION + 1)) == [step.to for step in STEPS]
    assert 3 == 1 + len(LATER)


def test_old_text_is_brought_up() -> None:
    """Keys are renamed or put behind a `#` where they stand, the version is set, and every other byte stays."""
    assert NEW == migrated(PATH, OLD, LATER)
    assert NEW == migrated(PATH, NEW, LATER)


def test_only_missing_steps_are_taken() -> None:
    """A file of version 2 takes the steps behind it; its version is changed where it stands."""
    text = f"# mine\n{KEY} = 2  # since March\n[round]\nsame_ms = 1\ngap = 2\n"
    expected = f"# mine\n{KEY} = 3  # since March\n[round]\nsame_ms = 1\nmin_gap_ms = 2\n"
    assert expected == migrated(PATH, text, LATER)


def test_line_ends_stay() -> None:
    """A file with the line ends of another system keeps them."""
    assert NEW.replace("\n", "\r\n") == migrated(PATH, OLD.replace("\n", "\r\n"), LATER)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("round.gap = 3\n", f"{KEY} = 3\n\nround.min_gap_ms = 3\n"),
        ('[round]\n"gap" = 3\n', f"{KEY} = 3\n\n[round]\nmin_gap_ms = 3\n"),
        ("# gap = 1\n[round]\ngap = 3", f"# gap = 1\n{KEY} = 3\n\n[round]\nmin_gap_ms = 3"),
        ("", f"{KEY} = 3\n\n"),
        (f"{KEY}= 0x1# one\n", f"{KEY}= 3# one\n"),
        ("[round]\nstart = '''\ngap = 3\n'''\n", f"{KEY} = 3\n\n[round]\nstart = '''\ngap = 3\n'''\n"),
    ],
)
def test_key_is_found_however_it_is_written(text: str, expected: str) -> None:
    """Dotted and quoted keys are renamed; what only looks like the key, in a comment or a text, is not."""
    assert expected.strip("\n") == migrated(PATH, text, LATER).strip("\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("round = {gap = 3}\n", "tp-01.toml:1: round.gap: is called `min_gap_ms` now: rename it by hand"),
        ("[mqtt]\n\nclean = [\n1]\n", "tp-01.toml:3: mqtt.clean: means nothing any more (the daemon always begins"),
        (
            "[round]\ngap = 3\nmin_gap_ms = 4\n",
            "tp-01.toml:2: round.gap: is called `min_gap_ms` now: rename it by hand",
        ),
    ],
)
def test_what_can_not_be_changed_safely_is_for_a_person(text: str, problem: str) -> None:
    """A key in an inline table, a value of several lines, or both names at once are told with line and remedy."""
    with pytest.raises(ConfigError) as error:
        migrated(PATH, text, LATER)
    assert error.value.problems[0].startswith(problem)


KEYS = st.sampled_from(["same_ms", "gap", "stall_ms", "start", "clean", "x"])
VALUES = st.one_of(
    st.integers(0, 9), st.booleans(), st.text("a=# \n\"'\\", max_size=5), st.lists(st.integers(0, 9), max_size=2)
)
SECTIONS = st.dictionaries(st.sampled_from(["round", "mqtt", "table"]), st.dictionaries(KEYS, VALUES), max_size=3)


@given(SECTIONS, st.lists(st.sampled_from(["# note", "", "  # gap = 1"]), max_size=3))
def test_only_what_a_step_names_changes(sections: dict[str, dict[str, object]], notes: list[str]) -> None:
    """Whatever a file says, the new text says the same under the new names, and no comment is lost."""
    lines = [*notes]
    for name, keys in sections.items():
        lines += [f"[{name}]", *notes, *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    text = "\n".join(lines)
    expected: dict[str, dict[str, object]] = {name: dict(keys) for name, keys in sections.items()}
    for name, old, new in (("round", "same_ms", "bounce_ms"), ("round", "gap", "min_gap_ms")):
        if old in expected.get(name, {}):
            expected[name][new] = expected[name].pop(old)
    expected.get("mqtt", {}).pop("clean", None)
    after = migrated(PATH, text, LATER)
    assert {KEY: 3, **expected} == tomllib.loads(after)
    assert text.count("# note") == after.count("# note")
    assert after == migrated(PATH, after, LATER)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            f"{VERSION + 1}",
            f"config_version: written for a newer scannerd (version {VERSION + 1}, known is {VERSION}): ",
        ),
        ("0", f"config_version: expected a number from 1 to {VERSION}, found 0"),
        ('"1"', f"config_version: expected a number from 1 to {VERSION}, found '1'"),
        ("true", f"config_version: expected a number from 1 to {VERSION}, found True"),
    ],
)
def test_daemon_refuses_what_it_does_not_understand(tmp_path: Path, value: str, problem: str) -> None:
    """A newer version, or none, is the one fault that is told: what else the file holds can't be judged."""
    path = written(tmp_path, f"# new\nconfig_version = {value}\n[tables]\nid = 3\n")
    with pytest.raises(ConfigError) as error:
        load(path)
    (told,) = error.value.problems
    assert told.startswith(f"{path}:2: {problem}")


def test_daemon_understands_an_older_configuration(tmp_path: Path) -> None:
    """An older file is read as if it had been migrated, and its faults are told with its own lines."""
    found = load(written(tmp_path, OLD), steps=LATER, environ={})
    assert (500, 200) == (found.round.bounce_ms, found.round.min_gap_ms)
    path = written(tmp_path, OLD.replace("gap = 200", "gap = -1"))
    with pytest.raises(ConfigError) as error:
        load(path, steps=LATER)
    line = key_lines(path.read_text(encoding="utf-8"))["round", "gap"]
    assert error.value.problems[0].startswith(f"{path}:{line}: round.min_gap_ms: ")


def test_command_shows_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --write a diff is shown, the exit code is 1, and the file is as it was."""
    path = written(tmp_path, OLD)
    assert Exit.DIFFERENCE == bring_up(path, write=False, steps=LATER)
    shown = capsys.readouterr().out
    for line in ("-same_ms = 500  # was 400, until the new shoe", "+bounce_ms = 500  # was 400, until the new shoe"):
        assert f"\n{line}\n" in shown
    assert "\n+config_version = 3\n" in shown
    assert [path] == list(tmp_path.iterdir())
    assert OLD.encode() == path.read_bytes()


def test_command_writes_and_keeps_a_copy(tmp_path: Path) -> None:
    """With --write the file is replaced, with its rights, and a copy of the old one is kept; a second run does
    nothing.
    """
    (tmp_path / "real").mkdir()
    path = written(tmp_path / "real", OLD)
    path.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    assert Exit.WELL == bring_up(link, write=True, steps=LATER)
    assert NEW.encode() == path.read_bytes()
    assert link.is_symlink()
    (copy,) = [file for file in path.parent.iterdir() if file != path]
    assert copy.name.startswith("tp-01.toml.version-1-")
    assert OLD.encode() == copy.read_bytes()
    assert [0o640, 0o640] == [stat.S_IMODE(file.stat().st_mode) for file in (path, copy)]
    assert Exit.WELL == bring_up(link, write=True, steps=LATER)
    assert 2 == len(list(path.parent.iterdir()))


def test_command_on_a_folder_that_can_not_be_written(tmp_path: Path) -> None:
    """Where no copy can be kept nothing is changed, and the trouble is a line with the file's name."""
    path = written(tmp_path, OLD)
    if os.geteuid() == 0:
        (tmp_path / ".tp-01.toml.new").mkdir()
    else:
        tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="can't be written"):
        bring_up(path, write=True, steps=LATER)
    assert OLD.encode() == path.read_bytes()


def test_command_on_a_full_disk(tmp_path: Path) -> None:
    """Where the disk is full nothing is changed, no empty copy is left, and when there is room it works."""
    with small_disk(tmp_path / "disk", "8k") as disk:
        path, other = written(disk, OLD), disk / "other"
        other.write_bytes(bytes(4096))
        with pytest.raises(UsageError, match="can't be written: No space left on device"):
            bring_up(path, write=True, steps=LATER)
        assert {path, other} == set(disk.iterdir())
        assert OLD.encode() == path.read_bytes()
        other.unlink()
        with pytest.raises(UsageError, match="can't be written: No space left on device"):
            bring_up(path, write=True, steps=LATER)
        assert OLD.encode() == path.read_bytes()
        assert [OLD.encode()] == [copy.read_bytes() for copy in disk.iterdir() if copy != path]


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`scannerd config migrate` knows today's version, and refuses what is no TOML with one line."""
    assert Exit.WELL == run(["config", "migrate", str(written(tmp_path, "[table]\n"))])
    assert f"is of this version ({VERSION}) already" in capsys.readouterr().out
    assert Exit.USAGE == run(["config", "migrate", str(written(tmp_path, "[table"))])
    assert Exit.USAGE == run(["config", "migrate", str(tmp_path / "absent"), "--write"])
    assert 2 == capsys.readouterr().err.count("\n")
