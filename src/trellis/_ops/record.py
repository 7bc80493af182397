"""What a row of the table says of one operation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

# In which type the arrays of a call meet before a framework sees them: the type of the result, the
# common type of all of them, or each in its own.
Meeting: TypeAlias = Literal["result", "common", "own"]


@dataclass(frozen=True, slots=True)
class Kind:
    """How the types of an operation's arguments and of its result belong together."""

    name: str
    meets: Meeting = "own"


# Functions of one array.
FLOATS = Kind("floats", "result")  # integers are cast to the default float
LIKE = Kind("like the argument")
QUESTION = Kind("question")  # bools, whatever the argument is
PART = Kind("part")  # of a complex number; a real one is its own real part
# Functions of two arrays.
PROMOTED = Kind("promoted", "result")  # both in the type that holds both
ORDERED = Kind("ordered", "result")  # the same; complex numbers are refused
FLOAT_PAIR = Kind("pair of floats", "result")  # both in one floating-point type
EQUALITY = Kind("equality", "common")  # a bool for each pair
COMPARISON = Kind("comparison", "common")  # the same; complex numbers are refused
LOGICAL = Kind("logical", "result")  # each element counts as true or false by itself
# All others.
REDUCED = Kind("reduced", "result")  # computed in the type of the result
COUNT = Kind("count")  # integers that count elements or point at them
MIXED = Kind("mixed", "result")  # several arrays that become one
PRODUCT = Kind("product", "result")  # the same; frameworks lack kernels for some types
OTHER = Kind("other")  # types as they are, or told by an argument

# The backend defines the function, and the function of that name in its `_plain.py` is what an
# ejected program contains.
BY_HAND: Final = "by hand"
AS_NUMPY: Final = "as numpy"
Way: TypeAlias = str | None


@dataclass(frozen=True, slots=True)
class Op:
    """One operation: all that is a fact about it, not code.

    A way such as `"torch.acosh(x)"` is a Python expression over the arguments of the operation, by
    their names in the interface. It is what an ejected program says, and it is the backend's
    function too, wrapped by kind, unless the backend's file of the same name defines one: then
    types, corner cases or speed ask for more. In a way

    - a keyword argument that is None or False, as it is by default, is left out;
    - `a if c else b` is decided when the program is written;
    - `result` is the data type of the result, `floating` whether that of `x` is a float, and `axes`
      is `axis` as a tuple, with all axes for None.

    A way None says that the framework's programs cannot have the operation. `jax` is NumPy's way
    with jax.numpy where it is not given.
    """

    name: str  # as users call it below `trellis`: "add", "linalg.svd", "functional.relu"
    kind: Kind
    numpy: Way = BY_HAND
    torch: Way = BY_HAND
    tensorflow: Way = BY_HAND
    jax: Way = AS_NUMPY
    # The function of Python's module `operator` that means the same.
    operator: str = ""
    # Under which names the readers of foreign models meet just this operation.
    reads: Mapping[str, str] = field(default_factory=dict)
    # The frameworks' nearest public functions where the ways do not show them, "torch:-" for none.
    near: str = ""
    # Arguments that keep their own type, and frameworks that want arrays in place of numbers.
    apart: tuple[str, ...] = ()
    arrays_only: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Its name in the interface of backends: "add", "linalg.svd", "relu"."""
        return self.name.removeprefix("functional.")

    def way(self, framework: str) -> Way:
        """How a framework does it; BY_HAND for one that the table does not know."""
        if framework == "jax" and self.jax == AS_NUMPY:
            return self.numpy and _with_jax(self.numpy)
        found: Way = getattr(self, framework) if framework in FRAMEWORKS else BY_HAND
        return found

    def counterpart(self, framework: str) -> str | None:
        """The full name of the framework's own function that comes nearest, if there is one."""
        for near in self.near.split():
            short, mark, rest = near.partition("." if "." in near else ":")
            if _OWNERS[short] == framework:
                return None if mark == ":" else f"{MODULES.get(short, short)}.{rest}"
        return called(self.way(framework))


FRAMEWORKS = ("numpy", "jax", "torch", "tensorflow")
# What the short names in the table stand for, and to whom modules belong.
MODULES = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "F": "torch.nn.functional",
    "tf": "tensorflow",
}
_OWNERS = {
    **dict.fromkeys(("numpy", "np", "scipy", "sklearn"), "numpy"),
    **dict.fromkeys(("jax", "jnp", "flax", "optax"), "jax"),
    **dict.fromkeys(("torch", "F"), "torch"),
    **dict.fromkeys(("tensorflow", "tf", "keras"), "tensorflow"),
}


def called(way: Way) -> str | None:
    """The full name of the function that a way calls, if it is one call."""
    if way in (None, BY_HAND):
        return None
    short, dot, rest = str(way).partition("(")[0].partition(".")
    is_call = dot and rest.replace(".", "").isidentifier() and short in _OWNERS
    return f"{MODULES.get(short, short)}.{rest}" if is_call else None


def _with_jax(way: str) -> str:
    return way.replace("np.", "jnp.").replace("scipy.special.", "jax.scipy.special.")


def composed(
    name: str,
    kind: Kind = OTHER,
    *,
    reads: Mapping[str, str] | None = None,
    near: str = "",
) -> Op:
    """An operation that is written once over others: no backend has it, so programs never do."""
    return Op(name, kind, None, None, None, None, reads=reads or {}, near=near)
