"""Requests that nobody would think of: no input makes the server fail, and what it says is what its schema says."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_makes_the_server_fail(page: Any, mode: GenerationMode) -> None:
    """Well-formed or not, no input is answered with 5xx, and every answer is one that the schema has."""
    page.go_on(3)
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", page.http.app, headers=page.headers)
    n_seen = 0
    for found in schema.exclude(path="/api/events").get_all_operations():  # which never end
        operation = found.ok()

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        def send(case: Any) -> None:
            nonlocal n_seen
            n_seen += 1
            case.call_and_validate(headers=page.headers, checks=CHECKS)

        with suppress(Unsatisfiable):  # where there is nothing to get wrong
            send()
    assert n_seen > 100
