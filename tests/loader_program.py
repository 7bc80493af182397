"""A program that reads batches, stores the state of its loader after each, and kills itself.

    python loader_program.py FOLDER OPTIONS

FOLDER/record.json has the state and a hash of each batch so far. OPTIONS (JSON) says how batches
are made (which must not change them) and at which batch the process is killed. Classes and
functions here are also what tests send to worker processes.
"""

import hashlib
import json
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import trellis
from trellis.data import Loader, Packing

COUNT, EPOCHS = 37, 3


class Squares:
    """A map-style dataset."""

    def __init__(self, length=COUNT):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if not 0 <= index < self.length:
            raise IndexError(index)
        return {"id": index, "x": np.full((3, 2), index**2, "float32")}


def noisy(example):
    """A map that draws: the same numbers in any process."""
    return {**example, "noise": trellis.random_uniform(shape=2)}


def doubled(example):
    return example * 2


def failing_at_seven(example):
    if example["id"] == 7:
        raise ValueError("no sevens")
    return example


def stopping_at_seven(example):
    while example["id"] == 7:
        time.sleep(0.1)
    return example


def stream():
    """Examples that can only be read in order."""
    data = Squares()
    for i in range(len(data)):
        yield data[i]


def texts():
    return [np.arange(1 + (i * 7) % 5) + 100 * i for i in range(COUNT)]


def made(kind="plain", **options):
    """A loader of one of several kinds."""
    common = {"seed": 5, "map": noisy, **options}
    if kind == "plain":
        return Loader(Squares(), 5, shuffle=True, **common)
    if kind == "in order":
        return Loader(Squares(), 5, **common)
    if kind == "blocks":
        return Loader(Squares(), 5, shuffle=8, **common)
    if kind == "weighted":
        return Loader(Squares(), 5, weights=np.arange(COUNT) + 1.0, **common)
    if kind == "stream":
        return Loader(stream, 5, shuffle=8, **common)
    if kind == "packed":
        lengths = [len(text) for text in texts()]
        packing = Packing(lengths, 6, split=False)
        return Loader(texts(), 3, shuffle=True, batching=packing, **{**common, "map": doubled})
    raise ValueError(kind)


def joined(shares):
    """The batch of all ranks."""
    shares = [trellis.tree.map(trellis.to_numpy, batch) for batch in shares]
    return trellis.tree.map(lambda *parts: np.concatenate(parts), *shares)


def digest(batch):
    """A hash of the values, whatever the framework and the width of its integers."""
    found = hashlib.sha256()
    for x in trellis.tree.leaves(batch):
        x = np.asarray(x)
        x = x.astype(np.int64) if x.dtype.kind in "iu" else x
        found.update(f"{x.dtype} {x.shape}".encode() + np.ascontiguousarray(x).tobytes())
    return found.hexdigest()


def all_digests(kind="plain", **options):
    """The batches of all epochs, without an interruption."""
    loader, found = made(kind, **options), []
    while loader.epoch < EPOCHS:
        found += [digest(joined([batch])) for batch in loader]
    return found


def main(folder, kind="plain", ranks=1, kill_at=None, **options):
    path = Path(folder) / "record.json"
    loaders = [made(kind, rank=rank, ranks=ranks, **options) for rank in range(ranks)]
    record = {"digests": []}
    if path.exists():
        record = json.loads(path.read_text())
        for loader in loaders:
            loader.load_state(record["state"])
    while loaders[0].epoch < EPOCHS:
        for shares in zip(*loaders, strict=True):
            if len(record["digests"]) == kill_at:
                pids = [process.pid for process in multiprocessing.active_children()]
                (Path(folder) / "workers.json").write_text(json.dumps(pids))
                os.kill(os.getpid(), signal.SIGKILL)
            record["digests"].append(digest(joined(shares)))
            record["state"] = loaders[-1].state
            beside = path.with_suffix(".part")
            beside.write_text(json.dumps(record))
            beside.replace(path)


if __name__ == "__main__":
    main(sys.argv[1], **json.loads(sys.argv[2]))
