"""Order."""

from .record import COUNT, OTHER, Op

# fmt: off
OPS = (
    Op("argsort", COUNT, near="np.argsort jnp.argsort torch.argsort tf.argsort"),
    Op("sort", OTHER, near="np.sort jnp.sort torch.sort tf.sort"),
)
