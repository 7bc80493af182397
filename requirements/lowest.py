"""The lowest versions that pyproject.toml states; prints them as constraints, with the pins of
everything else: `python requirements/lowest.py torch`."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lowest(backend: str = "numpy") -> dict[str, str]:
    """The minimum versions that the extra of a framework states; "numpy": those of Trellis."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"numpy": project["dependencies"], **project["optional-dependencies"]}
    return dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", line).groups() for line in extras[backend])


def constraints(backend: str, chosen: dict[str, str] | None = None) -> list[str]:
    """Lines for pip: those versions or the chosen ones, and the pins of all other packages."""
    floors = lowest(backend) if chosen is None else dict(chosen)
    if "tensorflow" in floors:
        floors["tensorflow_cpu"] = floors["tensorflow"]
    if "jax" in floors:
        floors.setdefault("jaxlib", floors["jax"])
    pins = (ROOT / "requirements" / "pins.txt").read_text().splitlines()
    # An old framework may ask for other versions of these.
    free = {"keras", "h5py", "protobuf", "tensorboard"} if backend != "numpy" else set()
    kept = [pin for pin in pins if pin.partition("==")[0] not in {*floors, *free}]
    return kept + [f"{name}=={version}" for name, version in floors.items()]


if __name__ == "__main__":
    print("\n".join(constraints(*sys.argv[1:] or ["numpy"])))
