"""Golden vectors: what each release computed, stored, and replayed by `trellis verify`.

A release is a folder in `releases/`: `vectors.json` lists calls of public names with their
arguments and results, `arrays.safetensors` holds the arrays of both, and beside them are a weight
file and a checkpoint as that release wrote them. Nothing in a file is code. `tools/golden.py`
records a release.
"""
