"""A fuzzer for everything that reads files: `make fuzz-files MINUTES=5 ONLY=onnx`.

`seeds` makes good files, `mutations` damages them by their structure, `targets` reads them as users
do. A `worker` process reads one file after the other; `watching` counts what must not be: planted
code that ran, crashes, hangs, too much memory, errors in other words than ours.
"""
