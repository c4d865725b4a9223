"""What the first CloudEvents SDK for Python makes of an event, as JSON."""

import base64
import json
import sys

from cloudevents.http import CloudEvent
from cloudevents.kafka import to_binary, to_structured

ATTRIBUTES = {
    "id": "e1",
    "source": "/pos/s1",
    "type": "store-data.order.changed",
    "subject": "o1",
    "time": "2026-11-20T21:15:04.120Z",
    "storeid": "s1",
    "sequence": "17",
}
DATA = {"status": "pending", "order_type": "delivery", "total": "39.90", "created_at": "2026-11-20T21:15:04.120Z"}

plain = CloudEvent(ATTRIBUTES, DATA)
changed = CloudEvent({**ATTRIBUTES, "datacontenttype": "application/json"}, DATA)
numbered = CloudEvent({**ATTRIBUTES, "sequence": 17}, DATA)
deleted = CloudEvent({**ATTRIBUTES, "type": "store-data.order.deleted"})
deleted_json = CloudEvent({**deleted.get_attributes(), "datacontenttype": "application/json"})


def to_bytes(data):
    return json.dumps(data).encode()


def of_store(event):
    return event["storeid"]


def sent(call, message):
    return {
        "call": call,
        "headers": {name: value.decode() for name, value in message.headers.items()},
        "key": message.key,
        "value": base64.b64encode(message.value).decode(),
    }


json.dump(
    [
        sent("`to_structured(event)`", to_structured(plain, key_mapper=of_store)),
        sent("`to_structured(event)`, with `datacontenttype`", to_structured(changed, key_mapper=of_store)),
        sent("`to_structured(event)`, integer `sequence`", to_structured(numbered, key_mapper=of_store)),
        sent("`to_structured(event)`, marshalled to bytes", to_structured(changed, to_bytes, key_mapper=of_store)),
        sent("`to_structured(event)`, marshalled to text", to_structured(changed, json.dumps, key_mapper=of_store)),
        sent("`to_structured(event)`, a deletion", to_structured(deleted, key_mapper=of_store)),
        sent("`to_binary(event)`, with `datacontenttype`", to_binary(changed, key_mapper=of_store)),
        sent("`to_binary(event)`, a deletion", to_binary(deleted_json, key_mapper=of_store)),
    ],
    sys.stdout,
)
