"""All entries of a release on a backend, and what is printed about them."""

import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from tqdm import tqdm

from .._core.dispatch import backend_names, load
from .._core.errors import BackendNotInstalledError
from .release import Release
from .replay import check, left_out


@dataclass
class Report:
    """What differs, from the name of an entry to a line about it; empty if nothing does.

    Attributes:
        differences: From the name of an entry to what is different.
        left_out: From a reason to the number of entries that cannot be replayed for it.
    """

    differences: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def is_same(self) -> bool:
        return not self.differences


def installed_backends() -> list[str]:
    """The backends whose frameworks are installed; they are imported for it."""
    found = []
    for name in backend_names():
        try:
            load(name)
        except BackendNotInstalledError:
            continue
        found.append(name)
    return found


def verify(release: Release, backend: str) -> Report:
    """Replay a release on a backend; the progress goes to standard error, the result to standard
    output."""
    load(backend)
    report, begin = Report(), time.monotonic()
    entries = tqdm(release.entries, desc=backend, disable=None, leave=False, unit=" entries")
    # Some entries are about the edges of a domain, where NumPy warns.
    with np.errstate(all="ignore"):
        for entry in entries:
            reason = left_out(entry, backend)
            if reason is not None:
                report.left_out[reason] += 1
                continue
            problem = check(entry, release, backend)
            if problem is not None:
                report.differences[f"{entry['name']} ({entry['kind']})"] = problem
    count, seconds = len(release.entries) - report.left_out.total(), time.monotonic() - begin
    same = count - len(report.differences)
    print(
        f"{backend}: {same:,} of {count:,} entries as recorded for {release.version} on "
        f"{release.date} ({seconds:.0f} s)"
    )
    for reason, number in report.left_out.items():
        print(f"    {number} left out: {reason}")
    for name, problem in report.differences.items():
        print(f"    {name}: {problem}")
    return report
