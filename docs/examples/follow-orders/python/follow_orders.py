"""Follows a store: every change and deletion of its records reaches the copy, whatever goes wrong in between.

Needs Python 3.9 or later and `requests`. Settings: BASE_URL, CLIENT_ID, CLIENT_SECRET, and COPY (a file), KINDS, QUOTA_SHARE.
With `--print` it prints the copy instead.
"""

import json
import os
import random
import re
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing

import requests

# Each kind of records, and the table that has its copy.
TABLES = {
    "store": "stores",
    "order": "orders",
    "customer": "customers",
    "review": "reviews",
    "campaign": "campaigns",
    "coupon": "coupons",
    "category": "categories",
    "product": "products",
    "option-group": "option_groups",
}
PAGE_SIZE = 1_000
WAIT_SECONDS = 30
# A proxy may end requests sooner: after a cut the wait is halved, down to this.
SHORTEST_WAIT_SECONDS = 5
# A connection that says nothing for so long, beyond the time that it was asked to wait, is given up.
SILENCE_SECONDS = 15
LONGEST_PAUSE_SECONDS = 30


class Refused(Exception):
    """The API refuses for good: another try would be refused too."""


class Stopped(Exception):
    """Somebody asked this program to end."""


class Bearer(requests.auth.AuthBase):
    """As `auth`, since requests would replace a header by what ~/.netrc has for the host."""

    def __init__(self, token):
        self._token = token

    def __call__(self, request):
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class Session:
    """Requests as the API asks its clients to make them."""

    def __init__(self, base_url, client_id, client_secret, stop):
        # It may have a path of its own, behind a gateway.
        self._base_url = base_url.rstrip("/")
        self._credentials = (client_id, client_secret)
        self._stop = stop
        self._http = requests.Session()
        self._token = None
        self._renew_at = 0.0
        self._longest_wait = WAIT_SECONDS

    def get(self, path, params):
        """The answer, once there is one that is final. A 401 gets a new token, once."""
        renewed = False
        attempt = 0
        while True:
            auth = Bearer(self._fresh_token())
            wait = min(params.get("wait", 0), self._longest_wait)
            asked = {**params, "wait": wait} if "wait" in params else params
            began = time.monotonic()
            response = self._send("GET", path, wait, params=asked, auth=auth)
            if response is not None and response.status_code == 200:
                return response
            if self._was_cut(response, wait, time.monotonic() - began):
                self._longest_wait = max(SHORTEST_WAIT_SECONDS, wait // 2)
            if response is not None and response.status_code == 401 and not renewed:
                renewed = True
                self._token = None
                continue
            self._pause_or_refuse(response, attempt)
            attempt += 1

    @staticmethod
    def _was_cut(response, wait, seconds):
        """Whether something between us and the API ended a request that waited: the API itself answers 200 then."""
        return seconds > 1 and seconds < wait + 1 and (response is None or response.status_code in (502, 504))

    def _fresh_token(self):
        attempt = 0
        while self._token is None or time.monotonic() >= self._renew_at:
            response = self._send(
                "POST", "/api/auth/token/", 0, data={"grant_type": "client_credentials"}, auth=self._credentials
            )
            if response is not None and response.status_code == 200:
                token = response.json()
                lifetime = token["expires_in"]
                self._token = token["access_token"]
                # Well before it expires: a request that waits is looked at again when its wait ends.
                self._renew_at = time.monotonic() + max(lifetime / 2, lifetime - 60)
            else:
                self._pause_or_refuse(response, attempt)
                attempt += 1
        return self._token

    def _send(self, method, path, wait, **arguments):
        """The answer with its body; None where none came."""
        if self._stop.is_set():
            raise Stopped
        url = f"{self._base_url}{path}"
        try:
            return self._http.request(method, url, timeout=(SILENCE_SECONDS, wait + SILENCE_SECONDS), **arguments)
        except requests.RequestException:
            return None

    def _pause_or_refuse(self, response, attempt):
        if response is not None and response.status_code != 429 and response.status_code < 500:
            raise Refused(f"the API answered {response.status_code}: {response.text}")
        after = "" if response is None else response.headers.get("Retry-After", "")
        # A proxy may give a date; then growing pauses do as well.
        asked = int(after) if after.isdecimal() else 0
        growing = min(0.2 * 2**attempt, LONGEST_PAUSE_SECONDS) * random.uniform(0.5, 1)
        self.pause(max(asked, growing))

    def pause(self, seconds):
        if self._stop.wait(seconds):
            raise Stopped


class Copy:
    """A table in SQLite for each kind, and beside them how far they were followed. All are written in one transaction."""

    def __init__(self, file):
        # Others may read the copy meanwhile.
        self._database = sqlite3.connect(file, timeout=10)
        self._database.execute("PRAGMA journal_mode = WAL")
        with self._database:
            for table in TABLES.values():
                self._database.execute(
                    f"CREATE TABLE IF NOT EXISTS {table} "
                    "(id TEXT PRIMARY KEY, record TEXT NOT NULL, timezone_offset TEXT NOT NULL)"
                )
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS cursor (id INTEGER PRIMARY KEY CHECK (id = 1), next TEXT NOT NULL)"
            )

    def next(self):
        """Where to go on; None at the beginning."""
        row = self._database.execute("SELECT next FROM cursor").fetchone()
        return None if row is None else row[0]

    def take(self, answer):
        """Takes an answer in. A record that is told twice is written twice."""
        with self._database:
            for change in answer["results"]:
                table = TABLES[change["kind"]]
                if change["deleted"]:
                    self._database.execute(f"DELETE FROM {table} WHERE id = ?", (change["id"],))
                else:
                    row = (change["id"], json.dumps(change["record"]), answer["timezone_offset"])
                    self._database.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", row)
            self._database.execute("INSERT OR REPLACE INTO cursor VALUES (1, ?)", (answer["next"],))

    def print(self):
        for kind, table in TABLES.items():
            for id, record, offset in self._database.execute(f"SELECT * FROM {table}"):
                copied = {"kind": kind, "id": id, "record": json.loads(record), "timezone_offset": offset}
                print(json.dumps(copied))

    def close(self):
        self._database.close()


def pause_seconds(response, share):
    """So long that our share of the quota lasts, as the service tells it: `"store";q=600;w=60`."""
    policy = re.search(r";q=(\d+);w=(\d+)", response.headers.get("RateLimit-Policy", ""))
    if policy is None:
        return 1
    requests_allowed, seconds = map(int, policy.groups())
    return seconds / (requests_allowed * share)


def follow(session, copy, kinds, share):
    while True:
        params = {"kinds": kinds, "records": "whole", "page_size": PAGE_SIZE, "wait": WAIT_SECONDS}
        after = copy.next()
        if after is not None:
            params["after"] = after
        response = session.get("/api/changes", params)
        answer = response.json()
        copy.take(answer)
        if answer["results"]:
            print(f"{len(answer['results'])} changes", flush=True)
        if not answer["more"]:
            session.pause(pause_seconds(response, share))


def main():
    file = os.environ.get("COPY", "store.sqlite")
    if sys.argv[1:] == ["--print"]:
        with closing(Copy(file)) as copy:
            copy.print()
        return
    stop = threading.Event()

    def end(*_):
        stop.set()
        # A request that waits for changes is not waited for: what it would bring is told again.
        raise Stopped

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        settings = {name: os.environ[name] for name in ("BASE_URL", "CLIENT_ID", "CLIENT_SECRET")}
    except KeyError as missing:
        sys.exit(f"{missing.args[0]} is not set")
    kinds = os.environ.get("KINDS", ",".join(TABLES)).split(",")
    share = float(os.environ.get("QUOTA_SHARE", "1"))
    session = Session(settings["BASE_URL"], settings["CLIENT_ID"], settings["CLIENT_SECRET"], stop)
    with closing(Copy(file)) as copy:
        try:
            follow(session, copy, kinds, share)
        except Stopped:
            pass


if __name__ == "__main__":
    main()
