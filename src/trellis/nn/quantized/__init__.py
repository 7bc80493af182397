"""Weights stored as small integers: `trellis.nn.quantize`."""
