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
    *tables.CASES,
]
