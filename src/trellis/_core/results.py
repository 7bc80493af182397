"""Results with several parts, named as in the standard; the same classes on every backend."""

from typing import Generic, NamedTuple

from .typing import A


class EigResult(NamedTuple, Generic[A]):
    """What `linalg.eig` gives."""

    eigenvalues: A
    eigenvectors: A


class EighResult(NamedTuple, Generic[A]):
    """What `linalg.eigh` gives."""

    eigenvalues: A
    eigenvectors: A


class QRResult(NamedTuple, Generic[A]):
    """What `linalg.qr` gives."""

    Q: A
    R: A


class SlogdetResult(NamedTuple, Generic[A]):
    """What `linalg.slogdet` gives."""

    sign: A
    logabsdet: A


class SVDResult(NamedTuple, Generic[A]):
    """What `linalg.svd` gives."""

    U: A
    S: A
    Vh: A


class UniqueAllResult(NamedTuple, Generic[A]):
    """What `unique_all` gives."""

    values: A
    indices: A
    inverse_indices: A
    counts: A


class UniqueCountsResult(NamedTuple, Generic[A]):
    """What `unique_counts` gives."""

    values: A
    counts: A


class UniqueInverseResult(NamedTuple, Generic[A]):
    """What `unique_inverse` gives."""

    values: A
    inverse_indices: A
