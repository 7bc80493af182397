import numpy as np

import trellis

from .case import NO_FLOATS, NOT_FLOAT, PYTHON, Case, numbers

x = numbers(2, 3)

CASES = [
    Case(
        "astype",
        (np.array([1.7, -1.7, 0.0]), "int32"),
        np.array([1, -1, 0], "int32"),
        gradient=NOT_FLOAT,
    ),
    Case(
        "astype",
        (np.array([1.7, -1.7, 0.0]), "bool"),
        [True, True, False],
        about="bool",
        gradient=NOT_FLOAT,
    ),
    Case(
        "astype",
        (np.array([True, False]), "int8"),
        np.array([1, 0], "int8"),
        about="from bool",
        gradient=NO_FLOATS,
    ),
    Case(
        "astype",
        (x, trellis.float32),
        lambda x, dtype: np.asarray(x, "float32"),
        about="float",
        kwargs={"copy": False},
        gradient="finite differences need float64",
    ),
    Case(
        "astype",
        (x, "complex64"),
        lambda x, dtype: np.asarray(x, "complex64"),
        about="complex",
        gradient="complex numbers come out",
    ),
    Case("can_cast", (x, "complex128"), True, gradient=NOT_FLOAT, compiled=PYTHON),
    Case(
        "can_cast",
        ("float64", "float32"),
        False,
        about="names",
        gradient=NO_FLOATS,
        compiled=PYTHON,
    ),
    Case("dtype", (np.zeros(2, "int16"),), "int16", then=str, gradient=NO_FLOATS, compiled=PYTHON),
    Case(
        "finfo",
        ("float32",),
        (32, 2.0**-23),
        then=lambda i: (i.bits, float(i.eps)),
        gradient=NO_FLOATS,
        compiled=PYTHON,
    ),
    Case(
        "iinfo",
        ("int8",),
        (8, -128, 127),
        then=lambda i: (i.bits, int(i.min), int(i.max)),
        gradient=NO_FLOATS,
        compiled=PYTHON,
    ),
    Case("isdtype", ("float32", "real floating"), True, gradient=NO_FLOATS, compiled=PYTHON),
    Case(
        "isdtype",
        ("int8", ("bool", "int16")),
        False,
        about="several",
        gradient=NO_FLOATS,
        compiled=PYTHON,
    ),
    Case(
        "result_type",
        (np.zeros(2, "int8"), np.zeros(2, "uint8")),
        "int16",
        then=str,
        gradient=NO_FLOATS,
        compiled=PYTHON,
    ),
    Case(
        "result_type",
        (np.zeros(2, "int32"), 1),
        "int32",
        about="number",
        then=str,
        gradient=NO_FLOATS,
        compiled=PYTHON,
    ),
    Case(
        "device",
        (x,),
        True,
        then=lambda d: "cpu" in str(d).lower(),
        gradient=NOT_FLOAT,
        compiled=PYTHON,
    ),
    Case(
        "to_device",
        (x,),
        x,
        call=lambda x: trellis.to_device(x, trellis.device(x)),
        compiled={
            "jax": "a tracer lives on no device",
            "tensorflow": "a symbolic tensor lives on no device",
        },
    ),
]
