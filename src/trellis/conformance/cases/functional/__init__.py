"""Rows of `trellis.functional`, one file for each idea."""

from . import (
    activation,
    attention,
    cache,
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
    *cache.CASES,
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
