"""What an all-reduce costs with up to 1,000 workers: a calculation, not a measurement.

A message of n bytes takes `LATENCY + n / BANDWIDTH`. A ring cuts the buffer into as many parts as
there are workers and passes them round twice; halving and doubling exchanges halves, quarters and
so on with partners at growing distance, and comes back the same way; a plain tree sends the whole
buffer up and down.
"""

from __future__ import annotations

import math

from svg import Drawing, Palette

LATENCY = 20e-6  # seconds for a message between two machines of one cluster, over TCP
BANDWIDTH = 25e9 / 8  # bytes a second: a network of 25 Gbit/s
WORKERS = 1000
BUFFERS = {"100 MB": 100e6, "1 MB": 1e6}  # gradients of 25 million, and of 250,000 parameters


def ring(workers: int, size: float) -> float:
    """Seconds of a ring: few bytes in each message, many messages."""
    return 2 * (workers - 1) * (LATENCY + size / workers / BANDWIDTH)


def halving(workers: int, size: float) -> float:
    """Seconds of halving and doubling: as few bytes as a ring, and few messages."""
    rounds = math.ceil(math.log2(workers))
    return 2 * rounds * LATENCY + 2 * size * (workers - 1) / workers / BANDWIDTH


def tree(workers: int, size: float) -> float:
    """Seconds of a plain tree: the whole buffer in every round."""
    return 2 * math.ceil(math.log2(workers)) * (LATENCY + size / BANDWIDTH)


def bytes_sent(workers: int, size: float) -> float:
    """What each worker sends, by a ring or by halving and doubling."""
    return 2 * size * (workers - 1) / workers


WAYS = {"ring": ring, "halving and doubling": halving, "plain tree": tree}


def thousand_workers(colours: Palette) -> str:
    """Milliseconds of one all-reduce against the number of workers, both axes logarithmic."""
    picture = Drawing(760, 420, colours, "One all-reduce with 2 to 1,000 workers, calculated")
    left, right, top, bottom = 72, 560, 44, 370
    low, high = math.log10(0.1), math.log10(1000)

    def place(workers: float, seconds: float) -> tuple[float, float]:
        x = math.log(workers / 2) / math.log(WORKERS / 2)
        y = (math.log10(seconds * 1e3) - low) / (high - low)
        return left + (right - left) * x, bottom - (bottom - top) * y

    for power in range(-1, 4):
        y = place(2, 10.0**power / 1e3)[1]
        picture.line(left, y, right, y)
        picture.text(left - 8, y + 4, f"{10.0**power:g} ms", anchor="end", size=12)
    for workers in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
        picture.text(place(workers, 1)[0], bottom + 20, str(workers), size=12)
    dashes = ("", "7 5")
    for j, (label, size) in enumerate(BUFFERS.items()):
        for i, (name, seconds) in enumerate(WAYS.items()):
            numbers = [round(2 * (WORKERS / 2) ** (k / 60)) for k in range(61)]
            points = [place(n, seconds(n, size)) for n in numbers]
            picture.polyline(points, colours.series[i], 2.2, dashes[j])
            y = top + 20 + 26 * (3 * j + i) + 24 * j
            picture.polyline([(580, y), (612, y)], colours.series[i], 2.2, dashes[j])
            picture.text(620, y + 4, name, anchor="start", size=12)
        picture.text(580, top + 102 * j, label, anchor="start", size=12, bold=True)
    picture.text(left, 26, "Time of one all-reduce, calculated", anchor="start", size=16, bold=True)
    picture.text((left + right) / 2, 408, "workers", size=12)
    return picture.svg()
