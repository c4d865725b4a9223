"""Passes mypy --strict only if the types of the client are as strict as they should be: an ignored line must be an error."""

from datetime import datetime

from store_data_client import ApiError, Client, to_instant
from store_data_client.types import Order


def use(store: Client) -> datetime:
    order: Order = store.with_options(timeout=1).orders.get("o1")
    amount: str = order["items"][0]["unit_price"]
    amount.is_integer()  # type: ignore[attr-defined]
    for summary in store.orders.list(status=["pending"], created_from="2026-11-20T00:00:00"):
        summary["item_count"].bit_length()
    for page in store.customers.pages(search="silva"):
        print(page["count"], [customer["birth_date"] for customer in page["results"]])
    store.orders.list(statsu=["pending"])  # type: ignore[call-arg]
    store.orders.list(status=["eaten"])  # type: ignore[list-item]
    store.categories.list(status=["pending"])  # type: ignore[call-arg]
    store.customers.get("c1")  # type: ignore[attr-defined]
    store.changes(kinds=["orders"])  # type: ignore[list-item]
    store.changes(kind="order")  # type: ignore[call-overload]
    Client("https://api.example.com", "a")  # type: ignore[call-arg]

    menu = store.menu(if_none_match="")
    if menu.value is not None:
        print(menu.etag, menu.value["categories"][0]["products"])
    menu.value["categories"]  # type: ignore[index]

    for batch in store.changes(kinds=["order", "product"], after=None):
        for change in batch["results"]:
            if change["kind"] == "order" and change["record"] is not None:
                print(change["record"]["payments"])
    for summaries in store.changes(kinds=["order"], records="summary"):
        for changed in summaries["results"]:
            if changed["kind"] == "order" and changed["record"] is not None:
                print(changed["record"]["total"])
                print(changed["record"]["items"])  # type: ignore[typeddict-item]
    try:
        offset = store.info()["timezone_offset"]
    except ApiError as error:
        if error.code != "not_found":
            raise
        offset = "-03:00"
    return to_instant(order["created_at"], offset)
