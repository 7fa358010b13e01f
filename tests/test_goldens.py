"""`.ci/goldens`: what CI says of expected files that changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / ".ci" / "goldens"
GIT = shutil.which("git") or ""
NAME = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
ENVIRONMENT |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

pytestmark = pytest.mark.skipif(not GIT, reason="git is not installed: without a history nothing can have changed")


class Tree:
    """A source tree with a history of its own."""

    def __init__(self, root: Path) -> None:
        """Begins with one commit: a recording's events and prompts."""
        self.root = root
        (root / ".ci").mkdir()
        shutil.copy(SCRIPT, root / ".ci")
        self.recordings = root / "tests" / "recordings"
        self.recordings.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.write("one.expected.jsonl", "a\nb\n")
        self.write("two.prompts.jsonl", "a\n")
        self.commit("Begin")

    def git(self, *arguments: str) -> str:
        """What git says."""
        return subprocess.check_output([GIT, *NAME, *arguments], cwd=self.root, env=ENVIRONMENT, text=True).strip()

    def write(self, name: str, text: str) -> None:
        """Writes a file beside a recording."""
        (self.recordings / name).write_text(text, encoding="utf-8")

    def commit(self, *messages: str) -> None:
        """Commits all there is."""
        self.git("add", "--all")
        self.git("commit", "--quiet", *(f"--message={message}" for message in messages))

    def told(self, *arguments: str) -> list[str]:
        """What the script says; without the commits' names."""
        printed = subprocess.check_output([self.root / ".ci" / "goldens", *arguments], env=ENVIRONMENT, text=True)
        for name in self.git("log", "--format=%h").splitlines():
            printed = printed.replace(name, "#")
        return printed.splitlines()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A source tree with one commit."""
    return Tree(tmp_path)


def test_the_first_commit_has_nothing_to_compare_with(tree: Tree) -> None:
    """Without an earlier commit, as after a shallow clone, it says so and is content."""
    assert ["Expected files of recordings: there is no earlier commit to compare with"] == tree.told()


def test_a_changed_file_is_named_with_the_commit_that_explains_it(tree: Tree) -> None:
    """A change is counted in lines and stands with its commit; new files are only counted, other files are not."""
    tree.write("one.expected.jsonl", "a\nc\nd\n")
    tree.write("new.replies.jsonl", "a\n")
    tree.write("one.scanlog", "{}\n")
    tree.commit("Tell c in place of b", "The contract says so.")
    assert [
        "Expected files of recordings since #: 1 new, 1 changed, 0 gone",
        "  changed: tests/recordings/one.expected.jsonl, +2 -1 lines",
        "      in # Tell c in place of b",
    ] == tree.told()


def test_a_change_without_a_word_is_pointed_at(tree: Tree) -> None:
    """A commit that says no more than its subject has not explained what it changed or took away."""
    (tree.recordings / "two.prompts.jsonl").unlink()
    tree.commit("Drop two")
    assert [
        "Expected files of recordings since #: 0 new, 0 changed, 1 gone",
        "  gone: tests/recordings/two.prompts.jsonl",
        "      in # Drop two (not explained)",
    ] == tree.told()


def test_a_branch_is_compared_with_main(tree: Tree) -> None:
    """All commits of a branch count, and what is not committed yet; a commit that is named is compared with instead."""
    tree.git("checkout", "--quiet", "-b", "topic")
    tree.write("one.expected.jsonl", "b\n")
    tree.commit("First", "Why.")
    tree.write("three.expected.jsonl", "a\n")
    tree.commit("Second")
    tree.write("two.prompts.jsonl", "b\n")
    assert "Expected files of recordings since #: 1 new, 2 changed, 0 gone" == tree.told()[0]
    assert ["      in # First"] == [line for line in tree.told() if " in " in line]
    assert "Expected files of recordings since #: 0 new, 1 changed, 0 gone" == tree.told("HEAD")[0]


def test_outside_a_history_it_is_content(tree: Tree) -> None:
    """A tree that was unpacked without its history is no fault."""
    shutil.rmtree(tree.root / ".git")
    printed = subprocess.check_output([tree.root / ".ci" / "goldens"], env=ENVIRONMENT, text=True)
    assert "Expected files of recordings: there is no earlier commit to compare with\n" == printed
