"""Which layers of torch.nn and Keras have no place here: neither a class nor a line in
docs/layers_elsewhere.toml that says what to write.

    python tools/layer_difference.py
"""

import importlib
import inspect
import re
import tomllib
from pathlib import Path

import trellis
from trellis.nn.layers.foreign import ours_for

DOCS = Path(__file__).resolve().parents[1] / "docs"
ELSEWHERE = DOCS / "layers_elsewhere.toml"
# The class of all layers of each library.
LIBRARIES = {"torch.nn": "Module", "keras.layers": "Layer"}


def theirs(library: str) -> list[str]:
    """The names of all layers of a library that is installed."""
    module = importlib.import_module(library)
    layer = getattr(module, LIBRARIES[library])
    classes = [(n, x) for n, x in vars(module).items() if inspect.isclass(x) and n[0] != "_"]
    return sorted([name for name, x in classes if issubclass(x, layer) and x is not layer])


def has_a_class(library: str, name: str) -> bool:
    """Whether the hint for this name, or the table of counterparts, names a layer of ours."""
    rows = tomllib.loads((DOCS / "counterparts.toml").read_text(encoding="utf-8"))
    if any([f"{library}.{name}" in row.values() for row in rows.values()]):
        return True
    known = [each for each in dir(trellis.nn) if each[0].isupper()]
    # A name for each number of axes may be one class here.
    family = [name, re.sub(r"[123][dD]$", "", name), name.replace("Convolution", "Conv")]
    return any([ours_for(each, known, is_exact=True) in known for each in family])


def difference(library: str) -> list[str]:
    """The layers of a library that nothing here speaks of."""
    written = tomllib.loads(ELSEWHERE.read_text(encoding="utf-8"))[library]
    return [n for n in theirs(library) if n not in written and not has_a_class(library, n)]


def main() -> None:
    for library in LIBRARIES:
        names = theirs(library)
        written = tomllib.loads(ELSEWHERE.read_text(encoding="utf-8"))[library]
        without = [name for name in names if name in written]
        print(f"{library}: {len(names)} layers, {len(names) - len(without)} with a class here")
        for name in without:
            print(f"    {name}: {written[name]}")
        left = difference(library)
        print(f"    without a place: {', '.join(left) or 'none'}")


if __name__ == "__main__":
    main()
