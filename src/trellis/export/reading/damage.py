"""The one error of a file that is not what it seems."""


class Damaged(ValueError):
    """A file that ends too early, points outside itself, or is of another kind."""
