"""The OAuth clients of Python, as their documentation has them. Reads a task and prints the results, both JSON."""

import json
import os
import sys

from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from oauthlib.oauth2 import BackendApplicationClient
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session

# oauthlib insists on HTTPS otherwise.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"


def authlib(client_id, client_secret, token_url):
    session = AuthlibSession(client_id, client_secret, scope="order")
    session.fetch_token(token_url, grant_type="client_credentials")
    return session


def requests_oauthlib(client_id, client_secret, token_url):
    session = OAuth2Session(client=BackendApplicationClient(client_id=client_id, scope=["order"]))
    session.fetch_token(token_url, auth=HTTPBasicAuth(client_id, client_secret))
    return session


CLIENTS = {"Authlib": authlib, "requests-oauthlib": requests_oauthlib}


def read(session, client_id, data_url):
    response = session.get(data_url)
    return {"client_id": client_id, "status": response.status_code, "count": response.json().get("count")}


task = json.load(sys.stdin)
connect = CLIENTS[sys.argv[1]]
results = []
for key in task["keys"]:
    connected = connect(key["client_id"], key["client_secret"], task["token_url"])
    results.append(read(connected, key["client_id"], task["data_url"]))
json.dump(results, sys.stdout)
