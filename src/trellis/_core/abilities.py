"""What a framework can do, as data: code outside a backend never asks for a framework by name."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Abilities:
    """Each backend defines its own as `ABILITIES`; the defaults describe a plain array library."""

    is_host: bool = False
    """Its arrays are NumPy arrays, the common form through which frameworks exchange data."""

    has_compiler: bool = False
    """`compile_function` compiles; otherwise it returns the function unchanged."""

    compiles_loops: bool = False
    """Compiled code keeps loops whose length depends on data, with gradients inside of them."""

    has_fast_half: bool = False
    """16-bit arithmetic is fast enough for mixed precision to make sense."""

    has_small_types: bool = False
    """Arrays can hold floats and integers of 2 to 8 bits (ml_dtypes)."""

    is_always_64_bit: bool = True
    """int64 and float64 need no switch, and integers are int64 by default."""

    has_wide_unsigned: bool = True
    """Arithmetic with uint16, uint32 and uint64."""

    has_float64: bool = True
    """Arithmetic in float64, with full precision."""

    has_complex128: bool = True
    """Complex numbers of two float64."""

    has_boolean_masks: bool = True
    """Shapes may depend on values: `x[mask]`, `nonzero`, `unique_values`."""

    has_index_arrays: bool = True
    """`x[i]` takes lists and arrays of integers as NumPy does."""

    can_shard: bool = False
    """A sharding can spread an array over several devices."""

    compiles_collectives: bool = False
    """A compiled step may contain collectives between processes."""

    joins_first: bool = False
    """A process must join the group before its first computation."""

    needs_addresses: bool = True
    """The engine must be given the addresses of all processes; MPI finds them itself."""

    asks_for_arrays: bool = False
    """Its operators try `__array__` of a foreign right operand before they return
    NotImplemented."""

    max_dimensions: int = 64
    """The largest number of axes of an array."""
