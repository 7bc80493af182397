"""The networks of working_sizes.py: with Trellis, and as an expert writes them in each framework.

Each file gives `step(name, mode, weights, variant)`: a function that does one training step with
Adam and returns the loss. The weights are NumPy arrays by the names of Trellis' variables.
"""
