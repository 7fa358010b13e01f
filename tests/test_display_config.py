"""What `[display]` may say, and `scannerd pin`, which writes what it names."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from scannerd.config import load
from scannerd.config.settings import Display
from scannerd.display.pin import fits
from scannerd.errors import ConfigError
from tests.journals import start

TABLE = '[table]\nid = "tp-01"\n[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "/dev/null"\n'


def loaded(folder: Path, display: str, credentials: Path | None = None) -> Display:
    """The section of a configuration."""
    file = folder / "tp-01.toml"
    file.write_text(f"{TABLE}[display]\n{display}\n", encoding="utf-8")
    environ = {} if credentials is None else {"CREDENTIALS_DIRECTORY": str(credentials)}
    return load(file, environ=environ).display


@pytest.mark.parametrize("listen", ["127.0.0.1:8470", "127.8.0.1:1", "[::1]:8470", "localhost:8470", ""])
def test_loopback_needs_nothing(tmp_path: Path, listen: str) -> None:
    """An address that only this machine reaches needs neither TLS nor a proxy."""
    assert loaded(tmp_path, f'listen = "{listen}"').on_loopback


@pytest.mark.parametrize("listen", ["0.0.0.0:8470", "10.0.0.7:8470", "[::]:8470", "table.studio:8470"])
def test_other_address_without_tls_is_refused(tmp_path: Path, listen: str) -> None:
    """An address that others reach is refused where a PIN would go over it in the clear."""
    with pytest.raises(ConfigError, match=r"tp-01\.toml:8: display\.listen: .* can be reached from elsewhere"):
        loaded(tmp_path, f'listen = "{listen}"')


def test_other_address_with_tls_or_a_proxy_is_taken(tmp_path: Path) -> None:
    """With a certificate, or behind a proxy that has one, any address is fine; files are found beside it."""
    (tmp_path / "c.pem").touch()
    both = loaded(tmp_path, 'listen = "0.0.0.0:1"\ntls_cert = "c.pem"\ntls_key = "c.pem"')
    assert tmp_path / "c.pem" == both.tls_cert
    assert loaded(tmp_path, 'listen = "0.0.0.0:1"\nbehind_proxy = true').behind_proxy


@pytest.mark.parametrize(
    ("display", "expected"),
    [
        ('pin_file = "none"', "display.pin_file: expected a readable file"),
        ('tls_cert = "tp-01.toml"', "display.tls_cert: expected `tls_key` with it"),
        ('tls_key = "tp-01.toml"', "display.tls_key: expected `tls_cert` with it"),
        ('hosts = ["tp-01.studio:80"]', "display.hosts: expected a host's name in small letters"),
    ],
)
def test_fault_is_told_with_its_key(tmp_path: Path, display: str, expected: str) -> None:
    """What can't be right is told with file, line and key."""
    with pytest.raises(ConfigError, match=expected):
        loaded(tmp_path, display)


def test_pin_may_be_a_credential_of_systemd(tmp_path: Path) -> None:
    """Where the configuration names no PIN file, systemd's credential `display-pin` is it."""
    credential = tmp_path / "display-pin"
    credential.touch()
    assert credential == loaded(tmp_path, "", tmp_path).pin_file
    assert loaded(tmp_path, "").pin_file is None


def test_pin_command_writes_a_hash_for_its_owner_alone(tmp_path: Path) -> None:
    """`scannerd pin` reads the PIN and writes a hash that only the owner may read, over an old one too."""
    file = tmp_path / "pin"
    for pin in ("123456", "another pin"):
        process = start(RUN, str(file))
        out, _ = process.communicate(f"{pin}\n".encode(), 20)
        assert (0, f"{file}: the hash of the PIN is in it.\n") == (process.returncode, out.decode())
        assert fits(pin, file.read_text(encoding="ascii"))
        assert 0o600 == stat.S_IMODE(file.stat().st_mode)
    assert [file] == list(tmp_path.iterdir())


@pytest.mark.parametrize(("pin", "word"), [("12345", "expected 6 to 64 characters"), ("123456", "can't be written")])
def test_pin_command_says_in_one_line_what_is_wrong(tmp_path: Path, pin: str, word: str) -> None:
    """A PIN that is too short, or a folder that is not there, is one line and exit code 2."""
    process = start(RUN, str(tmp_path / "none" / "pin"))
    _, errors = process.communicate(f"{pin}\n".encode(), 20)
    assert 2 == process.returncode
    assert word in errors.decode()
    assert 1 == errors.decode().count("\n")


RUN = "import sys; from scannerd.cli import main; main(['pin', *sys.argv[1:]])"
