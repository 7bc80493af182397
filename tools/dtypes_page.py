"""Writes docs/dtypes.md by running the promotion table on all four frameworks.

    python tools/dtypes_page.py            # write the page
    python tools/dtypes_page.py --print    # show it

Each cell is the result of a call. The page is not written where the frameworks differ from each
other or from `trellis.result_type`.
"""

import argparse
import contextlib
from pathlib import Path

import numpy as np

import trellis

PAGE = Path(__file__).resolve().parent.parent / "docs" / "dtypes.md"
BACKENDS = ("numpy", "jax", "torch", "tensorflow")
NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
SHORT = {"bool": "bool", "bfloat16": "bf16"} | {
    name: name.replace("int", "i").replace("ui", "u").replace("float", "f").replace("complex", "c")
    for name in NAMES
    if name not in ("bool", "bfloat16")
}
NUMBERS = {"True": True, "1": 1, "1.0": 1.0, "1j": 1j}
FLOAT_FUNCTIONS = ("exp", "sqrt", "reciprocal", "mean", "divide")


def wide_types(backend):
    """JAX must be asked for its 64-bit types."""
    if backend != "jax":
        return contextlib.nullcontext()
    import jax

    return jax.enable_x64(True)


def array(name, backend):
    return trellis.astype(trellis.ones(2, dtype="float32", backend=backend), name)


def answer(call):
    """The name of the type that comes out; None where the call is refused."""
    try:
        return str(trellis.dtype(call()))
    except trellis.errors.DtypeError:
        return None


def agreed(question, calls):
    """What all four answer; it is an error if they do not agree."""
    found = {}
    for backend in BACKENDS:
        with wide_types(backend):
            found[backend] = answer(lambda call=calls[backend]: call())
    if len(set(found.values())) != 1:
        raise AssertionError(f"The frameworks differ on {question}: {found}")
    return found["numpy"]


def promotion():
    """The table of pairs, as `where` gives it: that one takes bools too."""
    table = {}
    for a in NAMES:
        for b in NAMES:

            def ask(backend, a=a, b=b):
                x, y = array(a, backend), array(b, backend)
                return trellis.where(trellis.equal(x, x), x, y)

            table[a, b] = agreed((a, b), {k: lambda k=k, ask=ask: ask(k) for k in BACKENDS})
            said = answer(lambda a=a, b=b: np.empty(0, numpy_type(trellis.result_type(a, b))))
            if said != table[a, b]:
                raise AssertionError(
                    f"result_type{a, b} says {said}, and where gives {table[a, b]}"
                )
    return table


def numpy_type(name):
    return trellis.namespace("numpy").as_dtype(str(name))


def beside_numbers():
    table = {}
    for a in NAMES:
        for text, number in NUMBERS.items():

            def ask(backend, a=a, number=number):
                x = array(a, backend)
                return trellis.where(trellis.equal(x, x), x, number)

            table[a, text] = agreed((a, text), {k: lambda k=k, ask=ask: ask(k) for k in BACKENDS})
    return table


SCALAR_CALLS = {
    "full(2, np.int64(3))": lambda b, x: trellis.full(2, np.int64(3), backend=b),
    "full(2, np.float64(3))": lambda b, x: trellis.full(2, np.float64(3), backend=b),
    "arange(np.int64(3))": lambda b, x: trellis.arange(np.int64(3), backend=b),
    "arange(np.float64(3))": lambda b, x: trellis.arange(np.float64(3), backend=b),
    "multiply(x, np.float64(2))": lambda b, x: trellis.multiply(x, np.float64(2)),
    "where(x > 0, x, np.float64(2))": lambda b, x: trellis.where(x > 0, x, np.float64(2)),
    "sum(x, axis=np.int64(0))": lambda b, x: trellis.sum(x, axis=np.int64(0)),
    "zeros(2, dtype=float)": lambda b, x: trellis.zeros(2, dtype=float, backend=b),
    "zeros(2, dtype=int)": lambda b, x: trellis.zeros(2, dtype=int, backend=b),
    "zeros(2, dtype=bool)": lambda b, x: trellis.zeros(2, dtype=bool, backend=b),
    "zeros(2, dtype=complex)": lambda b, x: trellis.zeros(2, dtype=complex, backend=b),
}


def numpy_scalars():
    """One line for each call; where NumPy has a rule of its own, both answers."""
    lines = []
    for text, call in SCALAR_CALLS.items():
        found = {}
        for backend in BACKENDS:
            with wide_types(backend):
                x = array("float32", backend)
                found[backend] = answer(lambda call=call, b=backend, x=x: call(b, x))
        own, said = found.pop("numpy"), found["torch"]
        if set(found.values()) != {said}:
            raise AssertionError(f"The frameworks differ on {text}: {found}")
        lines.append(f"| `{text}` | {said if said == own else f'{said}; {own} on NumPy'} |")
    return "\n".join(lines)


def float_functions():
    table = {}
    for a in NAMES:
        for name in FLOAT_FUNCTIONS:

            def ask(backend, a=a, name=name):
                x, function = array(a, backend), getattr(trellis, name)
                return function(x, x) if name == "divide" else function(x)

            table[a, name] = agreed((a, name), {k: lambda k=k, ask=ask: ask(k) for k in BACKENDS})
    return table


def grid(corner, columns, table, short=True):
    def shown(name):
        if name is None:
            return "-"
        return SHORT[name] if short else name

    heads = [SHORT.get(c, f"`{c}`") if short else f"`{c}`" for c in columns]
    lines = [f"| {corner} | " + " | ".join(heads) + " |", "|---" * (len(columns) + 1) + "|"]
    for a in NAMES:
        cells = [shown(table[a, b]) for b in columns]
        lines.append(f"| **{SHORT[a] if short else a}** | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page():
    return f"""# Data types

This page is written by `python tools/dtypes_page.py`, which runs every cell on NumPy, JAX (64-bit
types on), PyTorch and TensorFlow and raises an error where one of them differs; a test runs it
again. `trellis.result_type` is the table's only source.

## Two arrays

Every function that takes several arrays promotes them to the type below: `add`, `where`, `concat`,
`matmul`, `einsum`, comparisons and all the others. Arrays without axes are promoted like any other.
Short names: `i8` is int8, `u8` uint8, `f32` float32, `c64` complex64. A dash is a `DtypeError`:
no type holds uint64 and a negative number. Cast one first.

{grid("", NAMES, promotion())}

An integer combined with a float takes the float's type; float16 and bfloat16 are promoted to
float32. Logical functions (`logical_and`, ...) treat each array separately and need no common type.
Updates (`at(x, i).set(v)`, `scatter`, `pad`) and `clip` keep the type of `x`: what is written is
cast to it. A Python number that `x` cannot hold (-1 in uint8, 1.5 in int32) raises an error, and so
do complex values for a real array.

*Operators* of native arrays (`x + y`, `x * 2.5`) are the framework's own and follow its rules,
not this table: NumPy promotes float32 and int64 to float64, PyTorch ignores arrays without axes,
TensorFlow raises an error for mixed types.

## An array and a Python number

A Python number never widens an array of the same kind. Where a float type is needed it is the
default float: float32, unless changed by `trellis.set_default_dtype`. An integer that an integer
array cannot hold (-1 or 300 with uint8) raises an error, in comparisons too.

{grid("", tuple(NUMBERS), beside_numbers(), short=False)}

## Numbers from NumPy, and Python types

A NumPy scalar (`np.float64(2)`, `np.int64(3)`, `np.bool_(True)`, what `np.max(x)` returns) is a
Python number as an axis, a size, a flag, a bound, an option or a learning rate, and beside an array
of another framework. On NumPy, a scalar in place of an array is an array with a type of its own, as
NumPy has it. A NumPy array without axes (`np.array(2.0)`) is always an array.

| call, with `x` of float32 | type |
|---|---|
{numpy_scalars()}

Python types are data types: `float` is the default float, `complex` the complex type of the same
width, `int` the default integer. Functions of one array take a Python number: `trellis.log(0.5)` is
an array of the default backend. `torch.compile` makes tensors of NumPy scalars that it finds in a
function: write Python numbers there.

## Functions that need floats

Integers and bools are converted to the default float, whatever their width; floats keep their type.
This holds for `sin`, `exp`, `log`, `sqrt`, `erf`, ..., `mean`, `var`, `divide`, `atan2`, `hypot`,
`logaddexp`, and linear algebra, which computes 16-bit floats in float32 and rounds the result once.

{grid("", FLOAT_FUNCTIONS, float_functions(), short=False)}

## Layers

A layer is a function of its input and its weights: with float32 weights, integer and float16 inputs
give float32, and **a float64 batch gives float64**, as the table says. Cast the batch
(`trellis.astype(x, "float32")`) to compute in float32.

## Casts

`astype` needs a type: `astype(x, None)` raises an error. A cast from complex to real numbers would
drop the imaginary part and raises a `DtypeError`; write `real(x)` or `abs(x)`.

A float beyond the range of the integer type that it is cast to has no defined result, as in the
standard: JAX takes the nearest integer, the others return whatever the processor gives. Write
`clip(x, 0, 255)` before `astype(x, "uint8")`. Integers that do not fit wrap around on all four.

## bfloat16 on NumPy

It comes from `ml_dtypes`, which is installed with Trellis. Elementwise functions compute in
bfloat16; sums, products, norms, linear algebra and layers run in float32 and round once. Gradients
pass through casts to it. NumPy's own operators promote a bfloat16 array and a Python float to
float32; the functions do not.

## 64 bits on JAX

JAX has 64-bit types only after `jax.config.update("jax_enable_x64", True)`. Without them a result
that the table makes int64 or float64 raises `PrecisionError` instead of silently becoming 32-bit;
the default int is then int32.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="show the page, write nothing")
    options = parser.parse_args()
    text = page()
    if options.print:
        print(text)
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
