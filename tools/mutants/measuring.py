"""Which test runs which line, and how long each test takes.

    python measuring.py OUT FILES -- PYTEST...

FILES is a JSON list of the files to watch. What runs while modules are imported and tests are
collected belongs to the test called "".
"""

import json
import os
import sys

import coverage
import pytest


class Contexts:
    def __init__(self, measured):
        self.measured, self.seconds, self.failed = measured, {}, []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.measured.switch_context(item.nodeid)
        start = sum(os.times()[:4])  # of processes that it starts, too
        result = yield
        self.seconds[item.nodeid] = round(sum(os.times()[:4]) - start, 4)
        self.measured.switch_context("")
        return result

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)


def main():
    out, files, arguments = sys.argv[1], json.loads(sys.argv[2]), sys.argv[4:]
    measured = coverage.Coverage(data_file=None, include=files, config_file=False)
    plugin = Contexts(measured)
    measured.start()
    pytest.main([*arguments, "-p", "no:cacheprovider"], plugins=[plugin])
    measured.stop()
    data = measured.get_data()
    lines = {file: data.contexts_by_lineno(file) for file in data.measured_files()}
    passed = {test: s for test, s in plugin.seconds.items() if test not in plugin.failed}
    with open(out, "w") as stream:
        json.dump({"seconds": passed, "failed": plugin.failed, "lines": lines}, stream)


if __name__ == "__main__":
    main()
