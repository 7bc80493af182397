"""Sums of products."""

from .record import OTHER, PRODUCT, Op

# fmt: off
OPS = (
    Op("einsum", PRODUCT, numpy="np.einsum(subscripts, *xs)", torch="torch.einsum(subscripts, *xs)",
       tensorflow="tf.einsum(subscripts, *xs)"),
    Op("matmul", PRODUCT, numpy="np.matmul(x1, x2)", torch="torch.matmul(x1, x2)",
       operator="matmul", near="tf.matmul"),
    Op("matrix_transpose", OTHER, numpy="np.matrix_transpose(x)", torch="x.mT",
       tensorflow="tf.linalg.matrix_transpose(x)", near="torch.Tensor.mT"),
    Op("tensordot", PRODUCT, numpy="np.tensordot(x1, x2, axes=axes)",
       torch="torch.tensordot(x1, x2, dims=axes)", tensorflow="tf.tensordot(x1, x2, axes)"),
    Op("vecdot", PRODUCT, numpy="np.vecdot(x1, x2, axis=axis)",
       torch="torch.linalg.vecdot(x1, x2, dim=axis)"),
)
