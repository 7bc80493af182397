"""Control flow that compilers keep."""

from .record import composed

# fmt: off
OPS = (
    composed("cond", near="jax.lax.cond torch.cond tf.cond"),
    composed("scan", near="jax.lax.scan tf.scan"),
    composed("while_loop", near="jax.lax.while_loop torch.while_loop tf.while_loop"),
    # Written over others.
    composed("apply_where"),
    composed("associative_scan", near="jax.lax.associative_scan"),
    composed("fori_loop", near="jax.lax.fori_loop"),
    composed("switch", near="jax.lax.switch tf.switch_case"),
)
