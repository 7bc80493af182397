"""New arrays."""

from .record import OTHER, Op, composed

# fmt: off
OPS = (
    Op("arange", OTHER, numpy="np.arange(start, stop=stop, step=step, dtype=result)",
       torch="torch.arange(0 if stop is None else start, start if stop is None else stop, step, "
             "dtype=result)",
       tensorflow="tf.range(0 if stop is None else start, start if stop is None else stop, step, "
                  "dtype=result)"),
    Op("empty", OTHER, numpy="np.zeros(shape, dtype=result)",
       torch="torch.zeros(shape, dtype=result)", tensorflow="tf.zeros(shape, result)",
       near="np.empty jnp.empty torch.empty tensorflow:-"),
    Op("empty_like", OTHER, numpy="np.zeros_like(x, dtype=result)",
       torch="torch.zeros_like(x, dtype=result)", tensorflow="tf.zeros_like(x, result)",
       near="np.empty_like jnp.empty_like torch.empty_like tensorflow:-"),
    Op("eye", OTHER, numpy="np.eye(n_rows, n_cols, k=k, dtype=result)", near="torch.eye tf.eye"),
    Op("full", OTHER, numpy="np.full(shape, fill_value, dtype=result)",
       torch="torch.full(shape, fill_value, dtype=result)",
       tensorflow="tf.fill(shape, tf.constant(fill_value, result))"),
    Op("full_like", OTHER, numpy="np.full_like(x, fill_value, dtype=result)",
       torch="torch.full_like(x, fill_value, dtype=result)",
       tensorflow="tf.fill(tf.shape(x), tf.constant(fill_value, result))", near="tensorflow:-"),
    Op("linspace", OTHER, numpy="np.linspace(start, stop, num, endpoint=endpoint, dtype=result)",
       near="torch.linspace tf.linspace"),
    Op("meshgrid", OTHER, numpy="np.meshgrid(*arrays, indexing=indexing)",
       torch="torch.meshgrid(*arrays, indexing=indexing)",
       tensorflow="tf.meshgrid(*arrays, indexing=indexing)"),
    Op("ones", OTHER, numpy="np.ones(shape, dtype=result)", torch="torch.ones(shape, dtype=result)",
       tensorflow="tf.ones(shape, result)"),
    Op("ones_like", OTHER, numpy="np.ones_like(x, dtype=result)",
       torch="torch.ones_like(x, dtype=result)", tensorflow="tf.ones_like(x, result)",
       reads={"tensorflow": "OnesLike"}),
    Op("tril", OTHER, numpy="np.tril(x, k=k)", torch="torch.tril(x, diagonal=k)",
       near="tf.linalg.band_part"),
    Op("triu", OTHER, numpy="np.triu(x, k=k)", torch="torch.triu(x, diagonal=k)",
       near="tf.linalg.band_part"),
    Op("zeros", OTHER, numpy="np.zeros(shape, dtype=result)",
       torch="torch.zeros(shape, dtype=result)", tensorflow="tf.zeros(shape, result)"),
    Op("zeros_like", OTHER, numpy="np.zeros_like(x, dtype=result)",
       torch="torch.zeros_like(x, dtype=result)", tensorflow="tf.zeros_like(x, result)",
       reads={"tensorflow": "ZerosLike"}),
    # Written over others.
    composed("asarray", near="np.asarray jnp.asarray torch.as_tensor tf.convert_to_tensor"),
    composed("from_dlpack",
             near="np.from_dlpack jnp.from_dlpack torch.from_dlpack "
                  "tf.experimental.dlpack.from_dlpack"),
    composed("one_hot", near="jax.nn.one_hot F.one_hot tf.one_hot"),
)
