"""Weights of other libraries, in their names and layouts, into modules and back."""
