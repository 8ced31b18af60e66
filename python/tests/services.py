"""Two services of two owners on this machine, as processes of the command."""

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

import cenote as cn

ROOT = Path(__file__).parents[2]
#: Seconds in which two services find each other and fill their pools.
_READY = 120


def command():
    """The command: the checks build it and name it; without them it is where cargo puts it."""
    path = Path(os.environ.get("CENOTE_BIN") or ROOT / "target" / "debug" / "cenote")
    if not path.is_file():
        pytest.fail(f"{path} is missing: cargo build -p cenote-cli, or name the command in CENOTE_BIN")
    return str(path)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def cenote(*arguments):
    done = subprocess.run([command(), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Services:
    """Alice, who garbles, and Bob."""

    def __init__(self, folder):
        self.dirs = {"alice": folder / "alice", "bob": folder / "bob"}
        self._running = {}
        link = f"127.0.0.1:{free_port()}"
        for name, way in (("alice", "--listen"), ("bob", "--connect")):
            cenote("init", self.dirs[name], "--name", name, way, link, "--api", f"127.0.0.1:{free_port()}")
            file = self.dirs[name] / "cenote.toml"
            text = file.read_text()
            for key, value in (("small", 2000), ("large", 2000), ("small_ands", 1000)):
                text, changed = re.subn(rf"(?m)^# {key} = .*$", f"{key} = {value}", text)
                assert changed == 1, key
            file.write_text(text)
        for name, peer in (("alice", "bob"), ("bob", "alice")):
            cenote("pair", self.dirs[name], self.dirs[peer] / "identity.crt.pem")

    def start(self, name):
        with open(self.dirs[name] / "log", "ab") as log:
            self._running[name] = subprocess.Popen([command(), "serve", str(self.dirs[name])], stderr=log)

    def stop(self, name):
        process = self._running.pop(name)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, self.log(name)

    def log(self, name):
        return (self.dirs[name] / "log").read_text()

    def wait_ready(self):
        end = time.monotonic() + _READY
        for name in self._running:
            with cn.Client.of(self.dirs[name]) as client:
                while not self._is_ready(client):
                    assert time.monotonic() < end, self.log(name)
                    assert self._running[name].poll() is None, self.log(name)
                    time.sleep(0.1)

    @staticmethod
    def _is_ready(client):
        try:
            return client.ready()
        except cn.ConnectionFailed:
            return False

    def kill(self):
        for process in self._running.values():
            process.kill()
            process.wait()
