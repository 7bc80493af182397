"""Files: what is damaged is refused in clear words or reads back equal; names, links, modes."""

import json
import os
import stat
import zlib
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis import errors, nn, optim
from trellis._core.files import map_arrays, read_arrays, write_arrays
from trellis.testing import assert_close
from trellis.train import load_checkpoint, read_checkpoint, read_extra, save_checkpoint

OLD_FILE = Path(__file__).parents[1] / "data" / "checkpoint_of_version_0_1.safetensors"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.safetensors"


def state():
    return {
        "v": {"w": np.arange(6, dtype="float32").reshape(2, 3), "z": np.array([1 + 2j, 3 - 1j])},
        "counts": [np.array(7, "int32"), (np.array([True, False]), None)],
        "empty": np.zeros((0, 3), "float16"),
        "rate": 0.001,
        "step": 12,
        "name": 'a "quoted" run: "checksum":"00000000"',
    }


def same(found, expected):
    """Equal to the last bit, in structure and data types too."""
    xs, ys = trellis.tree.leaves(found), trellis.tree.leaves(expected)
    if trellis.tree.key_chains(found) != trellis.tree.key_chains(expected):
        return False
    return all(
        np.asarray(x).dtype == np.asarray(y).dtype and np.array_equal(x, y)
        for x, y in zip(xs, ys, strict=True)
    )


# Damage -------------------------------------------------------------------------------------------


def damaged(content, seed):
    """Thousands of ways in which a disk, a network or an editor may spoil a file."""
    random = np.random.default_rng(seed)
    size = len(content)

    def place():
        return int(random.integers(size))

    for i in range(size):  # one flipped bit in each byte
        yield content[:i] + bytes([content[i] ^ (1 << int(random.integers(8)))]) + content[i + 1 :]
    for i in range(0, size, 3):
        yield content[:i]  # cut
        yield content[:i] + content[i + 1 :]  # a byte lost
        yield content[:i] + bytes([int(random.integers(256))]) + content[i:]  # a byte too many
    digits = [i for i in range(size) if content[i : i + 1].isdigit()]
    for i in digits:  # another number in the header
        yield content[:i] + b"%d" % ((content[i] - 48 + 8) % 10) + content[i + 1 :]
    for _ in range(300):
        begin, end = sorted((place(), place()))
        yield content[:begin] + bytes(end - begin) + content[end:]  # a hole
        yield content[:begin] + b" " * (end - begin) + content[end:]
        yield content[:begin] + random.bytes(end - begin) + content[end:]
        yield content[:begin] + content[begin:end][::-1] + content[end:]
        yield content[:end] + content[begin:]  # a part twice
        changed = bytearray(content)
        for _ in range(int(random.integers(2, 20))):
            changed[place()] = int(random.integers(256))
        yield bytes(changed)
    yield content + b"\0"
    yield content * 2
    yield b""


@pytest.fixture
def on_disk(monkeypatch):
    """A function that makes every file hold these bytes: a real disk would take a minute."""

    def hold(content):
        monkeypatch.setattr(Path, "read_bytes", lambda path: content)

    return hold


def test_thousands_of_damaged_checkpoints(path, on_disk):
    expected = state()
    save_checkpoint(path, expected, extra={"epoch": 3})
    whole = path.read_bytes()
    tried = silent = 0
    for content in damaged(whole, 0):
        if content == whole:
            continue
        on_disk(content)
        tried += 1
        for read in (read_checkpoint, lambda p: load_checkpoint(p, expected)):
            try:
                found = read(path)
            except errors.TrellisError as error:
                assert "damaged" in str(error) or "not a checkpoint" in str(error)
            else:
                silent += not same(found, expected)
        with pytest.raises(errors.TrellisError, match=r"damaged|not a checkpoint"):
            read_extra(path)
    assert tried > 3000
    assert silent == 0


def test_thousands_of_damaged_weights(path, on_disk):
    with trellis.using_backend("numpy"):
        module = nn.BatchNorm1D(3)
    module.save_weights(path)
    whole, expected = path.read_bytes(), module.state_dict()
    tried = silent = 0
    for content in [*damaged(whole, 1), *damaged(whole, 2), *damaged(whole, 3)]:
        if content == whole:
            continue
        on_disk(content)
        tried += 1
        try:
            module.load_weights(path)
            silent += not same(module.state_dict(), expected)
        except errors.TrellisError as error:
            assert "damaged" in str(error) or "does not fit" in str(error)
    assert tried > 5000
    assert silent == 0


def forged(path, change):
    """The file with another header and a checksum that fits: made by hand, not by accident."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    change(header)
    if "checksum" in header["__metadata__"]:
        header["__metadata__"]["checksum"] = "00000000"
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    whole = len(head).to_bytes(8, "little") + head + data
    mark = b'"checksum":"%08x"' % zlib.crc32(whole)
    return whole.replace(b'"checksum":"00000000"', mark, 1)


NONSENSE = ["", "{", "[]", "{}", "null", "3", '"a"', '["v/w"]', '{"value": []}', '{"value": {}}',
            '{"array": []}', '{"array": "none"}', '{"list": 3}', '{"container": []}', '{"dict": 1}',
            '{"list": [3]}', '{"other": {"a": {"value": 1}}}', '{"a": 1, "b": 2}',
            "[" * 10_000 + "]" * 10_000, '{"list": [' * 5_000]  # fmt: skip


@pytest.mark.parametrize("key", ["state", "backends", "extra", "complex128", "format"])
def test_headers_made_by_hand(path, key):
    """Whatever they say, the answer is a state or one clear error."""
    for text in [*NONSENSE, None]:
        save_checkpoint(path, state(), extra={"epoch": 3})

        def change(header, text=text):
            if text is None:
                del header["__metadata__"][key]
            else:
                header["__metadata__"][key] = text

        path.write_bytes(forged(path, change))
        for read in (read_checkpoint, read_extra, lambda p: load_checkpoint(p, state())):
            try:
                read(path)
            except errors.TrellisError as error:
                assert len(str(error)) > 20


def test_complex_entries_made_by_hand(path):
    for names in (["v/w"], ["empty"], ["counts/0"], ["gone"], [3], "v", {"v/z": 1}, [["v/z"]]):
        save_checkpoint(path, state())
        path.write_bytes(
            forged(path, lambda h, n=names: h["__metadata__"].update(complex128=json.dumps(n)))
        )
        if names == {"v/z": 1}:
            assert same(read_checkpoint(path), state())
        else:
            with pytest.raises(errors.ArgumentError, match="complex arrays is invalid"):
                read_checkpoint(path)


def test_a_checksum_cannot_be_left_out(path):
    """Only files of other programs go without."""
    save_checkpoint(path, {"x": np.ones(2)})
    path.write_bytes(forged(path, lambda header: header["__metadata__"].pop("checksum")))
    with pytest.raises(errors.ArgumentError, match="damaged"):
        read_checkpoint(path)
    from safetensors.numpy import save_file

    save_file({"x": np.ones(2)}, path)
    assert_close(read_arrays(path)[0], {"x": np.ones(2)})


def test_the_rate_of_a_changed_header_is_noticed(path):
    save_checkpoint(path, {"lr": 0.001})
    path.write_bytes(path.read_bytes().replace(b"0.001", b"0.801"))
    with pytest.raises(errors.ArgumentError, match="damaged"):
        read_checkpoint(path)


@pytest.mark.parametrize("read", [read_arrays, map_arrays])
def test_types_that_are_not_known(path, read):
    write_arrays(path, {"x": np.ones(4, "int8")})
    path.write_bytes(forged(path, lambda header: header["x"].update(dtype="F8_E4M3")))
    with pytest.raises(errors.ArgumentError, match="F8_E4M3"):
        read(path)


def test_files_of_version_0_1_still_load(path):
    """Their checksum covers the data alone; the slots of their optimizer are those of today."""
    found = read_checkpoint(OLD_FILE)
    assert read_extra(OLD_FILE) == {"epoch": 1}
    opt, v = optim.AdamW(0.1), trellis.Container(w=np.array([1.0, 2.0], "float32"))
    v = opt.step(v, trellis.Container(w=np.array([0.5, -1.0], "float32")))
    like = {**found, "optimizer": opt.state, "rate": np.float64(0), "v": v}
    loaded = load_checkpoint(OLD_FILE, like)
    assert_close(loaded["v"], v)
    assert_close(loaded["optimizer"], opt.state)
    assert loaded["rate"] == np.float64(0.1) and isinstance(loaded["rate"], np.float64)
    content = OLD_FILE.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(errors.ArgumentError, match="damaged"):
        read_checkpoint(path)


# What is saved ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_bytes_in_another_order(path, name):
    x = np.array([[1, 2, 3], [4, 5, 6]]).astype(f">{name}")
    save_checkpoint(path, {"x": x, "turned": x.T, "scalar": x[0, 1]})
    found = read_checkpoint(path)
    native = x.astype(f"={name}")
    assert same(found, {"x": native, "turned": native.T, "scalar": native[0, 1]})
    assert same(
        load_checkpoint(path, {"x": native, "turned": native.T, "scalar": native[0, 1]}), found
    )


@pytest.mark.parametrize("bad", [{"": np.ones(1)}, {"a": {"": np.ones(1)}}, {"a": [{"": 1}]}])
def test_empty_keys_are_refused(path, bad):
    with pytest.raises(errors.ArgumentError, match="not empty"):
        save_checkpoint(path, {"state": np.zeros(1), **bad})
    assert not path.exists()


def test_the_name_that_the_format_keeps(path):
    with pytest.raises(errors.ArgumentError, match="__metadata__"):
        save_checkpoint(path, {"__metadata__": np.ones(1)})
    assert not path.exists()
    inside = {"a": {"__metadata__": np.ones(1)}, "__metadata__": {"b": np.zeros(1)}}
    save_checkpoint(path, inside)
    assert same(read_checkpoint(path), inside)


@pytest.mark.parametrize(
    "x",
    [np.float64(0.1), np.float32(0.1), np.int64(3), np.uint8(3), np.bool_(True), np.complex64(1j)],
)
def test_scalars_of_numpy(path, x):
    save_checkpoint(path, {"x": x, "plain": 3})
    found = load_checkpoint(path, {"x": type(x)(0), "plain": 0})
    assert type(found["x"]) is type(x) and found["x"] == x
    assert read_checkpoint(path)["x"] == x


def test_states_nested_too_deeply(path):
    deep = [np.ones(1)]
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(errors.ArgumentError, match="too deeply"):
        save_checkpoint(path, deep)
    itself = {}
    itself["self"] = itself
    with pytest.raises(errors.ArgumentError, match="too deeply"):
        save_checkpoint(path, itself)
    with pytest.raises(errors.ArgumentTypeError, match="JSON"):
        save_checkpoint(path, {}, extra=itself)
    with pytest.raises(errors.ArgumentTypeError, match="JSON"):
        save_checkpoint(path, {}, extra=deep)
    with pytest.raises(errors.ArgumentTypeError, match="JSON"):
        save_checkpoint(path, {}, extra={1j})
    assert not path.exists()


# Places -------------------------------------------------------------------------------------------

posix = pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")


@posix
def test_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "disk" / "run-7.safetensors", tmp_path / "last.safetensors"
    real.parent.mkdir()
    link.symlink_to(real)
    for step in (1, 2):  # the first save goes through a link to nothing
        save_checkpoint(link, {"step": step})
        assert link.is_symlink() and not real.is_symlink()
        assert read_checkpoint(real) == read_checkpoint(link) == {"step": step}
    assert [p.name for p in real.parent.iterdir()] == [real.name]
    assert sorted([p.name for p in tmp_path.iterdir()]) == ["disk", link.name]


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_permissions_stay(path, mode):
    save_checkpoint(path, {"step": 1})
    path.chmod(mode)
    save_checkpoint(path, {"step": 2})
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert read_checkpoint(path) == {"step": 2}


@posix
def test_new_files_follow_the_umask(path):
    before = os.umask(0o027)
    try:
        save_checkpoint(path, {"step": 1})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a directory cannot be flushed")
def test_the_file_and_then_its_directory_are_flushed(path, monkeypatch):
    flushed, fsync = [], os.fsync

    def noting(handle):
        flushed.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noting)
    write_arrays(path, {"x": np.ones(2)})
    assert flushed == [False, True]


@pytest.mark.skipif(not hasattr(os, "uname"), reason="the name of the machine is part of names")
@pytest.mark.parametrize(
    "machine, word", [("rack/7:a b", "rack_7_a_b"), ("", "here"), ("näher", "näher")]
)
def test_the_name_of_the_machine_may_be_anything(path, monkeypatch, machine, word):
    class Named:
        nodename = machine

    monkeypatch.setattr(os, "uname", Named)
    written = []
    monkeypatch.setattr(os, "replace", lambda old, new: written.append(Path(old)))
    write_arrays(path, {"x": np.ones(2)})
    (temporary,) = written
    assert temporary.parent == path.parent and temporary.exists()
    assert temporary.name.startswith(f".{path.name}.{word}-{os.getpid()}-")
    # One of a process that is gone is removed by the next that writes the same file.
    gone = temporary.with_name(f".{path.name}.{word}-{2**22 + 1}-00.tmp")
    gone.write_bytes(b"")
    write_arrays(path, {"x": np.ones(2)})
    assert not gone.exists() and temporary.exists()


def test_mapped_arrays_are_those_of_the_file(path):
    expected = {
        "w": np.arange(6, dtype="float32").reshape(2, 3),
        "n": np.array([1, -2], "int8"),
        "none": np.zeros((0, 3), "float64"),
    }
    write_arrays(path, expected, {"format": "made here"})
    before = path.read_bytes()
    found = map_arrays(path)
    assert found.keys() == expected.keys()
    for name, x in expected.items():
        assert_close(found[name], x, rtol=0, atol=0)
        assert found[name].dtype == x.dtype
    found["w"][:] = 0.0
    assert path.read_bytes() == before
    write_arrays(path, {"none": expected["none"]})
    assert map_arrays(path)["none"].shape == (0, 3)
    path.write_bytes(before[:-1])
    with pytest.raises(errors.ArgumentError, match="damaged or not a safetensors file"):
        map_arrays(path)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere files have no such permissions")
def test_nobody_else_may_read_a_file_before_it_is_complete(path, monkeypatch):
    write_arrays(path, {"x": np.ones(2)})
    path.chmod(0o640)
    modes, opened = [], os.open

    def noting(name, flags, mode=0o777, **rest):
        if str(name).endswith(".tmp"):
            modes.append(mode)
        return opened(name, flags, mode, **rest)

    monkeypatch.setattr(os, "open", noting)
    write_arrays(path, {"x": np.zeros(2)})
    assert modes == [0o600] and stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("read", [read_arrays, map_arrays])
def test_what_is_no_file_is_told_apart(tmp_path, read):
    with pytest.raises(errors.ArgumentError, match="is a folder, not a file"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.ArgumentError, match="is a pipe, a socket or a device, not a file"):
        read(tmp_path / "pipe")
