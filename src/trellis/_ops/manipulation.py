"""Shapes: the same elements in another arrangement."""

from .record import MIXED, OTHER, Op, composed

# fmt: off
OPS = (
    Op("broadcast_arrays", OTHER, numpy="np.broadcast_arrays(*arrays)",
       torch="torch.broadcast_tensors(*arrays)", near="tf.experimental.numpy.broadcast_arrays"),
    Op("broadcast_to", OTHER, numpy="np.broadcast_to(x, shape)",
       torch="torch.broadcast_to(x, shape)", tensorflow="tf.broadcast_to(x, shape)"),
    Op("concat", MIXED, numpy="np.concat(arrays, axis=axis)",
       torch="torch.cat([x.reshape(-1) for x in arrays]) if axis is None else "
             "torch.concat(arrays, dim=axis)",
       near="torch.concat tf.concat"),
    Op("expand_dims", OTHER, numpy="np.expand_dims(x, axis=axis)", torch="torch.unsqueeze(x, axis)",
       tensorflow="tf.expand_dims(x, axis)"),
    Op("flip", OTHER, numpy="np.flip(x, axis=axis)", torch="torch.flip(x, axes)",
       tensorflow="tf.reverse(x, axes)"),
    Op("moveaxis", OTHER, numpy="np.moveaxis(x, source, destination)",
       torch="torch.movedim(x, source, destination)",
       near="torch.moveaxis tf.experimental.numpy.moveaxis"),
    Op("pad", OTHER, numpy="np.pad(x, pad_width, mode=mode, constant_values=constant_values)",
       near="F.pad tf.pad"),
    Op("permute_dims", OTHER, numpy="np.permute_dims(x, axes)", torch="torch.permute(x, axes)",
       tensorflow="tf.transpose(x, axes)"),
    Op("repeat", OTHER, numpy="np.repeat(x, repeats, axis=axis)",
       torch="torch.repeat_interleave(x, repeats, dim=axis)",
       tensorflow="tf.repeat(x, repeats, axis=axis)"),
    Op("reshape", OTHER, numpy="np.reshape(x, shape)", torch="torch.reshape(x, shape)",
       tensorflow="tf.reshape(x, shape)"),
    Op("roll", OTHER, numpy="np.roll(x, shift, axis=axis)", torch="torch.roll(x, shift, dims=axis)",
       near="tf.roll"),
    Op("sliding_window", OTHER, torch="x.unfold(axis, window, step)",
       near="np.lib.stride_tricks.sliding_window_view torch.Tensor.unfold tf.signal.frame"),
    Op("squeeze", OTHER, numpy="np.squeeze(x, axis=axis)", torch="torch.squeeze(x, axis)",
       tensorflow="tf.squeeze(x, axis)"),
    Op("stack", MIXED, numpy="np.stack(arrays, axis=axis)", torch="torch.stack(arrays, dim=axis)",
       tensorflow="tf.stack(arrays, axis=axis)"),
    Op("tile", OTHER, numpy="np.tile(x, repetitions)", torch="torch.tile(x, repetitions)",
       near="tf.tile"),
    Op("unstack", OTHER, numpy="np.unstack(x, axis=axis)", torch="torch.unbind(x, dim=axis)",
       tensorflow="tf.unstack(x, axis=axis)"),
    # Written over others.
    composed("atleast_nd", near="np.atleast_2d jnp.atleast_2d torch.atleast_2d"),
    composed("broadcast_shapes",
             near="np.broadcast_shapes jnp.broadcast_shapes torch.broadcast_shapes "
                  "tf.broadcast_static_shape"),
)
