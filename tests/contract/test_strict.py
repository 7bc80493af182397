"""array-api-strict as a backend, through the conformance kit: a slice here, all of it with --long.

It finds what the array object of a framework silently needs, such as `x[i]` without an ellipsis.
"""

from pathlib import Path

import pytest

from kit_runs import kit

TESTS = Path(__file__).parents[1]


@pytest.fixture
def site(tmp_path):
    """The folder of a package with the backend, as pip would install it."""
    metadata = tmp_path / "trellis_strict-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: trellis-strict\nVersion: 0.1\n"
    )
    (metadata / "entry_points.txt").write_text("[trellis.backends]\nstrict = trellis_strict\n")
    (tmp_path / "trellis_strict.py").write_text(
        'NAME, FRAMEWORK, DISTRIBUTION = "strict", "array_api_strict", "array-api-strict"\n'
        "TRELLIS_INTERFACE = 1\n"
        "def load():\n    import strict_backend\n    return strict_backend\n"
    )
    return tmp_path


@pytest.mark.parametrize("step", [25, pytest.param(1, marks=pytest.mark.long)])
def test_the_kit_on_array_api_strict(step, site):
    file = TESTS / "strict_conformance.toml"
    options = ("trellis.conformance", "--conformance", str(file), "--slice", str(step))
    code, text = kit(site, "strict", *options, path=[site, TESTS])
    assert code == 0, text
    assert "80 native, 125 derived, 73 on the host, 1 missing (connect_ranks)" in text
