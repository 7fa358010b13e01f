"""The configuration: what is taken, what is refused, and with which words."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scannerd.config import load
from scannerd.config.settings import Alarms, Config, Display, Journal, Mqtt, Record, Round, Section, Stanza, Table
from scannerd.core.state import Rules
from scannerd.errors import ConfigError, Exit
from scannerd.signing import make_pair

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "config" / "scannerd.example.toml"

TABLE = '[table]\nid = "tp-01"\n'
SHOE = '[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "/dev/scannerd/shoe"\n'


def written(folder: Path, text: str) -> Path:
    """A configuration file with that text."""
    path = folder / "tp-01.toml"
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder: Path, text: str, **environ: str) -> Config:
    """What a configuration of that text says."""
    return load(written(folder, text), environ=environ)


def problems(folder: Path, text: str) -> tuple[str, ...]:
    """What is wrong with a configuration of that text, without the folder's name."""
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text)
    assert Exit.USAGE == caught.value.exit_code
    return tuple(problem.replace(f"{folder}/", "") for problem in caught.value.problems)


def test_least_configuration_has_the_documented_defaults(tmp_path: Path) -> None:
    """A table's id and one scanner are enough; everything else has its documented default."""
    config = loaded(tmp_path, TABLE + SHOE)
    assert "teen-patti-20-20" == config.plan.game
    assert ("A1", "B1", "A2", "B2", "A3", "B3") == config.plan.names
    assert Path("/var/lib/scannerd/tp-01") == config.state_dir
    assert Rules() == config.round.rules()
    assert ("127.0.0.1", 8470) == config.display.address
    assert [("127.0.0.1", 1883, False)] == list(config.mqtt.brokers)
    assert "rank-suit" == config.scanners[0].codes


@pytest.mark.parametrize("value", ["[" * 5_000 + "]" * 5_000, "1" * 5_000])
def test_a_value_that_nothing_can_hold_is_refused_with_its_line(tmp_path: Path, value: str) -> None:
    """A value nested too deep, or a number too long, is no TOML, in a configuration and in a codebook."""
    (problem,) = problems(tmp_path, TABLE + SHOE + f"x = {value}\n")
    assert problem.startswith("tp-01.toml:7: expected TOML: ")
    (tmp_path / "deck.toml").write_text(f'[deck]\nname = "blue"\nx = {value}\n', encoding="utf-8")
    (problem,) = problems(tmp_path, TABLE + SHOE + 'codes = "deck.toml"\n')
    assert "deck.toml:3: " in problem


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (TABLE + 'state_dir = "a\\u0000"\n' + SHOE, "table.state_dir"),
        (TABLE + SHOE + '[mqtt]\nusername = "u"\npassword_file = "a\\u0000b"\n', "mqtt.password_file"),
        (TABLE + SHOE + '[record]\ndirectory = "\\u0000"\n', "record.directory"),
        (TABLE + SHOE.replace("/dev/scannerd/shoe", "/dev/\\u0000"), "scanner.url"),
        (TABLE + SHOE + SHOE.replace("shoe", "other\\u0000", 2).replace("\\u0000", "", 1), "scanner.url"),
    ],
)
def test_a_file_name_has_no_nul(tmp_path: Path, text: str, key: str) -> None:
    """A path with a NUL character is refused when it is read, not when the file is wanted."""
    assert [f"{key}: a file's name can't hold a NUL character"] == [
        one.split(": ", 1)[1] for one in problems(tmp_path, text)
    ]


def test_round_section_and_core_agree() -> None:
    """Section `[round]` has the core's parameters, and no others."""
    assert [field.name for field in dataclasses.fields(Rules)] == list(Round.model_fields)
    assert dataclasses.asdict(Rules()) == Round().model_dump()


def test_example_loads_and_holds_the_defaults() -> None:
    """The example is a valid configuration whose values are the defaults."""
    config = load(EXAMPLE, environ={})
    assert (Table(id="tp-01"), Round(), Mqtt(), Display(), Record(), Journal(), Alarms()) == (
        config.table.model_copy(update={"state_dir": None}),
        config.round,
        config.mqtt,
        config.display,
        config.record,
        config.journal,
        config.alarms,
    )


@pytest.mark.parametrize("model", [Table, Stanza, Round, Mqtt, Display, Record, Journal, Alarms])
def test_example_explains_every_key(model: type[Section | Stanza]) -> None:
    """The example shows every key of every section."""
    shown = {line.lstrip("# ").partition(" =")[0] for line in EXAMPLE.read_text(encoding="utf-8").splitlines()}
    assert set() == set(model.model_fields) - shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLE + "languge = 'en'\n" + SHOE, "tp-01.toml:3: table.languge: unknown key, did you mean 'language'?"),
        (TABLE + SHOE + "lenght = 3\n", "tp-01.toml:7: scanner.lenght: unknown key, did you mean 'length'?"),
        (TABLE + SHOE + "ulr = 3\n", "tp-01.toml:7: scanner.ulr: unknown key, did you mean 'url'?"),
        (TABLE + SHOE + "[rounds]\n", "tp-01.toml:7: rounds: unknown key, did you mean 'round'?"),
        (
            TABLE + SHOE + "[display]\nxyzzy = 1\n",
            "tp-01.toml:8: display.xyzzy: unknown key, known are " + ", ".join(Display.model_fields),
        ),
    ],
)
def test_unknown_key_is_refused_with_the_nearest(tmp_path: Path, text: str, expected: str) -> None:
    """An unknown key is refused with its file, line and the nearest known key."""
    assert (expected,) == problems(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        (SHOE, "tp-01.toml:1: table.id: required"),
        (TABLE.replace("tp-01", "TP 01") + SHOE, "tp-01.toml:2: table.id: expected 1 to 64 of a-z 0-9 - _"),
        (TABLE + "game = 'teen-pati'\n" + SHOE, "tp-01.toml:3: table.game: expected a game: bet-on-poker"),
        (TABLE + "language = 'fr'\n" + SHOE, "tp-01.toml:3: table.language: expected 'en', 'pt', 'es', 'uk' or 'ms'"),
        (TABLE, "tp-01.toml:1: scanner: required: at least one [[scanner]]"),
        (TABLE + SHOE.replace("[[scanner]]", "[scanner]"), "tp-01.toml:3: scanner: required: at least one [[scanner]]"),
        (TABLE + "[[scanner]]\nname = 'a'\ndriver = 'line'\n", "tp-01.toml:3: scanner.url: required"),
        (
            TABLE + SHOE.replace('"line"', '"lime"'),
            "tp-01.toml:5: scanner.driver: no driver 'lime', did you mean 'line'?",
        ),
        (TABLE + SHOE + "hand = 'C'\n", "tp-01.toml:7: scanner.hand: expected a hand of the game, A or B, found 'C'"),
        (TABLE + SHOE.replace("/dev/scannerd/shoe", "gopher://box"), "tp-01.toml:6: scanner.url: "),
        (TABLE + SHOE + "codes = 'none.toml'\n", "tp-01.toml:7: scanner.codes: "),
        (TABLE + SHOE.replace('"line"', '"rfid-serial"'), "tp-01.toml:3: scanner.codes: required with this driver"),
        (TABLE + SHOE + "max_length = '9'\n", "tp-01.toml:7: scanner.max_length: expected a valid integer, found '9'"),
        (
            TABLE + SHOE + "[round]\nstall_ms = -1\n",
            "tp-01.toml:8: round.stall_ms: expected greater than or equal to 0",
        ),
        (TABLE + SHOE + "[round]\nbounce_ms = 1.5\n", "tp-01.toml:8: round.bounce_ms: expected a valid integer"),
        (
            TABLE + SHOE + "[round]\nstart = 'now'\n",
            "tp-01.toml:8: round.start: expected 'command' or 'auto', found 'now'",
        ),
        (TABLE + SHOE + "[mqtt]\nurl = 'http://x'\n", "tp-01.toml:8: mqtt.url: expected mqtt://host:port or mqtts://"),
        (TABLE + SHOE + "[mqtt]\nurl = 'mqtt://x:99999'\n", "tp-01.toml:8: mqtt.url: expected a port from 1 to 65535"),
        (TABLE + SHOE + "[mqtt]\nurl = 'mqtt://x:1883/y'\n", "tp-01.toml:8: mqtt.url: expected a host and a port"),
        (TABLE + SHOE + "[mqtt]\nprotocol = 3\n", "tp-01.toml:8: mqtt.protocol: expected 5 or 4, found 3"),
        (TABLE + SHOE + "[mqtt]\nroot = 'a/#'\n", "tp-01.toml:8: mqtt.root: expected the beginning of topics"),
        (TABLE + SHOE + "[mqtt]\nca_file = 'no.pem'\n", "tp-01.toml:8: mqtt.ca_file: expected a readable file"),
        (TABLE + SHOE + "[display]\nlisten = 'x'\n", "tp-01.toml:8: display.listen: expected host:port"),
        (TABLE + SHOE + "round = 3\n[rounb]\n", "tp-01.toml:7: scanner.round: unknown key"),
        ("round = 3\n" + TABLE + SHOE, "tp-01.toml:1: round: expected a table, [round]"),
        (TABLE + "id = 'x'\n" + SHOE, "tp-01.toml:3: expected TOML: Cannot overwrite a value"),
        ("[table\n", "tp-01.toml:1: expected TOML: "),
        ("[table]\nid = ", "tp-01.toml:2: expected TOML: "),
    ],
)
def test_fault_names_file_line_key_and_expectation(tmp_path: Path, text: str, beginning: str) -> None:
    """A fault is told with file, line, key and what was expected."""
    first = problems(tmp_path, text)[0]
    assert beginning == first[: len(beginning)]


def test_all_faults_are_told_in_the_order_of_the_file(tmp_path: Path) -> None:
    """All faults of a file are told at once, in its order."""
    text = TABLE + "langage = 'en'\n" + SHOE + "hand = 'Z'\n[round]\nbounce_ms = 'x'\n[mqtt]\nurl = 'x'\n"
    assert [3, 8, 10, 12] == [int(problem.split(":")[1]) for problem in problems(tmp_path, text)]


def test_scanners_have_different_names(tmp_path: Path) -> None:
    """Two scanners of one name are refused."""
    second = SHOE.replace("/dev/scannerd/shoe", "/dev/scannerd/b")
    assert ("tp-01.toml:8: scanner.name: 'shoe' is the scanner at line 3 already",) == problems(
        tmp_path, TABLE + SHOE + second
    )


@pytest.mark.fault(119)
def test_two_scanners_on_one_device_are_refused(tmp_path: Path) -> None:
    """Two scanners whose links lead to one device are refused with both names."""
    (tmp_path / "link").symlink_to("/dev/null")
    text = TABLE + SHOE.replace("/dev/scannerd/shoe", "/dev/null")
    text += SHOE.replace('"shoe"', '"desk"').replace("/dev/scannerd/shoe", str(tmp_path / "link"))
    assert ("tp-01.toml:10: scanner.url: 'desk' and 'shoe' (line 3) are on one device, /dev/null",) == problems(
        tmp_path, text
    )


def test_relative_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    """Relative paths are relative to the configuration's folder, whatever the working directory."""
    (tmp_path / "secret").write_text("s3cret\n", encoding="utf-8")
    text = f"{TABLE}state_dir = 'state'\n{SHOE}[mqtt]\nusername = 'u'\npassword_file = 'secret'\n"
    config = loaded(tmp_path, text)
    assert tmp_path / "state" == config.state_dir
    assert tmp_path / "secret" == config.mqtt.password_file
    assert "s3cret" == config.mqtt.password()


def test_password_comes_from_the_credential(tmp_path: Path) -> None:
    """Without `password_file` the password is systemd's credential `mqtt-password`."""
    (tmp_path / "mqtt-password").write_text("s3cret", encoding="utf-8")
    text = TABLE + SHOE + "[mqtt]\nusername = 'u'\n"
    assert "s3cret" == loaded(tmp_path, text, CREDENTIALS_DIRECTORY=str(tmp_path)).mqtt.password()
    assert loaded(tmp_path, text).mqtt.password() is None


def test_command_by_hand_finds_the_secret_of_the_service(tmp_path: Path) -> None:
    """Outside a service the password is the one that systemd would give the table's service, where it can be read."""
    text = TABLE + SHOE + "[mqtt]\nusername = 'u'\n"
    file, store = written(tmp_path, text), tmp_path / "credstore"
    assert load(file, environ={}, credstore=store).mqtt.password() is None
    store.mkdir()
    (store / "scannerd-tp-02.mqtt-password").write_text("another table's", encoding="utf-8")
    assert load(file, environ={}, credstore=store).mqtt.password() is None
    (store / "scannerd-tp-01.mqtt-password").write_text("s3cret", encoding="utf-8")
    assert "s3cret" == load(file, environ={}, credstore=store).mqtt.password()
    within = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert load(file, environ=within, credstore=store).mqtt.password() is None


def test_credential_is_for_a_user(tmp_path: Path) -> None:
    """A credential is not used where no user is named."""
    (tmp_path / "mqtt-password").write_text("s3cret", encoding="utf-8")
    assert loaded(tmp_path, TABLE + SHOE, CREDENTIALS_DIRECTORY=str(tmp_path)).mqtt.password() is None


def test_password_in_the_url_of_a_scanner_is_not_repeated(tmp_path: Path) -> None:
    """A scanner's URL that can't be used is told without what stands before its host."""
    (told,) = problems(tmp_path, TABLE + SHOE.replace("/dev/scannerd/shoe", "tcp://u:s3cret@x:4001"))
    assert told.endswith("expected tcp://host:port, found 'tcp://[hidden]@x:4001'")


@pytest.mark.parametrize("url", ["mqtt://u:s3cret@x", "u:s3cret@x:1883", "mqtt://u:s3cret#1@x", "http://u:s3cret@x"])
def test_password_in_a_url_is_refused_and_not_repeated(tmp_path: Path, url: str) -> None:
    """A password in the URL is refused without being repeated, be the URL ever so wrong."""
    told = problems(tmp_path, TABLE + SHOE + f"[mqtt]\nurl = '{url}'\n")
    assert ("tp-01.toml:8: mqtt.url: expected no user in the URL; `username` and `password_file` are for that",) == told


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("password_file = 'here'", "mqtt.password_file: expected `username` with it"),
        ("url = 'mqtts://x'\nkey_file = 'here'", "mqtt.key_file: expected `cert_file` with it"),
        ("ca_file = 'here'", "mqtt.ca_file: expected an mqtts:// url with it"),
    ],
)
def test_keys_that_need_others_are_refused_alone(tmp_path: Path, keys: str, expected: str) -> None:
    """A key that means nothing without another is refused without it."""
    (tmp_path / "here").touch()
    assert [expected] == [told.split(": ", 1)[1] for told in problems(tmp_path, f"{TABLE}{SHOE}[mqtt]\n{keys}\n")]


def test_unreadable_file_is_told(tmp_path: Path) -> None:
    """A configuration that is not there, or is no UTF-8, is told as such."""
    with pytest.raises(ConfigError, match="can't be read: No such file or directory"):
        load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'[table]\nid = "\xe9"\n')
    with pytest.raises(ConfigError, match=r"latin\.toml:2: expected UTF-8, found the byte 0xe9"):
        load(tmp_path / "latin.toml")


def test_digest_follows_what_matters(tmp_path: Path) -> None:
    """The digest changes with a rule or a scanner's option, and neither with comments nor with a password."""
    one = loaded(tmp_path, TABLE + SHOE).digest
    (tmp_path / "secret").touch()
    assert one == loaded(tmp_path, "# here\n" + TABLE + SHOE + "[round]\nbounce_ms = 400\n").digest
    assert one != loaded(tmp_path, TABLE + SHOE + "[round]\nbounce_ms = 401\n").digest
    assert one != loaded(tmp_path, TABLE + SHOE + "max_length = 63\n").digest
    user = TABLE + SHOE + "[mqtt]\nusername = 'u'\n"
    assert loaded(tmp_path, user).digest == loaded(tmp_path, user + "password_file = 'secret'\n").digest


def test_digest_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Two processes find the same digest, though sets have another order in each."""
    path = written(tmp_path, TABLE + SHOE.replace('"line"', '"angel-eye"'))
    code = "import sys, pathlib, scannerd.config as c; print(c.load(pathlib.Path(sys.argv[1])).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code, path],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{ROOT}:{ROOT}/drivers"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert 1 == len(digests)


def test_own_game_lies_beside_the_configuration(tmp_path: Path) -> None:
    """A game's file in the folder `games` beside the configuration is a game."""
    (tmp_path / "games").mkdir()
    game = tmp_path / "games" / "solo.toml"
    game.write_text('title = "Solo"\nhands = ["C"]\norder = ["C1", "C2"]\n', encoding="utf-8")
    assert ("C1", "C2") == loaded(tmp_path, TABLE + "game = 'solo'\n" + SHOE).plan.names


@pytest.mark.parametrize(
    ("game", "text", "part"),
    [
        ("teen-patti-20-20", 'hands = ["A"]\norder = ["A1"]', "is another game than the one of that name"),
        ("solo", 'hands = ["A", "B"]\norder = ["A1"]', "hands: expected ['A']"),
        ("solo", 'hands = ["A"]\norder = ["A2"]', "A2 comes where A1 is due"),
        ("solo", "hands = 3\norder = 4", "expected the lists `hands` and `order`"),
        ("solo", 'hands = ["A"]\norder = ["A1"]\nname = "x"', "unknown key 'name'"),
        ("solo", "hands =", "Invalid value"),
    ],
)
def test_wrong_game_is_refused(tmp_path: Path, game: str, text: str, part: str) -> None:
    """A game's file that gives no plan, or another plan for a known name, is refused."""
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / f"{game}.toml").write_text(text, encoding="utf-8")
    (told,) = problems(tmp_path, f"{TABLE}game = '{game}'\n{SHOE}")
    assert told.startswith("tp-01.toml:3: table.game: ")
    assert part in told


def test_every_packaged_game_is_valid() -> None:
    """Every file of config/games says in TOML what its hands and its order are."""
    for file in (ROOT / "config" / "games").glob("*.toml"):
        assert {"title", "hands", "order"} == tomllib.loads(file.read_text(encoding="utf-8")).keys()


def test_signing_key_is_found_and_proved_to_be_one(tmp_path: Path) -> None:
    """The key is the configured file, else systemd's credential; what is no Ed25519 key is refused with its place."""
    make_pair(tmp_path / "key", tmp_path / "key.pub")
    make_pair(tmp_path / "signing-key", tmp_path / "other.pub")
    credentials = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    named = TABLE + SHOE + "[journal]\nsigning_key = 'key'\n"
    assert tmp_path / "key" == loaded(tmp_path, named, **credentials).journal.signing_key
    assert tmp_path / "signing-key" == loaded(tmp_path, TABLE + SHOE, **credentials).journal.signing_key
    assert loaded(tmp_path, TABLE + SHOE).journal.signing_key is None
    (told,) = problems(tmp_path, TABLE + SHOE + "[journal]\nsigning_key = 'key.pub'\n")
    assert told.startswith("tp-01.toml:8: journal.signing_key: expected a private key in PEM")
