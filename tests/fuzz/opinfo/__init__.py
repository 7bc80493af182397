"""torch's OpInfo as an oracle: its samples, its values and its derivatives, on all four frameworks.

`rules` says for each op of torch how to write it with public functions of Trellis; `samples` reads
the samples that ship with torch and compares.
"""
