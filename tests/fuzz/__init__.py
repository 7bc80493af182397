"""The differential fuzzer: one drawn call, four frameworks, one answer.

`draws/` says for each public function which calls are drawn, `running` makes them, `comparing` says
what differs, `allowed` which differences are documented, and `run.py` is `make fuzz`. `opinfo/`
asks torch's own samples and derivatives instead of drawing.
"""
