"""Diagonals and places in a shape. All written over other operations."""

from .record import composed

# fmt: off
OPS = (
    composed("create_diagonal", near="torch.diag_embed tf.linalg.diag"),
    composed("diag", near="np.diag jnp.diag torch.diag tf.linalg.diag"),
    composed("diag_indices", near="np.diag_indices jnp.diag_indices"),
    composed("kron", near="np.kron jnp.kron torch.kron"),
    composed("tril_indices", near="np.tril_indices jnp.tril_indices torch.tril_indices"),
    composed("triu_indices", near="np.triu_indices jnp.triu_indices torch.triu_indices"),
    composed("unravel_index",
             near="np.unravel_index jnp.unravel_index torch.unravel_index tf.unravel_index"),
)
