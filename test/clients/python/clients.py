"""Authlib, as its documentation has it. Reads a task and prints the results, both JSON."""

import json
import sys

from authlib.integrations.requests_client import OAuth2Session


def authlib(client_id, client_secret, token_url):
    session = OAuth2Session(client_id, client_secret, scope="order")
    session.fetch_token(token_url, grant_type="client_credentials")
    return session


def read(session, client_id, data_url):
    response = session.get(data_url)
    return {"client_id": client_id, "status": response.status_code, "count": response.json().get("count")}


task = json.load(sys.stdin)
results = []
for key in task["keys"]:
    connected = authlib(key["client_id"], key["client_secret"], task["token_url"])
    results.append(read(connected, key["client_id"], task["data_url"]))
json.dump(results, sys.stdout)
