"""A pytest plugin that counts the outcomes of other projects' tests.

    pytest -p outcomes --counts counts.json --every 10 --pyargs scipy.fft

`--counts FILE` writes how many tests of each file came out in which way, and why the failed ones
did. `--every 10` runs every tenth test, the same ones whatever the arrays. Where the suite runs
each test for several frameworks, `--by nx` counts them by the parameter of that name, and
`--only numpy,torch` runs those; tests without the parameter run with the first of all, NumPy.
"""

import json
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--every", type=int, default=1, help="N: run every N-th of the tests only")
    parser.addoption("--counts", type=Path, help="a JSON file for the outcomes")
    parser.addoption("--by", help="a parameter of the tests, by which they are counted")
    parser.addoption("--only", help="its values that are run, with commas between them")


@pytest.hookimpl(trylast=True)  # after what -m and -k leave out
def pytest_collection_modifyitems(config, items):
    for item in items:
        _files[item.nodeid] = _file(item)
        _framework[item.nodeid] = _parameter(item, config.getoption("--by"))
    only, step = config.getoption("--only"), config.getoption("--every")
    found = items
    if only:
        found = [x for x in items if (_framework[x.nodeid] or "numpy") in only.split(",")]
    kept = found[::step]
    chosen = {item.nodeid for item in kept}
    config.hook.pytest_deselected(items=[x for x in items if x.nodeid not in chosen])
    items[:] = kept


def _parameter(item, name):
    call = getattr(item, "callspec", None)
    return str(call.params[name]) if call is not None and name in call.params else ""


def _file(item):
    """The file of a test, from its package on where that is not below the root directory."""
    file = item.nodeid.partition("::")[0]
    if not file.startswith(".."):
        return file
    packages = [x for x in item.path.parents if (x / "__init__.py").exists()]
    root = packages[-1].parent if packages else item.path.parent
    return item.path.relative_to(root).as_posix()


_files = {}
_framework = {}
_outcomes = {}
_reasons = {}


def pytest_runtest_logreport(report):
    found = _outcomes.setdefault(report.nodeid, "")
    if report.when == "call" or report.outcome != "passed":
        word = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        if found != "failed":
            _outcomes[report.nodeid] = word
        if report.failed:
            _reasons[report.nodeid] = _last_line(report)


def pytest_collectreport(report):
    if report.failed:  # a file that cannot be imported is one failed test
        _outcomes[report.nodeid] = "failed"
        _reasons[report.nodeid] = str(report.longrepr).strip().splitlines()[-1][:160]


def _last_line(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return text.strip().partition("\n")[0][:160]


def pytest_sessionfinish(session):
    path = session.config.getoption("--counts")
    if path is None:
        return
    files, frameworks = {}, {}
    for test, word in _outcomes.items():
        file = _files.get(test, test.partition("::")[0])
        _count(files.setdefault(file, {}), word)
        _count(frameworks.setdefault(file, {}).setdefault(_framework.get(test, ""), {}), word)
    failures = {}
    for test, why in _reasons.items():
        file, colons, rest = test.partition("::")
        failures[f"{_files.get(test, file)}{colons}{rest}"] = why
    content = {"files": files, "frameworks": frameworks, "failures": failures}
    path.write_text(json.dumps(content, indent=0))


def _count(counted, word):
    counted[word] = counted.get(word, 0) + 1
