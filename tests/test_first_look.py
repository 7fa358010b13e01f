"""What `config/` has for people who look first: a Node-RED flow and a recipe for mosquitto_sub."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scannerd.core.commands import COMMANDS
from scannerd.messages import TOLD
from scannerd.schema.models import SHOWN
from tests.daemon import BOUND_S, StartDaemon, start_daemon_fixture  # noqa: F401 - pytest finds it by name
from tests.mosquitto import (  # noqa: F401 - pytest finds the fixtures by name
    Mosquitto,
    broker_fixture,
    start_broker_fixture,
)

CONFIG = Path(__file__).parent.parent / "config"
CORE = {
    "tab",
    "comment",
    "mqtt-broker",
    "mqtt in",
    "debug",
    "function",
    "http in",
    "template",
    "http response",
}
"""Types of nodes that come with Node-RED."""


def flow() -> list[dict[str, Any]]:
    """The nodes of the flow."""
    nodes = json.loads((CONFIG / "node-red" / "flow.json").read_text(encoding="utf-8"))
    assert isinstance(nodes, list)
    return nodes


def recipe() -> list[list[str]]:
    """The commands of the recipe, each as its words."""
    text = (CONFIG / "mosquitto" / "mosquitto_sub.md").read_text(encoding="utf-8")
    return [shlex.split(block) for block in re.findall(r"```sh\n(.*?)\n```", text, re.DOTALL)]


def in_contract(topic: str) -> bool:
    """Whether a topic filter fits topics of the contract."""
    root, version, _, *rest = topic.split("/")
    known = [[name] for name in SHOWN] + [["event", kind] for kind in TOLD] + [["command", name] for name in COMMANDS]
    found = [rest == ["#"] or _fits(rest, one) for one in known]
    return (root, version) == ("scannerd", "v1") and any(found)


def _fits(levels: list[str], topic: list[str]) -> bool:
    return len(levels) == len(topic) and all(a in {"+", "#", b} for a, b in zip(levels, topic, strict=True))


def test_flow_listens_to_prompt_round_status_and_events() -> None:
    """The flow hears the topics of the contract for all tables, with QoS 1, and writes none."""
    topics = [str(node["topic"]) for node in flow() if node["type"] == "mqtt in"]
    assert [f"scannerd/v1/+/{name}" for name in ("prompt", "round", "status", "event/+")] == topics
    assert all(in_contract(topic) for topic in topics)
    assert {"1"} == {node["qos"] for node in flow() if node["type"] == "mqtt in"}


def test_flow_is_one_page_of_core_nodes() -> None:
    """The flow is one tab, of nodes that every Node-RED has, and each wire leads to a node of it."""
    nodes = flow()
    assert set() == {node["type"] for node in nodes} - CORE
    assert 1 == sum(node["type"] == "tab" for node in nodes)
    ids = [node["id"] for node in nodes]
    assert len(ids) == len(set(ids))
    ends = {end for node in nodes for port in node.get("wires", []) for end in port}
    assert set() == ends - set(ids)
    inputs = {node["id"] for node in nodes if node["type"] in {"debug", "function", "template", "http response"}}
    assert inputs == ends


def test_flow_reads_fields_of_the_contract() -> None:
    """The fields that the flow takes from the retained topics are fields of the contract."""
    code = {node["id"]: str(node.get("func", "")) + str(node.get("statusVal", "")) for node in flow()}
    for topic, model in SHOWN.items():
        used = set(re.findall(r"msg\.payload\.(\w+)", code[f"scannerd-{topic}-kept"]))
        used |= set(re.findall(r"payload\.(\w+)", code[f"scannerd-{topic}-shown"]))
        taken = re.search(r"const \{ (.*?) \} = msg\.payload", code[f"scannerd-{topic}-kept"])
        used |= set() if taken is None else set(taken[1].split(", "))
        assert used
        assert set() == used - model.model_fields.keys()


def test_recipes_topics_are_of_the_contract() -> None:
    """Each command of the recipe names a topic of the contract."""
    topics = [words[words.index("-t") + 1] for words in recipe()]
    assert 6 == len(topics)
    assert [] == [topic for topic in topics if not in_contract(topic)]
    assert not in_contract("scannerd/v1/tp-01/event/card_excepted")


@pytest.mark.skipif(
    not shutil.which("mosquitto_sub"), reason="mosquitto_sub is missing: apt-get install mosquitto-clients"
)
def test_recipe_works(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """What the recipe says shows the status of a table that runs."""
    start_daemon(broker.url)
    once = next(words for words in recipe() if "-C" in words)
    done = subprocess.run([*once, "-p", str(broker.port)], capture_output=True, check=True, timeout=BOUND_S)
    assert {"shoe"} == set(json.loads(done.stdout)["scanners"])
