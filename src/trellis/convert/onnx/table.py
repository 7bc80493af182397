"""The rules for ONNX, filled by the files `rules_*.py`.

A rule gets the graph, the inputs of the node in order (None for one that is left out) and its
attributes by name; a graph attribute comes as a `Branch`. It returns a value for each output.
"""

from ..rules import Rules

rules = Rules()

# Numbers of element types in ONNX files, and their names in NumPy and ml_dtypes.
TYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "str",
    9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64",
    15: "complex128", 16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz",
    19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4_e2m1fn",
    24: "float8_e8m0fnu", 25: "uint2", 26: "int2", 27: "float6_e2m3fn", 28: "float6_e3m2fn",
}  # fmt: skip
# Those that only ml_dtypes has; no framework computes with them.
SMALL = frozenset([name for number, name in TYPES.items() if number >= 17])
