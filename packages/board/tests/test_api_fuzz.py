"""The API against its own OpenAPI description: whatever is sent, the answer is one it describes."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    status_code_conformance,
)

from trellis_board.questions import Question, QuestionError
from trellis_board.recording import project_id
from trellis_board.server import make_app
from trellis_board.store import Store
from trellis_board.tokens import create_token

from .helpers import make_part


def _make_schema(folder):
    store = Store.open(f"{folder}/fuzz.sqlite")
    store.for_project("mine").record(make_part("1", tanh__numpy="success", tanh__torch="hollow"))
    with store.writing() as connection:
        token = create_token(connection, project_id(connection, "mine"), "write")
    app = make_app(store, requests_per_minute=10_000_000)
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    return schema, store, token


def test_every_operation_is_described(tmp_path):
    schema, _, _ = _make_schema(tmp_path)
    operations = {found.ok().label for found in schema.get_all_operations()}
    assert operations == {
        "GET /api/v1/projects",
        "POST /api/v1/projects/{project}/parts",
        "GET /api/v1/projects/{project}/runs",
        "GET /api/v1/projects/{project}/cells",
        "GET /api/v1/projects/{project}/rows",
        "GET /api/v1/projects/{project}/score",
        "GET /api/v1/projects/{project}/history",
        "GET /api/v1/projects/{project}/diff",
    }


def test_nothing_sent_breaks_the_server(tmp_path):
    schema, store, token = _make_schema(tmp_path)
    sent = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        def one(case):
            nonlocal sent
            # Half of the requests come with the token and for the project it is for.
            headers = {}
            if sent % 2 == 0:
                headers = {"Authorization": f"Bearer {token}"}
                if case.path_parameters:
                    case.path_parameters["project"] = "mine"
            sent += 1
            answer = case.call(headers=headers)
            checks = [
                not_a_server_error,
                status_code_conformance,
                content_type_conformance,
                response_schema_conformance,
                negative_data_rejection,
            ]
            # No schema can say which texts are questions; the reader of questions can.
            if answer.status_code == 400 and operation.label.endswith("/rows"):
                with pytest.raises(QuestionError):
                    Question((case.query or {}).get("q", ""), ["numpy", "torch"])
            else:
                checks.append(positive_data_acceptance)
            case.validate_response(answer, checks=checks)

        strategy = operation.as_strategy()
        from hypothesis import given

        given(case=strategy)(
            settings(
                max_examples=40,
                deadline=None,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
                derandomize=True,
            )(one)
        )()
    assert sent >= 100
    store.close()
