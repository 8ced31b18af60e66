"""Where a service of this machine is reached, whom it trusts there, and with which token: read from its directory."""

from __future__ import annotations

import importlib
import os
import stat
from pathlib import Path
from typing import Any

from ._errors import Error, InputError, PolicyError

#: The address where the configuration has none.
DEFAULT_LISTEN = "127.0.0.1:7780"
#: Largest file of a token, in bytes.
_MOST = 4096


def place(directory: str | os.PathLike[str]) -> tuple[str, str, Path | None]:
    """URL and token of the service in a directory that ``cenote init`` made, and the file of certificates to trust."""
    folder = Path(directory)
    url, ca = _address(folder / "cenote.toml")
    return url, _token(folder / "token"), None if ca is None else folder / ca


def _address(file: Path) -> tuple[str, str | None]:
    api = _api(file)
    certificate, ca, url = (_text(file, api, key) for key in ("certificate", "ca", "url"))
    trusted = None if certificate is None else ca or certificate
    if url is not None:
        return url, trusted
    listen = api.get("listen", DEFAULT_LISTEN)
    host, _, port = listen.rpartition(":") if isinstance(listen, str) else ("", "", "")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 1 << 16:
        raise InputError(f"{file}: [api] listen is no address with a port, as {DEFAULT_LISTEN}")
    # An address of all interfaces is reached on this machine.
    host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
    return f"{'http' if certificate is None else 'https'}://{host}:{port}", trusted


def _api(file: Path) -> dict[str, Any]:
    toml = _toml()
    try:
        config = toml.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}; `cenote init DIR --listen ..` or `--connect ..` makes a service") from None
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None
    api = config.get("api", {})
    return api if isinstance(api, dict) else {"listen": None}


def _text(file: Path, api: dict[str, Any], key: str) -> str | None:
    value = api.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{file}: [api] {key} is no text")
    return value


def _token(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise PolicyError(f"{file}: others may read this token: chmod 600 it, and make a new one if they could have")
            data = opened.read(_MOST + 1)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}; give the token yourself, as in cn.Client(url, token)") from None
    try:
        token = data.decode("ascii").strip()
    except UnicodeDecodeError:
        token = ""
    if not token or len(data) > _MOST:
        raise InputError(f"{file}: this is no token; `cenote token add` makes one")
    return token


def _toml() -> Any:
    for name in ("tomllib", "tomli"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise Error("reading cenote.toml needs tomli before Python 3.11: pip install 'cenote[client]', or tomli itself")
