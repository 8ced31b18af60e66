"""Requests to a service and what comes back, without sending anything: clients send, in their own ways, what flows ask for.

A flow is a generator. It yields an :class:`Ask` and is sent the :class:`Answer`, or is thrown a :class:`Lost`; or it yields a
:class:`Pause`, after which it goes on. What it returns is the result of the call.
"""

from __future__ import annotations

import importlib
import ipaddress
import json
import os
import random
import ssl
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, Union
from urllib.parse import urlsplit

from ._errors import ConnectionFailed, Error, InputError, PolicyError, ServiceError
from ._native import __version__
from ._service_views import malformed

_T = TypeVar("_T")

#: Pauses before a request is sent again, in seconds: the first, and the longest.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
#: Answers after which nothing was done: too many requests, unavailable.
_LATER = {429, 503}
#: Answers of a proxy that cannot tell what was done, and of a service that took too long.
_UNKNOWN = {502, 504}
#: Longest wait for a connection, in seconds.
_CONNECT = 10.0


@dataclass(frozen=True)
class Ask:
    """A request."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    kind: str = "application/json"
    #: Whether it may be sent again when nobody knows whether it arrived.
    again: bool = True
    #: Seconds without a byte of the answer after which it is lost.
    silence: float = 30.0

    def headers(self) -> dict[str, str]:
        """Headers of its own."""
        return {} if self.body is None else {"Content-Type": self.kind}


@dataclass(frozen=True)
class Pause:
    """Seconds to wait."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    kind: str
    body: bytes = field(repr=False)
    #: What the header Retry-After says.
    retry_after: str = ""

    def json(self) -> Any:
        """The body."""
        if self.kind.partition(";")[0].strip() not in ("application/json", "application/problem+json"):
            raise malformed(f"is {self.kind or 'of no type'} and not JSON", self.status)
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise malformed("is no JSON", self.status) from None

    def text(self) -> str:
        """The body, of what is no JSON."""
        if self.kind.partition(";")[0].strip() != "text/plain":
            raise malformed(f"is {self.kind or 'of no type'} and not text", self.status)
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            raise malformed("is no text", self.status) from None


class Lost(Exception):
    """There is no answer."""

    def __init__(self, why: str, sent: bool) -> None:
        super().__init__(why)
        #: Whether the request may have arrived.
        self.sent = sent


#: What a flow yields.
Step = Union[Ask, Pause]
#: What :func:`asked` and all that builds on it are.
Flow = Generator[Step, Union[Answer, None], _T]


def asked(ask: Ask, within: float) -> Flow[Answer]:
    """The answer to a request, which is sent again while there is none, or while the service cannot do it now.

    Raises :class:`ServiceError` for a problem and :class:`ConnectionFailed` where no answer came, after ``within`` seconds at most.
    """
    end, pauses = time.monotonic() + within, backoff()
    while True:
        error: ServiceError | ConnectionFailed
        wanted = 0.0
        try:
            answer = yield ask
        except Lost as lost:
            error = ConnectionFailed(str(lost))
            final = lost.sent and not ask.again
        else:
            assert isinstance(answer, Answer)
            if 200 <= answer.status < 300:
                return answer
            error = problem(answer)
            final = answer.status not in (_LATER | _UNKNOWN if ask.again else _LATER)
            # A quota is not there again in a moment.
            final = final or error.kind == "quota"
            wanted = _seconds(answer.retry_after)
        pause = max(next(pauses), wanted)
        if final or time.monotonic() + pause > end:
            # The cause is in the message; what httpx raised has the request with it.
            raise error from None
        yield Pause(pause)


def backoff() -> Generator[float, None, None]:
    """Pauses, longer each time and not always alike."""
    pause = _FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() else 0.0


def problem(answer: Answer) -> ServiceError:
    """The exception for an answer that is an error."""
    try:
        said = answer.json()
        kind, detail = str(said["type"]).removeprefix("urn:cenote:problem:"), str(said["detail"])
    except (ServiceError, KeyError, TypeError):
        return malformed("is an error that says nothing", answer.status)
    return ServiceError(answer.status, kind, detail)


def encoded(body: Any) -> bytes:
    """JSON for a body; NumPy's arrays and decimals go as the service reads them."""
    try:
        return json.dumps(body, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot be written as JSON: {error}") from None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if type(value).__name__ == "Decimal":
        return format(value, "f")
    raise TypeError(f"{type(value).__name__} is no value of JSON; give the compiled program, and it is converted")


class Http:
    """How to reach a service: its address, the token, and the package that sends. The token shows nowhere."""

    def __init__(self, url: str, token: str, timeout: float, ca: str | os.PathLike[str] | None = None) -> None:
        self.url = _checked_url(url)
        self._verify = True if ca is None else _trusting(ca)
        if not isinstance(token, str) or not token or not all("!" <= c <= "~" for c in token):
            raise InputError("the token is empty or not as `cenote init` or `cenote token add` wrote it: one line, as cenote_...")
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < float("inf"):
            raise InputError(f"timeout={timeout!r}: give a positive number of seconds")
        self.timeout = float(timeout)
        self.httpx = _httpx()
        self._token = token

    def options(self, transport: Any) -> dict[str, Any]:
        """Arguments of both clients of httpx."""
        return {
            "base_url": self.url,
            "headers": {"Authorization": f"Bearer {self._token}", "User-Agent": f"cenote-python/{__version__}"},
            "transport": transport,
            "verify": self._verify,
            # Without TLS it is this machine: proxies of the environment are for the network outside, and would read the token.
            "trust_env": self.url.startswith("https:"),
        }

    def arguments(self, ask: Ask) -> dict[str, Any]:
        """Arguments of a request of httpx."""
        timeout = self.httpx.Timeout(ask.silence, connect=min(_CONNECT, ask.silence))
        return {
            "method": ask.method,
            "url": ask.path,
            "params": dict(ask.query),
            "content": ask.body,
            "headers": ask.headers(),
            "timeout": timeout,
        }

    def answer(self, response: Any) -> Answer:
        """What httpx received, wholly read."""
        headers = response.headers
        return Answer(response.status_code, headers.get("content-type", ""), response.content, headers.get("retry-after", ""))

    def head(self, response: Any) -> Answer:
        """The same of a stream, whose body is read line by line where it is no error."""
        body = b"" if response.status_code == 200 else response.content
        return Answer(response.status_code, response.headers.get("content-type", ""), body)

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What httpx raises where there is no answer."""
        return (self.httpx.TransportError, self.httpx.DecodingError)

    def lost(self, error: Exception) -> Lost:
        """What that means."""
        sent = not isinstance(error, (self.httpx.ConnectError, self.httpx.ConnectTimeout, self.httpx.PoolTimeout))
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        remedy = "" if sent else _remedy(error) or "; is `cenote serve` running, and is this its address ([api] listen)?"
        return Lost(f"{self.url} does not answer: {why}{remedy}", sent)


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment or parts.username)
        usable = usable and (parts.port is None or parts.port > 0)
    except (ValueError, AttributeError, TypeError):
        usable = False
    if not usable:
        raise InputError("the url is not that of a service: write it as http://127.0.0.1:7780, without user, query or fragment")
    if parts.scheme == "http" and not _is_local(parts.hostname or ""):
        raise PolicyError(
            f"{url}: without TLS the token could be read on its way: use https:// with ca=.., or a tunnel (ssh -L) to 127.0.0.1"
        )
    return url.rstrip("/")


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _trusting(ca: str | os.PathLike[str]) -> ssl.SSLContext:
    """Trusts the certificates of a file, and none besides."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A chain may end at a certificate of the file that another one signed.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cafile=os.fspath(ca))
    except ssl.SSLError as error:
        raise InputError(f"{os.fspath(ca)}: no certificate in PEM: {error.reason or error}") from None
    except OSError as error:
        raise InputError(f"{os.fspath(ca)}: {error.strerror}; give the API's certificate, or that of its authority") from None
    return context


def _remedy(error: BaseException | None) -> str:
    """What helps against a certificate that is not trusted."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return "; give its certificate, or that of its authority, as ca=.., and call it by a name of the certificate"
        error = error.__cause__ or error.__context__
    return ""


def _httpx() -> Any:
    try:
        return importlib.import_module("httpx")
    except ImportError:
        raise Error("the client of a service needs httpx: pip install 'cenote[client]', or httpx itself") from None
