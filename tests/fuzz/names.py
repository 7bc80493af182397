"""The public functions that calls are drawn for, by the names that users write."""

import ast
import inspect
from pathlib import Path

import trellis

SOURCE = Path(trellis.__file__).parent / "_array"
ROOMS = ("fft", "linalg")  # namespaces of their own
NOT_FUNCTIONS_OF_ARRAYS = ("border", "compilation", "interchange", "__init__")
SEEDED = ("multinomial", "randint", "random_normal", "random_uniform", "seed", "shuffle")


def every_public_function() -> list[str]:
    names = []
    for path in sorted(SOURCE.glob("*.py")):
        if path.stem not in NOT_FUNCTIONS_OF_ARRAYS:
            prefix = f"{path.stem}." if path.stem in ROOMS else ""
            room = getattr(trellis, path.stem) if path.stem in ROOMS else trellis
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.FunctionDef) and hasattr(room, node.name):
                    names.append(prefix + node.name)
    names += [f"functional.{name}" for name in dir(trellis.functional)]
    names += [f"random.{name}" for name in _functions(trellis.random)]
    return [*names, *SEEDED]


def _functions(module) -> list[str]:
    return [name for name, value in vars(module).items() if inspect.isfunction(value)]
