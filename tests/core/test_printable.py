"""Text from files is shown on one line, without what a terminal would obey."""

import pytest

from trellis._core.printable import printable, printable_lines


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a name", "a name"),
        ("näher\t1", "näher\\t1"),
        ("\x1b[2J\nx\u202e", "\\x1b[2J\\nx\\u202e"),
        (7, "7"),
        ("", ""),
    ],
)
def test_control_characters_are_escaped(text, shown):
    assert printable(text) == shown


def test_long_text_is_cut():
    assert printable("x" * 120) == "x" * 120
    assert printable("x" * 121) == "x" * 120 + "..."
    assert printable("abcdef", 5) == "abcde..." and printable("abcde", 5) == "abcde"
    assert printable("\x1b" * 3, 5) == "\\x1b\\..."


def test_lines_stay_lines_of_any_length():
    text = "\x1b" * 200 + "\n" + "y" * 200
    assert printable_lines(text) == "\\x1b" * 200 + "\n" + "y" * 200
    assert printable_lines("\U0010ffff" * 3) == "\\U0010ffff" * 3
