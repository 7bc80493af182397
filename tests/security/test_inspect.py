"""`trellis inspect` of hostile files: it ends, and what it prints cannot rewrite the terminal."""

import json
import struct
import zipfile

import pytest

from trellis import cli, export
from trellis.errors import ArgumentError


def archive(path, content):
    """What torch.save would write around a pickle."""
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("archive/data.pkl", content)
    return path


DOUBLING = b"\x80\x02)" + b"2\x86" * 120  # a tuple of itself twice, 120 times: 244 bytes


@pytest.mark.parametrize(
    "content",
    [
        DOUBLING + b".",
        DOUBLING + b"2\x93.",  # as the name of a class
        DOUBLING + b"0" + b"(" * 20_000 + b"t" * 20_000 + b".",
        b"\x80\x02" + b"(" * 200_000 + b"1" * 200_000 + b").",
        b"\x80\x02]q\x00h\x00a.",  # a list that holds itself
        b"\x80\x02t.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + DOUBLING[2:] + b"R.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.",
    ],
)
def test_pickles_that_never_end(content, tmp_path):
    path = archive(tmp_path / "bad.pt", content)
    try:  # a visit of each value would not end
        assert export.describe(path).weights == ()
    except ArgumentError as error:
        assert "pickle" in str(error)


def test_shared_values_are_found_by_every_name(tmp_path):
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00K\x02\x85K\x01\x85\x89)tR"
    content = b"\x80\x02}(X\x01\x00\x00\x00a" + tensor + b"q\x01X\x01\x00\x00\x00bh\x01u."
    found = export.describe(archive(tmp_path / "good.pt", content)).weights
    assert [str(port) for port in found] == ["a: float32 (2,)", "b: float32 (2,)"]


def test_names_do_not_reach_the_terminal_as_they_are(tmp_path, capsys):
    name = "\x1b[2J\x1b]0;title\x07w\n  verified by nobody\u202e"
    entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    header = json.dumps({name: entry, "__metadata__": {"key\x1b[1m": "text\r"}}).encode()
    path = tmp_path / "weights.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 4)
    assert cli.main(["inspect", str(path)]) == 0
    said = capsys.readouterr().out
    assert "\\x1b[2J" in said and "\\n  verified by nobody\\u202e" in said
    assert all([c.isprintable() or c == "\n" for c in said])
    assert cli.main(["inspect", str(tmp_path / "no\x1b[2Jfile")]) == 1
    assert "\x1b" not in capsys.readouterr().err
