"""What a framework can do, as data: nobody outside a backend asks for a framework by its name."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Abilities:
    """A backend states its own as `ABILITIES`; the defaults are those of a plain array library."""

    is_host: bool = False
    """Its arrays are NumPy's own: what every other framework is read from and written to."""

    has_compiler: bool = False
    """`compile_function` gives another program; without it the function runs as it is."""

    finds_unused_when_compiled: bool = True
    """A `vjp` with `sparse` gives None also where it is part of a compiled function."""

    has_fast_half: bool = False
    """Arithmetic in 16 bits is worth having: mixed precision is allowed."""

    has_small_types: bool = False
    """Floats and integers of 2 to 8 bits (ml_dtypes) can be held in arrays."""

    is_always_64_bit: bool = True
    """int64 and float64 exist without a switch, and integers are int64 by default."""

    has_wide_unsigned: bool = True
    """Arithmetic with uint16, uint32 and uint64."""

    has_float64: bool = True
    """Arithmetic in float64, exact to its last digits."""

    has_complex128: bool = True
    """Complex numbers of two float64."""

    has_boolean_masks: bool = True
    """Shapes may depend on values: `x[mask]`, `nonzero`, `unique_values`."""

    can_shard: bool = False
    """An array can be spread over several devices by a sharding."""

    compiles_collectives: bool = False
    """A compiled step may hold collectives of several processes as they are."""

    joins_first: bool = False
    """Other processes can be joined only before the first computation."""

    needs_addresses: bool = True
    """The engine between processes is told the addresses of all of them; MPI finds them itself."""

    asks_for_arrays: bool = False
    """Its operators ask a foreign right side for `__array__` before they let it answer."""

    max_dimensions: int = 64
    """The most axes that an array has."""
