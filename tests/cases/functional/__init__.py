"""Rows of `trellis.functional`, one file for each idea."""

from . import (
    activation,
    attention,
    convolution,
    loss,
    metrics,
    normalization,
    pooling,
    rearrange,
    recurrent,
    regions,
    tables,
)

CASES = [
    *activation.CASES,
    *attention.CASES,
    *convolution.CASES,
    *loss.CASES,
    *metrics.CASES,
    *normalization.CASES,
    *pooling.CASES,
    *rearrange.CASES,
    *recurrent.CASES,
    *regions.CASES,
    *tables.CASES,
]
