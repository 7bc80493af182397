"""Order."""

from .record import COUNT, OTHER, Op, composed

# fmt: off
OPS = (
    Op("argsort", COUNT, near="np.argsort jnp.argsort torch.argsort tf.argsort"),
    Op("sort", OTHER, near="np.sort jnp.sort torch.sort tf.sort"),
    # Written over others.
    composed("argpartition", near="np.argpartition jnp.argpartition"),
    composed("partition", near="np.partition jnp.partition"),
)
