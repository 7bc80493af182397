"""The public names and signatures of a release, and what changed since the last one.

    python tools/api.py --record    # at a release: write docs/data/api-VERSION.json
    python tools/api.py             # what changed since the newest one, and what that needs

`tests/contract/test_api.py` fails where a change has no line in the CHANGELOG, or takes away what
users may have written without a deprecation. Annotations are not compared: mypy knows them better.
"""

import argparse
import functools
import inspect
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "docs"))

import public_names  # noqa: E402

import trellis  # noqa: E402

FOLDER = ROOT / "docs" / "data"
# A deprecated name stays for so many minor versions.
MINOR_VERSIONS = 2

ANY_NUMBER = ("VAR_POSITIONAL", "VAR_KEYWORD")


# What the API is ----------------------------------------------------------------------------------


def current():
    """From each way of writing a public name, and each member of a class, to its description."""
    found = {}
    for path, value in public_names.written_as():
        found[path] = described(value)
        if inspect.isclass(value):
            members = own_members(value)
            found |= {f"{path}.{name}": described(each) for name, each in members.items()}
    return dict(sorted(found.items()))


def described(value):
    """Parameters as [name, kind, default]; None for what is not called, or does not say."""
    entry = {"parameters": None}
    if callable(value):
        try:
            parameters = inspect.signature(value).parameters.values()
            entry["parameters"] = [[p.name, p.kind.name, default(p)] for p in parameters]
        except (TypeError, ValueError):  # written in C
            pass
    if getattr(value, "__deprecated__", None):
        entry["deprecated"] = str(value.__deprecated__)
    return entry


def default(parameter):
    """The default as text, None if there is none; without addresses in memory."""
    value = parameter.default
    if value is parameter.empty:
        return None
    return getattr(value, "__qualname__", None) or re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def own_members(cls):
    """Public methods and attributes of a class of ours that no public base has; those of its
    private bases are its own."""
    public = public_classes()
    inherited, own = set(), {}
    for base in cls.__mro__[1:]:
        if base in public or not base.__module__.startswith("trellis"):
            inherited |= {name for each in base.__mro__ for name in vars(each)}
    for base in reversed(cls.__mro__):
        if base is cls or (base not in public and base.__module__.startswith("trellis")):
            own |= {name: value for name, value in vars(base).items() if name[0] != "_"}
    # A name of another library is there to raise an AttributeError that helps.
    return {
        name: unwrapped(value)
        for name, value in own.items()
        if name not in inherited and hasattr(cls, name)
    }


@functools.cache
def public_classes():
    return {value for _, value in public_names.written_as() if inspect.isclass(value)}


def unwrapped(value):
    return value.__func__ if isinstance(value, (classmethod, staticmethod)) else value


def look_up(path, found):
    """A name as it is now; a member may have moved to a base class."""
    if path in found:
        return found[path]
    owner, _, name = path.rpartition(".")
    classes = {p: v for p, v in public_names.written_as() if p == owner and inspect.isclass(v)}
    if owner in classes and hasattr(classes[owner], name):
        return described(unwrapped(inspect.getattr_static(classes[owner], name)))
    return None


# What changed -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """`breaks` says that calls which worked do not work any more; `advice` is what a deprecated
    name says."""

    path: str
    what: str
    breaks: bool
    advice: str = ""


def changes(old, new, found_in=look_up):
    """All changes from one API to another. The members of a new class are news with it."""
    fresh = [path for path in new if path not in old]
    own = [path for path in fresh if path.rpartition(".")[0] not in fresh]
    made = [Change(path, "is new", False) for path in own]
    for path, before in old.items():
        after = found_in(path, new)
        if after is None:
            made.append(Change(path, "is gone", True))
            continue
        broken = incompatibility(before["parameters"], after["parameters"])
        if broken is not None:
            made.append(Change(path, broken, True))
        elif before["parameters"] != after["parameters"]:
            made.append(Change(path, "has other parameters or defaults", False))
        if after.get("deprecated") and not before.get("deprecated"):
            made.append(Change(path, "is deprecated", False, after["deprecated"]))
    return made


def incompatibility(old, new):
    """Which calls do not work any more, in a few words; None if all do."""
    if old is None or old == new:
        return None
    if new is None:
        return "cannot be called any more"
    by_name = {name: (kind, value) for name, kind, value in new}
    kinds = {kind for _, kind, _ in new}
    places = [row for row in new if row[1] in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    for index, (name, kind, value) in enumerate(old):
        if kind in ANY_NUMBER:
            if kind not in kinds:
                return f"does not take any number of arguments as {name!r}"
            continue
        if kind == "POSITIONAL_ONLY":
            after = places[index] if index < len(places) else None
        else:
            after = [name, *by_name[name]] if name in by_name else None
            allowed = {"POSITIONAL_OR_KEYWORD"} | ({kind} & {"KEYWORD_ONLY"})
            if after is not None and after[1] not in allowed:
                return f"takes {name!r} in another way"
            if after is not None and kind == "POSITIONAL_OR_KEYWORD" and index < len(places):
                after = after if places[index][0] == name else None
        if after is None:
            return f"does not take {name!r} where it was"
        if value is not None and after[2] is None:
            return f"needs {after[0]!r}, which had a default"
    known = {name for name, _, _ in old}
    count = len([row for row in old if row[1] == "POSITIONAL_ONLY"])
    for index, (name, kind, value) in enumerate(new):
        is_renamed = kind == "POSITIONAL_ONLY" and index < count
        if name not in known and not is_renamed and value is None and kind not in ANY_NUMBER:
            return f"needs {name!r}, which is new"
    return None


# What is missing for a change ---------------------------------------------------------------------


def missing(made, news, records, version):
    """From each change that may not be made like this to what to do about it."""
    found = {}
    for change in made:
        if change.breaks and not was_deprecated(change.path, records, version):
            found[change.path] = (
                f"{change.path} {change.what}. Users may have written it: keep what worked, set "
                f"`__deprecated__` to what to write instead and the version and date that remove "
                f"it, emit a DeprecationWarning, and remove it when {MINOR_VERSIONS} minor "
                "releases have had it so (docs/golden.md)."
            )
        elif change.advice and not has_end(change.advice):
            found[change.path] = (
                f"{change.path} is deprecated and says {change.advice!r}: name the version that "
                "removes it, and the month before which it stays: 'write g; gone in 0.5, not "
                "before 2027-06'."
            )
        elif not is_named(change.path, news):
            found[change.path] = (
                f"{change.path} {change.what}, and no line under Unreleased in CHANGELOG.md names "
                f"`{change.path.rpartition('.')[2]}`: write one."
            )
    return found


def was_deprecated(path, records, version):
    """Whether the last minor releases had it as deprecated, or this is another major version."""
    newest = max(records, key=numbers)
    if numbers(version)[0] > numbers(newest)[0]:
        return True
    marked = {
        numbers(each)[:2]
        for each, names in records.items()
        if names.get(path, {}).get("deprecated") and numbers(each)[0] == numbers(newest)[0]
    }
    return len(marked) >= MINOR_VERSIONS


def has_end(advice):
    """Whether a deprecation names the version and the month in which the name may go.

    >>> has_end("write g; gone in 0.5, not before 2027-06"), has_end("write g; gone in 0.5")
    (True, False)
    """
    return re.search(r"\b\d+\.\d+\b.*\b20\d\d-[01]\d\b", advice) is not None


def is_named(path, news):
    """Whether the text names it: alone, or as a part of a longer name or call."""
    return re.search(rf"(?<!\w){re.escape(path.rpartition('.')[2])}(?!\w)", news) is not None


def unreleased():
    """The text of the CHANGELOG about what is not released yet."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return text.partition("\n## Unreleased\n")[2].partition("\n## ")[0]


def numbers(version):
    return tuple([int(part) for part in version.split(".")])


# Records ------------------------------------------------------------------------------------------


def stored():
    """From the version to the API, for all releases that have a record."""
    found = {}
    for path in FOLDER.glob("api-*.json"):
        found[path.stem.removeprefix("api-")] = json.loads(path.read_text(encoding="utf-8"))
    return dict(sorted(found.items(), key=lambda item: numbers(item[0])))


def record(path):
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in current().items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return len(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    if arguments.record:
        path = FOLDER / f"api-{trellis.__version__}.json"
        if path.exists():
            parser.error(f"{path} exists. What a release had never changes: set the next version.")
        print(f"{record(path)} names in {path}, {path.stat().st_size:,} bytes")
        return 0
    records = stored()
    made = changes(list(records.values())[-1], current())
    for change in made:
        print(f"{change.path} {change.what}")
    problems = missing(made, unreleased(), records, trellis.__version__)
    print("\n".join(problems.values()))
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
