"""Walks through the API with the client that openapi-python-client makes, and prints facts as JSON."""

import json
import os

from client import AuthenticatedClient, Client
from client.api.access import issue_token
from client.api.changes import follow_changes
from client.api.coupons import get_coupon
from client.api.menu import get_menu
from client.api.orders import follow_orders, get_order, list_orders
from client.models import FollowOrdersRecords, Order, TokenRequest
import httpx

env = os.environ
basic = httpx.BasicAuth(env["CLIENT_ID"], env["CLIENT_SECRET"])
with Client(base_url=env["BASE_URL"], httpx_args={"auth": basic}) as access:
    token = issue_token.sync(client=access, body=TokenRequest(grant_type="client_credentials"))
with AuthenticatedClient(base_url=env["BASE_URL"], token=token.access_token) as api:
    orders = list_orders.sync(client=api, created_from=env["CREATED_FROM"], created_to=env["CREATED_TO"])
    coupon = get_coupon.sync(client=api, coupon_id="c1")
    whole = follow_orders.sync(client=api, records=FollowOrdersRecords.WHOLE, page_size=1000, wait=1)
    (record,) = [change.record for change in whole.results if change.id == "o1"]
    assert isinstance(record, Order), type(record)
    facts = {
        "orders": orders.count,
        "notes": get_order.sync(client=api, order_id="o1").notes,
        "usage_limit": str(coupon.usage_limit),
        "usage_count": str(coupon.usage_count),
        "categories": len(get_menu.sync(client=api).categories),
        "changes": len(follow_changes.sync(client=api).results),
        "whole": record.notes,
    }
print(json.dumps(facts))
