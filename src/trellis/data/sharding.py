"""Which rows of a batch belong to which rank."""


def share(rows: int, rank: int, ranks: int) -> tuple[int, int]:
    """The rows of a rank, from the first to that after the last; shares differ by one row at most.

    >>> [share(10, rank, 4) for rank in range(4)]
    [(0, 3), (3, 6), (6, 8), (8, 10)]
    """
    whole, rest = divmod(rows, ranks)
    begin = rank * whole + min(rank, rest)
    return begin, begin + whole + (1 if rank < rest else 0)
