"""A test that takes pytest with it."""

import os
import threading
import time

import pytest

HOW = os.environ.get("HOW", "")


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_before(backend):
    assert backend


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.timeout(1 if HOW == "timeout" else 60, method="thread")
def test_dies(backend):
    if backend == "torch":
        if HOW == "abort":
            os.abort()
        elif HOW == "exit":
            threading.Thread(target=os._exit, args=(3,)).start()
            time.sleep(60)
        elif HOW == "timeout":
            time.sleep(60)
        elif HOW == "kill":
            os.kill(os.getpid(), 9)
    assert backend


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_after(backend):
    assert backend
