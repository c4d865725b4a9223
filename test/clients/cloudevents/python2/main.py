"""What the second CloudEvents SDK for Python makes of an event, as JSON."""

import base64
import json
import sys
from datetime import datetime, timezone

from cloudevents.core.bindings.kafka import to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

ATTRIBUTES = {
    "specversion": "1.0",
    "id": "e1",
    "source": "/pos/s1",
    "type": "store-data.order.changed",
    "subject": "o1",
    "time": datetime(2026, 11, 20, 21, 15, 4, 120000, timezone.utc),
    "storeid": "s1",
    "sequence": "17",
}
DATA = {"status": "pending", "order_type": "delivery", "total": "39.90", "created_at": "2026-11-20T21:15:04.120Z"}

plain = CloudEvent(attributes=ATTRIBUTES, data=DATA)
changed = CloudEvent(attributes={**ATTRIBUTES, "datacontenttype": "application/json"}, data=DATA)
of_bytes = CloudEvent(attributes=changed.get_attributes(), data=json.dumps(DATA).encode())
numbered = CloudEvent(attributes={**ATTRIBUTES, "sequence": 17}, data=DATA)
deleted = CloudEvent(attributes={**ATTRIBUTES, "type": "store-data.order.deleted"})


def sent(call, to_message, event):
    message = to_message(event, JSONFormat(), lambda event: event.get_extension("storeid"))
    return {
        "call": call,
        "headers": {name: value.decode() for name, value in message.headers.items()},
        "key": message.key,
        "value": base64.b64encode(message.value).decode(),
    }


json.dump(
    [
        sent("`to_structured(event)`", to_structured, plain),
        sent("`to_structured(event)`, with `datacontenttype`", to_structured, changed),
        sent("`to_structured(event)`, integer `sequence`", to_structured, numbered),
        sent("`to_structured(event)`, data of bytes", to_structured, of_bytes),
        sent("`to_structured(event)`, a deletion", to_structured, deleted),
        sent("`to_binary(event)`", to_binary, plain),
        sent("`to_binary(event)`, with `datacontenttype`", to_binary, changed),
        sent("`to_binary(event)`, integer `sequence`", to_binary, numbered),
        sent("`to_binary(event)`, data of bytes", to_binary, of_bytes),
        sent("`to_binary(event)`, a deletion", to_binary, deleted),
    ],
    sys.stdout,
)
