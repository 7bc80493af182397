"""Filters as they are: only a kernel of one's own asks for another order in memory."""

from ...array_api import Native


def laid_out_filters(filters: Native, dims: int, channel_first: bool) -> Native:
    return filters


def laid_like(x: Native, model: Native) -> Native:
    return x
