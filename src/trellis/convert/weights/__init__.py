"""Weights of other libraries, with their names and layouts: loading and writing them."""
