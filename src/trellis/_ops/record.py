"""The record of an operation: one row of the op table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

# The type to which the arrays of a call are promoted before the framework's function: the type of #
# the result, the common type of all of them, or each its own.
Meeting: TypeAlias = Literal["result", "common", "own"]


@dataclass(frozen=True, slots=True)
class Kind:
    """How the types of an operation's arguments and of its result are related."""

    name: str
    meets: Meeting = "own"


# Functions of one array.
FLOATS = Kind("floats", "result")  # integers are cast to the default float
LIKE = Kind("like the argument")
QUESTION = Kind("question")  # bools, whatever the argument is
PART = Kind("part")  # real or imaginary part; a real number is its own real part
# Functions of two arrays.
PROMOTED = Kind("promoted", "result")  # both promoted to their common type
ORDERED = Kind("ordered", "result")  # the same; complex numbers raise
FLOAT_PAIR = Kind("pair of floats", "result")  # both in one floating-point type
EQUALITY = Kind("equality", "common")  # a bool for each pair
COMPARISON = Kind("comparison", "common")  # the same; complex numbers raise
LOGICAL = Kind("logical", "result")  # each element is taken as true or false
# All others.
REDUCED = Kind("reduced", "result")  # computed in the type of the result
COUNT = Kind("count")  # integers: numbers of elements or indices
MIXED = Kind("mixed", "result")  # several arrays that become one
PRODUCT = Kind("product", "result")  # the same; frameworks lack kernels for some types
OTHER = Kind("other")  # types unchanged, or given by an argument

# The backend defines the function, and the function of that name in its `_portable.py` is what an
# ejected program contains.
BY_HAND: Final = "by hand"
AS_NUMPY: Final = "as numpy"
Way: TypeAlias = str | None


@dataclass(frozen=True, slots=True)
class Op:
    """One operation: all facts about it that are not code.

    A way such as `"torch.acosh(x)"` is a Python expression over the arguments of the operation, by
    their names in the interface. An ejected program contains it. The backend's function is created
    from it too, with the promotion of its kind, unless the backend's file of the same name defines
    that function, because types, corner cases or speed need more. In a way

    - a keyword argument that is None or False, its default, is left out;
    - `a if c else b` is decided when the program is written;
    - `result` is the data type of the result, `floating` whether that of `x` is a float, and `axes`
      is `axis` as a tuple, with all axes for None.

    A way of None means that programs of the framework cannot contain the operation. Without `jax`,
    its way is NumPy's with jax.numpy.
    """

    name: str  # as users call it below `trellis`: "add", "linalg.svd", "functional.relu"
    kind: Kind
    numpy: Way = BY_HAND
    torch: Way = BY_HAND
    tensorflow: Way = BY_HAND
    jax: Way = AS_NUMPY
    # The function of Python's module `operator` that does the same.
    operator: str = ""
    # The names of exactly this operation in foreign models, for the readers.
    reads: Mapping[str, str] = field(default_factory=dict)
    # The frameworks' nearest public functions where the ways do not name them, "torch:-" for none.
    near: str = ""
    # Arguments that keep their own type, and frameworks that need arrays in place of numbers.
    apart: tuple[str, ...] = ()
    arrays_only: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Its name in the interface of backends: "add", "linalg.svd", "relu"."""
        return self.name.removeprefix("functional.")

    def way(self, framework: str) -> Way:
        """The way of a framework; BY_HAND for one that is not in the table."""
        if framework == "jax" and self.jax == AS_NUMPY:
            return self.numpy and with_jax(self.numpy)
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
# What the short names in the table mean, and which framework a module belongs to.
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


def with_jax(text: str) -> str:
    """Code of NumPy as code of jax.numpy."""
    return text.replace("np.", "jnp.").replace("scipy.special.", "jax.scipy.special.")


def composed(
    name: str,
    kind: Kind = OTHER,
    *,
    reads: Mapping[str, str] | None = None,
    near: str = "",
) -> Op:
    """An operation that is written once over others: no backend has it, so programs never contain
    it."""
    return Op(name, kind, None, None, None, None, reads=reads or {}, near=near)
