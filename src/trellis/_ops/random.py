"""Draws by key."""

from .record import composed

# fmt: off
OPS = (
    composed("random.bernoulli",
             near="np.random.Generator.binomial jax.random.bernoulli torch.bernoulli "
                  "tf.random.stateless_binomial"),
    composed("random.beta",
             near="np.random.Generator.beta jax.random.beta torch.distributions.Beta"),
    composed("random.bits",
             near="np.random.Generator.bytes jax.random.bits torch.randint "
                  "tf.random.Generator.uniform_full_int"),
    composed("random.categorical",
             near="np.random.Generator.choice jax.random.categorical "
                  "torch.distributions.Categorical tf.random.stateless_categorical"),
    composed("random.choice",
             near="np.random.Generator.choice jax.random.choice torch.multinomial"),
    composed("random.dirichlet",
             near="np.random.Generator.dirichlet jax.random.dirichlet "
                  "torch.distributions.Dirichlet"),
    composed("random.exponential",
             near="np.random.Generator.exponential jax.random.exponential "
                  "torch.distributions.Exponential"),
    composed("random.fold_in", near="jax.random.fold_in tf.random.fold_in"),
    composed("random.gamma",
             near="np.random.Generator.gamma jax.random.gamma torch.distributions.Gamma "
                  "tf.random.stateless_gamma"),
    composed("random.gumbel",
             near="np.random.Generator.gumbel jax.random.gumbel torch.distributions.Gumbel"),
    composed("random.key",
             near="np.random.default_rng jax.random.PRNGKey torch.Generator "
                  "tf.random.create_rng_state"),
    composed("random.multivariate_normal",
             near="np.random.Generator.multivariate_normal jax.random.multivariate_normal "
                  "torch.distributions.MultivariateNormal"),
    composed("random.normal",
             near="np.random.Generator.normal jax.random.normal torch.randn "
                  "tf.random.stateless_normal"),
    composed("random.orthogonal",
             near="scipy.stats.ortho_group jax.random.orthogonal torch.nn.init.orthogonal_ "
                  "keras.initializers.Orthogonal"),
    composed("random.permutation",
             near="np.random.Generator.permutation jax.random.permutation torch.randperm "
                  "tf.random.experimental.stateless_shuffle"),
    composed("random.poisson",
             near="np.random.Generator.poisson jax.random.poisson torch.poisson "
                  "tf.random.stateless_poisson"),
    composed("random.randint",
             near="np.random.Generator.integers jax.random.randint torch.randint "
                  "tf.random.stateless_uniform"),
    composed("random.split", near="np.random.SeedSequence.spawn jax.random.split tf.random.split"),
    composed("random.stream", near="flax.nnx.Rngs"),
    composed("random.truncated_normal",
             near="scipy.stats.truncnorm jax.random.truncated_normal torch.nn.init.trunc_normal_ "
                  "tf.random.stateless_truncated_normal"),
    composed("random.uniform",
             near="np.random.Generator.uniform jax.random.uniform torch.rand "
                  "tf.random.stateless_uniform"),
)
