"""Loggers, read back: files by their formats, and services by their own packages, offline."""

import csv
import json
import time
import types

import numpy as np
import pytest

import trellis
from trellis import nn, train
from trellis.train import fit


def run(logger, epochs=2, **options):
    trellis.seed(1)
    x = np.linspace(-1, 1, 16, dtype="float32").reshape(-1, 1)
    return fit(
        nn.Linear(1, 1), "mse_loss", (x, 3 * x), optimizer=trellis.optim.SGD(0.1), epochs=epochs,
        batch_size=8, validation_data=(x, 3 * x), callbacks=logger, progress=False, seed=3,
        **options,
    )  # fmt: skip


def test_csv_goes_on_after_a_checkpoint(tmp_path):
    path, checkpoint = tmp_path / "run.csv", tmp_path / "run.safetensors"
    run(train.CSVLogger(path), epochs=2, checkpoint=checkpoint)
    # A row of an epoch that the checkpoint does not have.
    path.write_text(path.read_text() + "3,6,0,0,0\n")
    history = run(train.CSVLogger(path), epochs=4, checkpoint=checkpoint, resume=True)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == [1, 2, 3, 4]
    assert [int(row["step"]) for row in rows] == [2, 4, 6, 8]
    for name in ("loss", "validation_loss"):
        assert [float(row[name]) for row in rows] == history.metrics[name]
    assert {row["learning_rate"] for row in rows} == {"0.1"}
    run(train.CSVLogger(path), epochs=1)
    assert len(path.read_text().splitlines()) == 2


def test_json_lines(tmp_path):
    path = tmp_path / "run.jsonl"
    history = run(train.JSONLinesLogger(path, every=1))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each["step_loss"] for each in lines if "step_loss" in each] == history.losses
    assert [each["loss"] for each in lines if "loss" in each] == history.metrics["loss"]
    assert [each["step"] for each in lines] == [1, 2, 2, 3, 4, 4]
    writer = train.JSONLinesLogger(path)
    writer.write(5, 3, {"loss": float("nan")})
    assert json.loads(path.read_text().splitlines()[-1])["loss"] is None


def test_tensorboard_reads_the_events(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import (
        STORE_EVERYTHING_SIZE_GUIDANCE,
        EventAccumulator,
    )

    history = run(train.TensorBoardLogger(tmp_path, every=1))
    events = EventAccumulator(str(tmp_path), STORE_EVERYTHING_SIZE_GUIDANCE)
    events.Reload()

    def values(name):
        try:
            return [(each.step, each.value) for each in events.Scalars(name)]
        except KeyError:  # a newer writer stores them as tensors
            found = events.Tensors(name)
            return [(each.step, each.tensor_proto.float_val[0]) for each in found]

    assert [step for step, _ in values("step_loss")] == [1, 2, 3, 4]
    # Event files have float32.
    assert [x for _, x in values("step_loss")] == pytest.approx(history.losses, rel=1e-6)
    expected = list(zip((2, 4), history.metrics["validation_loss"]))
    for (step, x), (wanted_step, wanted) in zip(values("validation_loss"), expected, strict=True):
        assert step == wanted_step
        assert x == pytest.approx(wanted, rel=1e-6)


@pytest.mark.long  # MLflow takes seconds to import and to write
def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    logger = train.MLflowLogger(
        "lines", name="first", parameters={"width": 1}, tracking_uri=tmp_path.as_uri(), every=2
    )
    try:
        history = run(logger)
        assert mlflow.active_run() is None
        client = mlflow.MlflowClient(tmp_path.as_uri())
        (experiment,) = [e for e in client.search_experiments() if e.name == "lines"]
        (found,) = client.search_runs([experiment.experiment_id])
        assert found.data.params == {"width": "1"}
        values = client.get_metric_history(found.info.run_id, "loss")
        assert [(each.step, each.value) for each in values] == [
            (2, history.metrics["loss"][0]), (4, history.metrics["loss"][1]),
        ]  # fmt: skip
        assert len(client.get_metric_history(found.info.run_id, "step_loss")) == 2
    finally:
        mlflow.set_tracking_uri(None)


def records_of(path):
    """The records of a file of W&B: pieces with a checksum, a length and a kind, in blocks,
    after seven bytes of a head (the log format of LevelDB)."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, place, whole = path.read_bytes(), 7, b""
    while place + 7 <= len(data):
        left = 2**15 - place % 2**15
        if left < 7:
            place += left
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # all of a record, or its last piece
            record = Record()
            record.ParseFromString(whole)
            yield record
            whole = b""


@pytest.mark.long  # eight seconds for a service process of its own
def test_wandb_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    history = run(train.WandbLogger("lines", mode="offline", folder=tmp_path, config={"width": 1}))
    (path,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    for _ in range(200):  # the service writes the file a moment after the run has ended
        if "exit" in [record.WhichOneof("record_type") for record in records_of(path)]:
            break
        time.sleep(0.1)
    rows = []
    for record in records_of(path):
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            rows.append({i.key or i.nested_key[0]: json.loads(i.value_json) for i in items})
    assert [row["loss"] for row in rows] == history.metrics["loss"]
    assert [row["epoch"] for row in rows] == [1, 2]
    assert [row["_step"] for row in rows] == [2, 4]


def test_a_package_that_is_missing_is_named(monkeypatch):
    from trellis.train._callbacks import services

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(services, "importlib", types.SimpleNamespace(import_module=missing))
    for logger, text in (
        (train.TensorBoardLogger("x"), "pip install tensorboard"),
        (train.MLflowLogger(), "pip install mlflow-skinny"),
        (train.WandbLogger(), "pip install wandb"),
    ):
        with pytest.raises(trellis.errors.BackendNotInstalledError, match=text):
            run(logger)
