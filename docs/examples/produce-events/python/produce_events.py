"""Publishes a store, an order that changes, and one that is deleted."""

import json
import os
import uuid
from datetime import datetime, timedelta, timezone

from kafka import KafkaProducer

BROKERS = os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092").split(",")
ENVIRONMENT = os.environ.get("ENVIRONMENT", "sandbox")
STORE_ID = os.environ.get("STORE_ID", "s1")


def to_event(entity: str, entity_id: str, version: int, time: str, data: dict | None) -> dict:
    """`data` is the whole state of the entity, or `None` once it is deleted.

    `version` comes from the database that the entity lives in: it grows with every change, and never goes back.
    """
    event = {
        "specversion": "1.0",
        "id": str(uuid.uuid4()),
        "source": f"/pos/{STORE_ID}",
        "type": f"store-data.{entity}.{'deleted' if data is None else 'changed'}",
        "subject": entity_id,
        "storeid": STORE_ID,
        "sequence": str(version),
        "time": time,
    }
    return event if data is None else {**event, "datacontenttype": "application/json", "data": data}


def main() -> None:
    now = datetime.now(timezone.utc)
    created, changed = (now - timedelta(minutes=1)).isoformat(), now.isoformat()
    store = {"name": "Pizzaria Bela", "timezone_offset": "-03:00", "created_at": created}
    order = {"order_type": "delivery", "total": "39.90", "created_at": created}
    events = [
        to_event("store", STORE_ID, 1, created, store),
        to_event("order", "o1", 1, created, {**order, "status": "pending"}),
        to_event("order", "o2", 1, created, {**order, "status": "pending"}),
        to_event("order", "o1", 2, changed, {**order, "status": "ready"}),
        to_event("order", "o2", 2, changed, None),
    ]
    # Idempotent: what is sent again after a lost answer is there once, and in order.
    producer = KafkaProducer(bootstrap_servers=BROKERS, acks="all", enable_idempotence=True)
    try:
        sent = [
            producer.send(
                f"store-changes.{ENVIRONMENT}",
                # One store's events are one partition's, so that they stay in order.
                key=STORE_ID.encode(),
                value=json.dumps(event).encode(),
                headers=[("content-type", b"application/cloudevents+json")],
            )
            for event in events
        ]
        for one in sent:
            one.get(timeout=60)
    finally:
        producer.close()
    print(f"{len(sent)} events are in Kafka")


if __name__ == "__main__":
    main()
