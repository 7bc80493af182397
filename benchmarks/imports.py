"""What does `import trellis` cost, in time and memory, compared with `import numpy`?"""

import subprocess
import sys

from harness import Report

CODE = """
import resource, sys, time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(statement):
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes)


def main():
    report = Report("imports", "Time to import, in a fresh process")
    base = "import numpy"
    row = report.add(
        "import",
        {"numpy": lambda: run(base), "trellis": lambda: run("import trellis")},
        rounds=11,
        budget=0.1,
        limit=1.1,
    )
    memory = {
        name: run(code)[1] / 1024 for name, code in (("base", base), ("trellis", "import trellis"))
    }
    # A whole process is timed above; the import itself, as the process reports it:
    times = {"base": [], "trellis": []}
    for _ in range(9):
        for name, code in (("base", base), ("trellis", "import trellis")):
            times[name].append(run(code)[0])
    inside = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
    report.notes.append(
        f"import alone: {inside['trellis']:.3f} s against {inside['base']:.3f} s, ratio "
        f"{inside['trellis'] / inside['base']:.2f}; peak memory {memory['trellis']:.0f} MB against "
        f"{memory['base']:.0f} MB"
    )
    print(report.notes[-1])
    assert row
    report.save()


if __name__ == "__main__":
    main()
