"""Training steps written by hand in each framework: the references of the training benchmark.

Each file has `steps(name, weights, x, y)`, which gives {"eager": step, "compiled": step}: functions
that run one step of Adam and return the loss.
"""
