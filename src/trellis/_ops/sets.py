"""Different values."""

from .record import OTHER, Op, composed

# fmt: off
OPS = (
    Op("unique_all", OTHER, numpy="np.unique_all(x)", torch=None, tensorflow=None,
       near="torch.unique tf.unique_with_counts"),
    Op("unique_counts", OTHER, numpy="np.unique_counts(x)",
       torch="torch.unique(x, return_counts=True)", tensorflow=None, near="tf.unique_with_counts"),
    Op("unique_inverse", OTHER, numpy="np.unique_inverse(x)",
       torch="torch.unique(x, return_inverse=True)", tensorflow=None, near="tf.unique"),
    Op("unique_values", OTHER, numpy="np.unique(x, equal_nan=False)", torch="torch.unique(x)",
       tensorflow="tf.sort(tf.unique(tf.reshape(x, [-1])).y)",
       near="np.unique_values jnp.unique_values tf.unique"),
    # Written over others.
    composed("isin", near="np.isin jnp.isin torch.isin"),
    composed("setdiff1d", near="np.setdiff1d jnp.setdiff1d"),
    composed("union1d", near="np.union1d jnp.union1d"),
)
