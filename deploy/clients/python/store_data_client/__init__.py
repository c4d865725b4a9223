"""A client of the Store Data API: tokens, retries, lists and the change feed, with the standard library alone."""

from __future__ import annotations

import copy
import gzip
import http.client
import json
import math
import random
import re
import socket
import ssl
import threading
import time
import zlib
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any, Callable, Dict, Generic, Iterator, Literal, Mapping, Optional, Sequence, Tuple, TypeVar, cast
from urllib.parse import urlencode, urlsplit

from . import types

T = TypeVar("T")
# The status, the headers with names in lower case, and the decompressed body.
Response = Tuple[int, Mapping[str, str], bytes]
# Sends a method, URL, headers and body, with a limit in seconds. No redirects; OSError without a whole answer in time.
Transport = Callable[[str, str, Dict[str, str], Optional[bytes], float], Response]

_MAX_PAUSE_SECONDS = 30.0
_DAY_SECONDS = 86_400
# A token is renewed so long before it expires, or after half its life: a held request is authorized again at its end.
_RENEW_EARLY_SECONDS = 60
# A proxy may end requests sooner than the API: after a cut the wait is halved, down to this.
_MIN_WAIT_SECONDS = 5
# A connection is used again within this time: servers close those that are idle for 5 seconds, or longer.
_KEEP_SECONDS = 4


class StoreDataError(Exception):
    """All errors of this client."""


class ConnectionFailed(StoreDataError):
    """No answer, or only a part of one."""


class ClientClosed(StoreDataError):
    """The client was closed."""


class ApiError(StoreDataError):
    """The API, or a proxy before it, refused."""

    status: int
    # Such as `not_found`; `unknown` in an answer that is not the API's.
    code: str
    detail: str
    request_id: str | None
    # In seconds, if the answer said so.
    retry_after: int | None


@dataclass(frozen=True)
class Conditional(Generic[T]):
    """What a call with `if_none_match` gives: `value` is None if it is unchanged."""

    unchanged: bool
    etag: str
    value: T | None


class _HttpTransport:
    """The transport unless another one is given: connections to one origin, which are kept."""

    def __init__(self, base_url: str, context: ssl.SSLContext | None) -> None:
        origin = urlsplit(base_url)
        address = (origin.hostname or "", origin.port)
        secure = partial(http.client.HTTPSConnection, *address, context=context)
        self._open = secure if origin.scheme == "https" else partial(http.client.HTTPConnection, *address)
        self._lock = threading.Lock()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        self._busy: set[socket.socket] = set()
        self._closed = False

    def __call__(self, method: str, url: str, headers: dict[str, str], body: bytes | None, timeout: float) -> Response:
        deadline = time.monotonic() + timeout
        with self._lock:
            while self._idle and time.monotonic() - self._idle[-1][1] > _KEEP_SECONDS:
                self._idle.pop()[0].close()
            connection = self._idle.pop()[0] if self._idle else self._open(timeout=timeout)
        try:
            return self._send(connection, method, url, headers, body, deadline)
        except (http.client.HTTPException, EOFError, zlib.error, OSError) as error:
            # Without its frames, which hold headers.
            raise OSError(f"{type(error).__name__}: {error}") from None

    def _send(self, connection: Any, method: str, url: str, headers: Any, body: bytes | None, deadline: float) -> Response:
        if connection.sock is None:
            connection.connect()
        sock: socket.socket = connection.sock  # The answer may take it away from the connection.
        with self._lock:
            self._busy.add(sock)
            if self._closed:
                sock.close()
        whole = False
        try:
            sock.settimeout(max(deadline - time.monotonic(), 0.001))
            connection.request(method, urlsplit(url)._replace(scheme="", netloc="").geturl(), body, headers)
            answer = connection.getresponse()
            content = b""
            while chunk := answer.read1(1_048_576):
                content += chunk
                sock.settimeout(max(deadline - time.monotonic(), 0.001))
            if answer.length:
                raise http.client.IncompleteRead(b"", answer.length)
            answer.close()
            if content and answer.getheader("content-encoding") == "gzip":
                content = gzip.decompress(content)
            whole = not answer.will_close
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content
        finally:
            with self._lock:
                self._busy.discard(sock)
                if whole:
                    self._idle.append((connection, time.monotonic()))
            if not whole:
                connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for sock in self._busy:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
            while self._idle:
                self._idle.pop()[0].close()


class _Headers(Dict[str, str]):
    def __repr__(self) -> str:
        return "<headers with a secret>"


class _Connection:
    """The one connection of a client: its token, and how soon the quota allows the next request."""

    def __init__(self, base_url: str, credentials: Callable[[], str], form: dict[str, str], transport: Transport) -> None:
        self._base_url, self._credentials, self.transport = base_url, credentials, transport
        self._form = urlencode({"grant_type": "client_credentials", **form}).encode()
        self._lock = threading.Lock()
        self._token: Callable[[], str] | None = None
        self._failed_at, self._failure = 0.0, StoreDataError()
        self._renew_at = self._quiet_until = 0.0
        self.closed = threading.Event()
        self.pace = 1.0  # The time that one request takes of the quota.

    def sleep(self, seconds: float) -> None:
        """Raises ClientClosed once the client is closed."""
        if self.closed.wait(max(seconds, 0)):
            raise ClientClosed("the client is closed")

    def get(self, target: str, headers: dict[str, str], timeout: float) -> tuple[Response, Any]:
        """One request with a token, and once more with a new one after a 401."""
        self.sleep(self._quiet_until - time.monotonic())
        renewed = False
        while True:
            token = self._fresh_token(timeout)
            try:
                return self._send("GET", target, _Headers(headers, Authorization=f"Bearer {token()}"), None, timeout)
            except ApiError as error:
                if renewed or error.status != 401:
                    raise
            renewed = True
            with self._lock:
                # Other calls may have renewed it meanwhile.
                if self._token is token:
                    self._token = None

    def _fresh_token(self, timeout: float) -> Callable[[], str]:
        """The token of all calls. While one of them gets a new one, the others wait for it, and share its failure."""
        began = time.monotonic()
        with self._lock:
            if self._failed_at > began:
                raise self._failure
            if self._token is None or time.monotonic() >= self._renew_at:
                headers = _Headers({"Content-Type": "application/x-www-form-urlencoded"}, Authorization=self._credentials())
                try:
                    _, content = self._send("POST", "/api/auth/token/", headers, self._form, timeout)
                except StoreDataError as error:
                    self._failed_at, self._failure = time.monotonic(), error
                    raise
                value, lifetime = content.get("access_token"), content.get("expires_in")
                # An invalid header would be shown by the error about it.
                if not isinstance(value, str) or not re.fullmatch("[!-~]+", value) or not isinstance(lifetime, (int, float)):
                    raise StoreDataError("the answer of the token endpoint holds no token")
                self._renew_at = began + max(lifetime / 2, lifetime - _RENEW_EARLY_SECONDS)
                self._token = lambda: value
            return self._token

    def _send(self, method: str, target: str, headers: _Headers, body: bytes | None, timeout: float) -> tuple[Response, Any]:
        """Raises ApiError for any status but 200 and 304, ConnectionFailed without a whole answer."""
        path = target.partition("?")[0]
        self.sleep(0)
        try:
            headers.update({"Accept-Encoding": "gzip", "User-Agent": "store-data-client-python"})
            answer = self.transport(method, self._base_url + target, headers, body, timeout)
        except OSError as error:
            self.sleep(0)
            raise ConnectionFailed(f"{path}: no answer ({error})") from error.with_traceback(None)
        status, given, text = answer
        if policy := re.search(r";q=(\d+);w=(\d+)", given.get("ratelimit-policy", "")):
            self.pace = int(policy[2]) / int(policy[1])
        content = None
        with suppress(ValueError):
            content = json.loads(text)
        if status == 304 or (status == 200 and isinstance(content, dict)):
            return answer, content
        if status == 200 and "json" in given.get("content-type", ""):
            raise ConnectionFailed(f"{path}: the body ended early")
        refusal = _refusal(path, answer, content)
        if status == 429:
            # Other calls would be refused, and count, as well.
            self._quiet_until = time.monotonic() + (refusal.retry_after or 0)
        raise refusal


class _Resource:
    """The methods of every resource; their types are in `types`."""

    def __init__(self, client: Client, path: str, kind: str = "") -> None:
        self._client, self._path, self._kind = client, path, kind

    def list(self, **filters: Any) -> Iterator[Any]:
        for page in self.pages(**filters):
            yield from page["results"]

    def pages(self, **filters: Any) -> Iterator[Any]:
        for number in count(1):
            page = self.page(**filters, page=number)
            yield page
            if not page["results"] or number * page["page_size"] >= page["count"]:
                return

    def page(self, *, if_none_match: str | None = None, **parameters: Any) -> Any:
        return self._client._one(self._path, {"page_size": 100, **parameters}, if_none_match)

    def get(self, id: str, *, if_none_match: str | None = None) -> Any:
        return self._client._one(f"/api/{self._kind}/details/", {f"{self._kind}_id": id}, if_none_match)


class Client:
    """A client of one store.

    `timeout` limits each attempt, in addition to `wait`. `retries` counts the repetitions after 429, 5xx and failures of the
    connection; `on_retry` is told of each: the error, its number, and the pause in seconds. `quota_share` is the part of the
    store's quota that `changes` uses. Threads may share a client.
    """

    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str,
        *,
        scopes: Sequence[Literal["store", "crm", "order", "menu"]] | None = None,
        timeout: float = 10,
        retries: float = 5,
        quota_share: float = 0.5,
        on_retry: Callable[[StoreDataError, int, float], object] = lambda error, attempt, pause: None,
        ssl_context: ssl.SSLContext | None = None,
        transport: Transport | None = None,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("base_url is not an http(s) URL")
        if "@" in parts.netloc:
            raise ValueError("base_url must not hold credentials")
        if not client_id or not client_secret:
            raise ValueError("client_id or client_secret is missing")
        base_url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        encoded = b64encode(f"{client_id}:{client_secret}".encode()).decode()
        form = {"scope": " ".join(scopes)} if scopes else {}
        transport = transport or _HttpTransport(base_url, ssl_context)
        self._connection = _Connection(base_url, lambda: f"Basic {encoded}", form, transport)
        self._quota_share, self._on_retry = quota_share, on_retry
        self._set(timeout, retries)

    def _set(self, timeout: float, retries: float) -> None:
        self._timeout, self._retries = timeout, retries
        # The store that the key belongs to, and what it sells now.
        self.info = cast("types.Single[types.StoreInfo]", partial(self._one, "/api/store/info/", {}))
        self.menu = cast("types.Single[types.Menu]", partial(self._one, "/api/menu/", {}))
        self.changes = cast(types.Changes, self._changes)
        self.coupons = cast(types.Coupons, _Resource(self, "/api/coupon/list", "coupon"))
        self.customers = cast(types.Customers, _Resource(self, "/api/customer/list"))
        self.customer_orders = cast(types.CustomerOrders, _Resource(self, "/api/customer/order-list/"))
        self.reviews = cast(types.Reviews, _Resource(self, "/api/review/list", "review"))
        self.campaigns = cast(types.Campaigns, _Resource(self, "/api/campaign/list", "campaign"))
        self.orders = cast(types.Orders, _Resource(self, "/api/order/list", "order"))
        self.categories = cast(types.Categories, _Resource(self, "/api/category/list", "category"))
        self.products = cast(types.Products, _Resource(self, "/api/product/list", "product"))
        self.option_groups = cast(types.OptionGroups, _Resource(self, "/api/option-group/list"))

    def with_options(self, *, timeout: float | None = None, retries: float | None = None) -> Client:
        """The same client, token and connections included, with other limits: `store.with_options(timeout=60).menu()`."""
        other = copy.copy(self)
        other._set(self._timeout if timeout is None else timeout, self._retries if retries is None else retries)
        return other

    def close(self) -> None:
        """Ends all calls, those under way in other threads too: they raise ClientClosed."""
        self._connection.closed.set()
        getattr(self._connection.transport, "close", lambda: None)()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _changes(self, *, retries: float = math.inf, **given: Any) -> Iterator[Any]:
        query = {"records": "whole", "page_size": 1_000, "wait": 30, **given}
        while True:
            began = time.monotonic()
            _, batch = self._get("/api/changes", query, None, retries)
            yield batch
            query["after"] = batch["next"]
            pause = self._connection.pace / self._quota_share
            self._connection.sleep(began + pause - time.monotonic())

    def _one(self, path: str, query: dict[str, Any], if_none_match: str | None = None) -> Any:
        answer, value = self._get(path, query, if_none_match, self._retries)
        if if_none_match is None:
            return value
        return Conditional(answer[0] == 304, answer[1].get("etag", ""), value)

    def _get(self, path: str, query: dict[str, Any], tag: str | None, retries: float) -> tuple[Response, Any]:
        """Gets JSON, with retries. If a proxy cuts a request that waits, `wait` of the query is halved."""
        for attempt in count(1):
            began, wait = time.monotonic(), query.get("wait", 0)
            try:
                headers = {"If-None-Match": tag} if tag else {}
                return self._connection.get(_encode(path, query), headers, self._timeout + wait)
            except StoreDataError as error:
                # The API itself would have answered 200 at the end of the wait.
                is_cut = isinstance(error, ConnectionFailed) or getattr(error, "status", 0) in (502, 504)
                if is_cut and 1 < time.monotonic() - began < wait + 1:
                    query["wait"] = min(wait, max(_MIN_WAIT_SECONDS, wait // 2))
                pause = _pause_after(error, attempt)
                if pause is None or attempt > retries:
                    raise
                self._on_retry(error, attempt, pause)
            self._connection.sleep(pause)
        raise AssertionError


def _refusal(path: str, answer: Response, content: Any) -> ApiError:
    status, headers, _ = answer
    body = content if isinstance(content, dict) else {}
    code, detail = body.get("code", "unknown"), body.get("detail")
    if not isinstance(detail, str):
        code, detail = "unknown", f"an answer of type {headers.get('content-type', 'none')}, not the API's"
    request, after = headers.get("x-request-id"), headers.get("retry-after", "")
    error = ApiError(f"{path} answered {status}: {detail}{f' (request {request})' if request else ''}")
    error.status, error.code, error.detail, error.request_id = status, str(code), detail, request
    error.retry_after = min(int(after), _DAY_SECONDS) if re.fullmatch("[0-9]{1,9}", after) else None
    return error


def _pause_after(error: StoreDataError, attempt: int) -> float | None:
    """The pause before another attempt; None if it would be refused too."""
    growing = min(0.5 * 2.0 ** min(attempt, 10), _MAX_PAUSE_SECONDS) * random.uniform(0.75, 1.25)
    if isinstance(error, ConnectionFailed):
        return growing
    if not isinstance(error, ApiError) or (error.status < 500 and error.status != 429):
        return None
    if error.status == 429 and error.retry_after is not None:
        return error.retry_after
    return max(error.retry_after or 0, growing)


def _encode(path: str, query: Mapping[str, Any]) -> str:
    """An empty list becomes an empty value, which the API refuses: leaving it out would give everything."""
    pairs = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
    lists = {name: [""] for name, value in pairs.items() if isinstance(value, (list, tuple)) and not value}
    pairs = {name: value for name, value in {**pairs, **lists}.items() if value is not None}
    return f"{path}?{urlencode(pairs, doseq=True)}" if pairs else path


def to_instant(local_date_time: str, timezone_offset: str) -> datetime:
    """The instant of a local date-time. Give the offset of the store, or of the batch that the record came with."""
    instant = datetime.fromisoformat(local_date_time + timezone_offset)
    if instant.tzinfo is None:
        raise ValueError("not a local date-time and an offset of the API")
    return instant
