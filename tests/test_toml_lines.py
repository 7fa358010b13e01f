"""Where the keys of a TOML file stand."""

from __future__ import annotations

import tomllib

import pytest

from scannerd.toml_lines import key_lines, line_of, loads

TEXT = '''# comment
[table]
id = "x" # y = 1
"a b".c = [1, # [
 2, "]"]
text = """
[no]
k = 1 ""\\""" """""
[[scanner]]
name = 'a # b'
[[ scanner ]]
name = "b"
inline = { x = 1, y = "}" }
[scanner.sub]
z = \'\'\'
[q]\'\'\'
[last."q\\".r"]
w = 2024-01-01'''


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_keys(end: str) -> None:
    """Each table and each key has the line at which it stands, whatever values look like."""
    text = TEXT.replace("\n", end)
    tomllib.loads(text)
    expected = {
        ("table",): 2,
        ("table", "id"): 3,
        ("table", "a b"): 4,
        ("table", "a b", "c"): 4,
        ("table", "text"): 6,
        ("scanner", 0): 9,
        ("scanner", 0, "name"): 10,
        ("scanner", 1): 11,
        ("scanner", 1, "name"): 12,
        ("scanner", 1, "inline"): 13,
        ("scanner", 1, "sub"): 14,
        ("scanner", 1, "sub", "z"): 15,
        ("last", 'q".r'): 17,
        ("last", 'q".r', "w"): 18,
    }
    assert expected == key_lines(text)


def test_line_of_a_place_without_one() -> None:
    """A place that has no line has that of the nearest one around it, or else the first."""
    lines = key_lines("\n[table]\nid = {a = 1}\n")
    assert 3 == line_of(lines, ("table", "id", "a"))
    assert 2 == line_of(lines, ("table", "game"))
    assert 1 == line_of(lines, ("scanner",))


def test_what_tomllib_can_not_take_is_no_toml_like_any_other() -> None:
    """Values nested too deep and numbers too long are refused as all that is no TOML is, with the line."""
    deep, long = "a = 1\nb = " + "[" * 5_000 + "]" * 5_000, "a = 1\nb = [\n  " + "1" * 5_000 + ",\n]\n"
    with pytest.raises(tomllib.TOMLDecodeError, match=r"^values are nested too deep \(at line 2, column 1\)$"):
        loads(deep)
    with pytest.raises(tomllib.TOMLDecodeError, match=r"^a number is too long \(at line 3, column 3\)$"):
        loads(long)
    with pytest.raises(tomllib.TOMLDecodeError, match=r"^Expected '=' after a key"):
        loads("a\n")
    assert {"a": {"b": 1}} == loads("[a]\nb = 1\n")
