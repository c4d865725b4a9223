"""Takes steps from the first argument, makes them with the installed client, and prints what each gave."""

import json
import pickle
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import timezone

from store_data_client import Client, StoreDataError, to_instant

given = json.loads(sys.argv[1])
client = given["client"]
retries = []
on_quiet = []


def on_retry(error, attempt, pause):
    retries.append([type(error).__name__, attempt, pause])
    for call in on_quiet:
        call()


store = Client(
    client["url"],
    client["id"],
    client["secret"],
    scopes=client.get("scopes"),
    timeout=client.get("timeout", 10),
    retries=client.get("retries", 5),
    on_retry=on_retry,
)


def many(n):
    with ThreadPoolExecutor(n) as pool:
        return len(list(pool.map(lambda _: store.orders.get("o1"), range(n))))


def everything():
    found = {name: part.page(page_size=1)["count"] for name, part in vars(store).items() if hasattr(part, "pages")}
    return {**found, "info": store.info()["id"], "menu": len(store.menu()["categories"])}


def conditional():
    first = store.orders.get("o1", if_none_match="")
    again = store.orders.get("o1", if_none_match=first.etag)
    menu = store.menu(if_none_match=store.menu(if_none_match="").etag)
    return [first.unchanged, first.value["id"], again.unchanged, again.value, menu.unchanged, menu.value]


def changes(parameters, batches):
    taken = []
    for batch in store.changes(**parameters):
        ids = [f"{one['kind']}/{one['id']}/{(one['record'] or {}).get('total', '')}" for one in batch["results"]]
        taken.append({"ids": ids, "next": batch["next"], "more": batch["more"]})
        if len(taken) == batches:
            return taken


def stop():
    threading.Timer(0.5, store.close).start()
    for _ in store.changes(after="now"):
        pass


def quiet():
    """A second call begins when the first one was answered 429."""
    with ThreadPoolExecutor(1) as pool:
        second = []
        on_quiet.append(lambda: second.append(pool.submit(store.orders.get, "o2")))
        return [store.orders.get("o1")["id"], second[0].result()["id"]]


def printed():
    parts = [store, store._connection, store.orders]
    return " ".join(f"{part!r} {part} {vars(part)!r}" for part in parts)


STEPS = {
    "get": lambda id: store.orders.get(id)["id"],
    "many": many,
    "list": lambda filters: [order["id"] for order in store.orders.list(**filters)],
    "pages": lambda filters: [[page["count"], len(page["results"])] for page in store.orders.pages(**filters)],
    "everything": everything,
    "conditional": conditional,
    "changes": changes,
    "stop": stop,
    "quiet": quiet,
    "sleep": lambda ms: time.sleep(ms / 1_000),
    "instant": lambda local, offset: to_instant(local, offset).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
    "printed": printed,
}



def describe(error):
    """What logs and crash reports could hold of it: the frames of the client with their variables, and of its causes."""
    frames = error.__traceback__
    while frames is not None and "store_data_client" not in frames.tb_frame.f_code.co_filename:
        frames = frames.tb_next
    seen = traceback.TracebackException(type(error), error, frames, capture_locals=True)
    fields = {name: getattr(error, name, None) for name in ("status", "code", "detail")}
    # Workers send errors to one another.
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)
    about = f"{error!r} {error} {''.join(seen.format())}"
    return {"name": type(error).__name__, **fields, "requestId": getattr(error, "request_id", None), "printed": about}


results = []
for step in given["steps"]:
    try:
        results.append({"value": STEPS[step.pop("op")](**step)})
    except StoreDataError as error:
        results.append({"error": describe(error)})
print(json.dumps({"results": results, "retries": retries}))
