"""The client over TLS, with a service that runs: whom it trusts, and that a token goes nowhere in the clear."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import time

import pytest
from services import cenote, command, free_port

import cenote as cn


class Service:
    """A service whose API has TLS, and whose peer never comes."""

    def __init__(self, folder):
        self.dir, self.port = folder / "alice", free_port()
        cenote("init", folder / "bob")
        api = ("--api", f"0.0.0.0:{self.port}", "--api-name", "alice.example")
        cenote("init", self.dir, "--name", "alice", "--listen", "127.0.0.1:0", *api)
        cenote("pair", self.dir, folder / "bob" / "identity.crt.pem")
        self.url = f"https://127.0.0.1:{self.port}"
        self.ca = self.dir / "api.crt.pem"
        self.token = (self.dir / "token").read_text().strip()
        with open(self.dir / "log", "ab") as log:
            self._process = subprocess.Popen([command(), "serve", str(self.dir)], stderr=log)

    def wait(self):
        end = time.monotonic() + 60
        while True:
            try:
                with cn.Client.of(self.dir, timeout=5) as client:
                    return client.status()
            except cn.ConnectionFailed:
                assert time.monotonic() < end, (self.dir / "log").read_text()

    def stop(self):
        self._process.terminate()
        assert self._process.wait(60) == 0


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    one = Service(tmp_path_factory.mktemp("tls"))
    try:
        one.wait()
        yield one
    finally:
        one.stop()


def test_it_is_reached_by_its_directory_and_by_its_certificate(service):
    with cn.Client.of(service.dir) as client:
        assert client.status().name == "alice"
        assert repr(client) == f"<client of {service.url}>"
    for host in ("localhost", "127.0.0.1"):
        with cn.Client(f"https://{host}:{service.port}", service.token, ca=service.ca) as client:
            assert client.status().name == "alice"

    async def asked():
        async with cn.AsyncClient(service.url, service.token, ca=str(service.ca)) as client:
            return await client.status()

    assert asyncio.run(asked()).name == "alice"


def test_a_certificate_that_is_not_trusted_ends_it_with_the_remedy(service, tmp_path):
    cenote("init", tmp_path / "m", "--listen", "127.0.0.1:0", "--api-name", "alice.example")
    for ca in (tmp_path / "m" / "api.crt.pem", None):
        with cn.Client(service.url, service.token, ca=ca, timeout=1) as client, pytest.raises(cn.ConnectionFailed, match=r"as ca=\.\."):
            client.status()


def test_certificates_are_fit_for_strict_clients(service):
    context = ssl.create_default_context(cafile=service.ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        socket.create_connection(("127.0.0.1", service.port), timeout=10) as tcp,
        context.wrap_socket(tcp, server_hostname="alice.example") as tls,
    ):
        assert tls.version() == "TLSv1.3"
    with (
        socket.create_connection(("127.0.0.1", service.port), timeout=10) as tcp,
        pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"),
    ):
        context.wrap_socket(tcp, server_hostname="mallory.example")


@pytest.mark.parametrize("url", ["http://alice.example:7780", "http://192.0.2.1", "http://0.0.0.0:7780", "http://[2001:db8::1]:1"])
def test_a_token_goes_to_no_other_machine_in_the_clear(url):
    with pytest.raises(cn.PolicyError, match=r"without TLS .* use https://"):
        cn.Client(url, "cenote_x")


def test_files_to_trust_that_cannot_be_used_are_named(service, tmp_path):
    with pytest.raises(cn.InputError, match=r"none\.pem: No such file"):
        cn.Client(service.url, "cenote_x", ca=tmp_path / "none.pem")
    (tmp_path / "empty.pem").write_text("")
    with pytest.raises(cn.InputError, match=r"empty\.pem: no certificate in PEM"):
        cn.Client(service.url, "cenote_x", ca=tmp_path / "empty.pem")
    for key in ("certificate", "ca", "url"):
        (tmp_path / "cenote.toml").write_text(f"[api]\n{key} = 3\n")
        with pytest.raises(cn.InputError, match=f"{key} is no text"):
            cn.Client.of(tmp_path)


def test_a_new_certificate_is_taken_while_it_runs(service, tmp_path):
    before = shutil.copy(service.ca, tmp_path / "before.pem")
    cenote("certificate", service.dir, "--name", "alice.example")
    with cn.Client.of(service.dir) as client:
        assert client.status().name == "alice"
    with cn.Client(service.url, service.token, ca=before, timeout=1) as client, pytest.raises(cn.ConnectionFailed):
        client.status()
