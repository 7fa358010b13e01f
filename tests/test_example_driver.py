"""A driver in a package of its own, installed as anyone's would be: found by name, used, and put to the kit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLE = Path(__file__).parent / "example_driver"
STANZA = """
[table]
id = "tp-01"
[[scanner]]
name = "shoe"
driver = "example"
url = "/dev/scannerd/shoe"
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example is installed by pip, from a copy, as building leaves traces."""
    source = tmp_path_factory.mktemp("source") / "example"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path_factory.mktemp("installed")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", target, source], check=True)
    return target


def run(*arguments: str | Path, path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a module of Python with the packages of `path` and the project's own."""
    places = (path, ROOT, ROOT / "drivers")
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))},
        capture_output=True,
        text=True,
        check=False,
    )


def second_claim(folder: Path, target: str) -> Path:
    """A package that is installed in `folder` and claims the example's name for `target`."""
    info = folder / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[scannerd.drivers]\nexample = {target}\n", encoding="utf-8")
    return folder


def test_example_is_listed_with_its_options(installed: Path, tmp_path: Path) -> None:
    """An installed driver is loaded by its name and listed with its options and their descriptions."""
    done = run("scannerd", "drivers", "example", "--json", path=installed, folder=tmp_path)
    (listed,) = json.loads(done.stdout)
    assert ("example", "an example to copy") == (listed["name"], listed["summary"])
    assert ["baudrate", "frame_timeout_ms"] == [option["name"] for option in listed["options"]]
    assert "scannerd-example" in listed["package"]


def test_configuration_names_the_example(installed: Path, tmp_path: Path) -> None:
    """A configuration may name an installed driver and its options, and unknown options are refused."""
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(STANZA + "frame_timeout_ms = 100\n", encoding="utf-8")
    bad.write_text(STANZA + "frame_timeout = 100\n", encoding="utf-8")
    assert 0 == run("scannerd", "check", "-c", good, path=installed, folder=tmp_path).returncode
    refused = run("scannerd", "check", "-c", bad, path=installed, folder=tmp_path)
    assert 2 == refused.returncode
    assert "did you mean 'frame_timeout_ms'" in refused.stderr


def test_example_stands_the_kit(installed: Path, tmp_path: Path) -> None:
    """The example passes every test of the conformance kit, run by pytest outside the project."""
    shutil.copy(EXAMPLE / "check_example.py", tmp_path)
    done = run("pytest", "-q", "-p", "no:cacheprovider", "check_example.py", path=installed, folder=tmp_path)
    assert 0 == done.returncode, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_plugin_gives_devices(installed: Path, tmp_path: Path) -> None:
    """Where scannerd is installed, pytest has a scanner on a terminal and one on a TCP port for further tests."""
    test = """
def test_both(scanner_pty, scanner_tcp):
    from scannerd_example import ExampleDriver, ExampleOptions
    for device in (scanner_pty, scanner_tcp):
        transport = ExampleDriver(ExampleOptions()).transport(device.url)
        transport.open()
        device.send(b"<AS>")
        assert b"<AS>" == transport.read(5)
        transport.close()
"""
    (tmp_path / "test_more.py").write_text(test, encoding="utf-8")
    done = run("pytest", "-q", "-p", "no:cacheprovider", "test_more.py", path=installed, folder=tmp_path)
    assert 0 == done.returncode, done.stdout


@pytest.mark.parametrize("use", [("drivers", "example"), ("check", "-c", "table.toml")])
def test_name_claimed_twice_is_one_clear_line(installed: Path, tmp_path: Path, use: tuple[str, ...]) -> None:
    """A name that a second package claims ends each command that needs it with 2 and one line naming both."""
    (tmp_path / "table.toml").write_text(STANZA, encoding="utf-8")
    both = second_claim(tmp_path, "scannerd_example:ExampleDriver")
    done = run("scannerd", *use, path=Path(f"{both}{os.pathsep}{installed}"), folder=tmp_path)
    assert (2, "") == (done.returncode, done.stdout)
    assert 1 == done.stderr.count("\n")
    assert "'example' is claimed by" in done.stderr
    assert {"acme", "scannerd-example"} <= set(done.stderr.replace(".", " ").split())


@pytest.mark.parametrize("use", [("drivers", "example"), ("check", "-c", "table.toml")])
def test_driver_that_cannot_be_imported_is_one_clear_line(tmp_path: Path, use: tuple[str, ...]) -> None:
    """A driver whose import fails ends each command that needs it with 2 and one line naming package and reason."""
    (tmp_path / "table.toml").write_text(STANZA, encoding="utf-8")
    done = run("scannerd", *use, path=second_claim(tmp_path, "acme_driver:Acme"), folder=tmp_path)
    assert (2, "") == (done.returncode, done.stdout)
    assert 1 == done.stderr.count("\n")
    assert "package acme can't be imported: ModuleNotFoundError: No module named 'acme_driver'" in done.stderr


@pytest.mark.parametrize("use", [("drivers", "exampel"), ("check", "-c", "table.toml")])
def test_unknown_driver_is_one_clear_line(installed: Path, tmp_path: Path, use: tuple[str, ...]) -> None:
    """An unknown driver ends each command that needs it with 2 and one line with the nearest known name."""
    (tmp_path / "table.toml").write_text(STANZA.replace('"example"', '"exampel"'), encoding="utf-8")
    done = run("scannerd", *use, path=installed, folder=tmp_path)
    assert (2, "") == (done.returncode, done.stdout)
    assert 1 == done.stderr.count("\n")
    assert "no driver 'exampel', did you mean 'example'?" in done.stderr
