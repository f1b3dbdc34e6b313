"""What the service does by itself is listed, tried again and cancelled over HTTP. Tests of api/work.py."""

import time

from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.store.tables import JobRow


def place(app: FastAPI, key: str, **more: object) -> None:
    """A job that waits for an hour."""
    made = {"world_id": "main", "kind": "snapshot", "key": key, "owner": key, "priority": 2, "created_at": 0.0}
    row = JobRow.model_validate({"due_at": time.time() + 3600, **made, **more})
    app.state.deps.conversation.database.write_now(lambda s: s.add(row))


def test_work_is_listed_page_by_page_and_cancelled_and_tried_again(client: TestClient, app: FastAPI) -> None:
    client.put("/people/ken", json={"kind": "player", "name": "Ken"}).raise_for_status()
    place(app, "day-1", tries=3, last_error="GraphUnavailable: it is away")
    place(app, "day-2", created_at=1.0)
    first = client.get("/work?limit=1").json()
    (waits,) = first["items"]
    assert (waits["world_id"], waits["kind"], waits["key"]) == ("main", "snapshot", "day-1")
    assert (waits["state"], waits["tries"], waits["last_error"]) == ("waiting", 3, "GraphUnavailable: it is away")
    assert waits["since"] == "1970-01-01T00:00:00+00:00"
    assert waits["next_try_at"] > waits["since"]
    (second,) = client.get("/work", params={"limit": 1, "after": first["next"]}).json()["items"]
    assert second["key"] == "day-2"
    cancelled = client.post("/work/snapshot/day-1", json={"do": "cancel"}).json()
    assert (cancelled["state"], cancelled["next_try_at"]) == ("cancelled", None)
    client.post("/work/snapshot/day-1", json={"do": "again"}).raise_for_status()
    left = {"day-1"}
    until = time.monotonic() + 20
    while "day-1" in left and time.monotonic() < until:
        left = {one["key"] for one in client.get("/work").json()["items"]}
        time.sleep(0.05)
    assert left == {"day-2"}
    assert [one["name"] for one in client.get("/world/snapshots").json()] == ["day-1"]


def test_work_that_is_not_there_is_not_found(client: TestClient) -> None:
    assert client.post("/work/snapshot/none", json={"do": "again"}).status_code == 404
    assert client.post("/work/dishes/none", json={"do": "again"}).status_code == 422
