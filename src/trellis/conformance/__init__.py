"""The conformance kit: does a backend do what Trellis promises?

    pytest -p trellis.conformance --pyargs trellis.conformance --backend NAME

runs from any folder, with only Trellis, pytest and the backend installed. `docs/new_backend.md`
explains the report; `conformance.toml` of a backend names what it cannot do (`exceptions.py`).
The tests of this repository run the same tests on all backends at once.
"""

pytest_plugins = ["trellis.conformance.plugin"]
