"""A service of one issuer: a directory, a process of `cenote serve`, and a client of its API."""

import csv
import json
import re
import signal
import socket
import subprocess
import time

import cenote as cn

#: Seconds in which two services find each other and make their pools, on a machine that is busy.
READY = 300


class Service:
    """The service of an issuer, whose table lies in its own directory."""

    def __init__(self, cenote, folder, name, peer, *way):
        self.cenote, self.name, self.folder, self.process = cenote, name, folder / name, None
        self.api = f"127.0.0.1:{free_port()}"
        self.command("init", self.folder, "--name", name, "--peer", peer, *way, "--api", self.api)
        self.client = cn.Client.of(self.folder)

    def command(self, *words):
        """What the command says."""
        done = subprocess.run([self.cenote, *words, "--json"], capture_output=True, text=True, check=False)
        said = json.loads(done.stdout or "{}")
        if done.returncode:
            raise SystemExit(f"cenote {' '.join(map(str, words))}: {said.get('error', done.stderr)}")
        return said

    def keep_ready(self, triples):
        """Writes how many triples are kept ready, as its owner would with an editor."""
        file = self.folder / "cenote.toml"
        file.write_text(re.sub(r"(?m)^# (small|large) = .*$", rf"\1 = {triples}", file.read_text()))

    def bind(self, name, columns, key=None):
        """Writes a table of whole numbers into the directory of data sets, and binds it."""
        with open(self.folder / "data" / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([columns, *zip(*columns.values())])
        schema = [{"name": column, "kind": "integer", "unique": column == key} for column in columns]
        return self.client.bind(name, f"data/{name}.csv", {"columns": schema})

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([self.cenote, "serve", self.folder], stderr=log)

    def wait_ready(self):
        end = time.monotonic() + READY
        while True:
            try:
                if self.client.ready():
                    return
            except cn.ConnectionFailed:
                pass  # Its API comes last.
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the service {self.name} does not get ready:\n{(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def kill(self):
        """SIGKILL: it is told nothing, and saves nothing."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(READY):
            raise SystemExit(f"the service {self.name} ended with code {self.process.returncode}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def pair(cenote, folder):
    """Two services that have each other's certificate."""
    link = f"127.0.0.1:{free_port()}"
    a, b = Service(cenote, folder, "a", "b", "--listen", link), Service(cenote, folder, "b", "a", "--connect", link)
    for one, other in ((a, b), (b, a)):
        one.command("pair", one.folder, other.folder / "identity.crt.pem")
    return a, b
