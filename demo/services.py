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


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Service:
    """The service of an issuer. Its table lies in a directory of its own, and goes nowhere."""

    def __init__(self, cenote, folder, name, peer, way):
        self.cenote, self.name, self.folder = cenote, name, folder / name
        self.api = f"127.0.0.1:{free_port()}"
        self.command("init", self.folder, "--name", name, "--peer", peer, *way, "--api", self.api)
        self.client = cn.Client.of(self.folder)
        self.process = None

    def command(self, *words):
        """What the command says."""
        done = subprocess.run([self.cenote, *map(str, words), "--json"], capture_output=True, text=True, check=False)
        said = json.loads(done.stdout or "{}")
        if done.returncode:
            raise SystemExit(f"cenote {' '.join(map(str, words))}: {said.get('error', done.stderr)}")
        return said

    def keep_ready(self, triples):
        """Writes how many triples are kept ready, as its owner would with an editor."""
        file = self.folder / "cenote.toml"
        file.write_text(re.sub(r"(?m)^# (small|large) = .*$", rf"\1 = {triples}", file.read_text()))

    def write_data(self, name, columns):
        with open(self.folder / "data" / f"{name}.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(columns)
            out.writerows(zip(*columns.values()))

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([self.cenote, "serve", self.folder], stderr=log)

    def wait_ready(self):
        end = time.monotonic() + READY
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the service {self.name} does not get ready:\n{(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def is_ready(self):
        try:
            return self.client.ready()
        except cn.ConnectionFailed:
            return False

    def kill(self):
        """SIGKILL: it is told nothing, and saves nothing."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(READY):
            raise SystemExit(f"the service {self.name} ended with code {self.process.returncode}")


def pair(cenote, folder):
    """Two services that have each other's certificate."""
    link = f"127.0.0.1:{free_port()}"
    a = Service(cenote, folder, "a", "b", ["--listen", link])
    b = Service(cenote, folder, "b", "a", ["--connect", link])
    for one, other in ((a, b), (b, a)):
        one.command("pair", one.folder, other.folder / "identity.crt.pem")
    return a, b
