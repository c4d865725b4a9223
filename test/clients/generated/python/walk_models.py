"""Reads every answer with the Pydantic models that datamodel-code-generator makes, and prints facts as JSON."""

import json
import os
import urllib.parse
import urllib.request
from base64 import b64encode

import models

env = os.environ


def ask(model, path, headers, body=None, **query):
    url = f"{env['BASE_URL']}{path}?{urllib.parse.urlencode(query)}".rstrip("?")
    data = None if body is None else urllib.parse.urlencode(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return model.model_validate_json(answer.read())


basic = b64encode(f"{env['CLIENT_ID']}:{env['CLIENT_SECRET']}".encode()).decode()
form = {"grant_type": "client_credentials"}
token = ask(models.Token, "/api/auth/token/", {"Authorization": f"Basic {basic}"}, form)
bearer = {"Authorization": f"Bearer {token.access_token}"}
bounds = {"created_from": env["CREATED_FROM"], "created_to": env["CREATED_TO"]}
coupon = ask(models.Coupon, "/api/coupon/details/", bearer, coupon_id="c1")
query = {"records": "whole", "page_size": 1000, "wait": 1}
whole = ask(models.OrderSummaryChanges, "/api/order/changes", bearer, **query)
(record,) = [change.record for change in whole.results if change.id.root == "o1"]
assert isinstance(record, models.Order), type(record)
facts = {
    "orders": ask(models.OrderSummaryList, "/api/order/list", bearer, **bounds).count,
    "notes": ask(models.Order, "/api/order/details/", bearer, order_id="o1").notes,
    "usage_limit": str(coupon.usage_limit),
    "usage_count": str(coupon.usage_count),
    "categories": len(ask(models.Menu, "/api/menu/", bearer).categories),
    "changes": len(ask(models.Changes, "/api/changes", bearer).results),
    "whole": record.notes,
}
print(json.dumps(facts))
