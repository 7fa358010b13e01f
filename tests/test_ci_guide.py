"""The CI files of `docs/ci.md` are such as those who run them take, and what they call is there and works."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from ruamel.yaml import YAML

from scannerd.cli import cli
from tests.small_recordings import ACE, CARDS, KING, OPENED, write, write_lines

GUIDE = (Path(__file__).parent.parent / "docs" / "ci.md").read_text(encoding="utf-8")
GITHUB, GITLAB = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL))


def steps_of_github() -> dict[str, str]:
    """The shell script of each named step."""
    steps = YAML(typ="safe").load(GITHUB)["jobs"]["verify"]["steps"]
    return {step["name"]: step["run"] for step in steps if "run" in step}


def script_of_gitlab() -> list[str]:
    """The lines of the job's script."""
    lines: list[str] = YAML(typ="safe").load(GITLAB)["recordings"]["script"]
    return lines


def commands() -> list[str]:
    """Each command of scannerd in the guide."""
    scripts = [SHELL, *steps_of_github().values(), *script_of_gitlab()]
    return [line.strip() for text in scripts for line in text.splitlines() if line.strip().startswith("scannerd ")]


@pytest.mark.parametrize(("schema", "text"), [("github-workflows", GITHUB), ("gitlab-ci", GITLAB)])
def test_the_files_fit_the_schema_of_those_who_run_them(tmp_path: Path, schema: str, text: str) -> None:
    """Each file is valid by the schema of its CI system."""
    (tmp_path / "ci.yml").write_text(text, encoding="utf-8")
    lint = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(tmp_path / "ci.yml")]
    done = subprocess.run(lint, capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stderr), done.stdout


@pytest.mark.parametrize("command", commands())
def test_each_command_is_one(command: str) -> None:
    """The command line takes each command of the guide, options and all."""
    _, name, *arguments = shlex.split(command.partition("||")[0], comments=True)
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    found.make_context(name, arguments)


def corpus(folder: Path, *expected: str) -> None:
    """A repository with one recording and these expected lines."""
    (folder / "recordings").mkdir()
    write(folder / "recordings" / "x.scanlog", *CARDS)
    write_lines(folder / "recordings" / "x.expected.jsonl", expected)


def bash(folder: Path, script: str) -> int:
    """Runs a step as the CI system does, with the project's own scannerd."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    summary = str(folder / "summary.md")
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": summary}
    return subprocess.run(
        ["/bin/bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        check=False,
        stdout=subprocess.DEVNULL,
    ).returncode


@pytest.mark.skipif(shutil.which("git") is None, reason="the workflow's patch is git's")
def test_the_workflow_of_github_reports(tmp_path: Path) -> None:
    """The steps run: the report is in the summary, and the patch holds what would change."""
    corpus(tmp_path, OPENED, KING)
    assert 0 == bash(tmp_path, "git init -q && git add .")
    write(tmp_path / "recordings" / "new.scanlog", *CARDS)
    steps = steps_of_github()
    assert 1 == bash(tmp_path, steps["Verify"])
    assert "| `recordings/x.scanlog` | 1 different |" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert (tmp_path / "report.xml").exists()
    assert 0 == bash(tmp_path, steps["Tell what would change"])
    patch = (tmp_path / "changes.patch").read_text(encoding="utf-8")
    assert 2 == patch.count('+{"t":1,"type":"card_accepted"')
    assert "+++ b/recordings/new.expected.jsonl" in patch
    assert 0 == bash(tmp_path, steps["Verify"])


def test_the_script_of_gitlab_reports(tmp_path: Path) -> None:
    """The script runs, but for the installation, and leaves both reports."""
    corpus(tmp_path, OPENED, ACE, KING)
    install, verify = script_of_gitlab()
    assert "pip install -r requirements.txt" == install
    assert 0 == bash(tmp_path, verify)
    assert "as expected" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert (tmp_path / "report.xml").exists()
