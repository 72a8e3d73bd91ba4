"""Real servers for tests: PostgreSQL and Mosquitto on free loopback ports, each in its own folder.

Import the fixtures where they are needed: ``from tests.service.servers import mosquitto``.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

HINT = "apt-get install postgresql mosquitto"
PATIENCE = 60.0
_numbers = itertools.count(1)


def find_program(name: str) -> str:
    """Return the path of a server's program, also where Debian hides it; skip if it is missing."""
    folders = [os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]
    folders += sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        pytest.skip(f"{name} is not installed: {HINT}")
    return found


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when a server answers."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"the server ended: {log.read_text(errors='replace')[-2000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    pytest.fail(f"the server does not answer: {log.read_text(errors='replace')[-2000:]}")


def _other_user() -> list[str]:
    """Return how to run a program that refuses root as somebody else."""
    if os.getuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv is not installed: apt-get install util-linux")
    return [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]


class Postgres:
    """A PostgreSQL server that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self._as_other = _other_user()
        if self._as_other:
            os.chown(folder, 65534, 65534)
        self._data, self._log = folder / "data", folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        made = subprocess.run(
            [*self._as_other, find_program("initdb"), "--pgdata", str(self._data), "--no-sync",
             "--username=fanwise", "--auth=trust", "--encoding=UTF8", "--locale=C"],
            cwd=folder, capture_output=True, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr.decode(errors="replace")

    def start(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "fsync": "off",
            "shared_buffers": "16MB",
            "max_connections": "60",
        }
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._as_other, find_program("postgres"), "-D", str(self._data), *options],
                cwd=self.folder, stdout=log, stderr=log,
            )  # fmt: skip
        wait_for_port(self.port, self._process, self._log)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._connect().close()
                return
            except psycopg.OperationalError:  # still starting up
                assert time.monotonic() < end
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop at once, whatever is going on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=PATIENCE)
            self._process = None

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="fanwise", dbname="postgres", autocommit=True
        )

    def new_database(self) -> str:
        """Return the address of an empty database: a schema of its own, which is made at once."""
        name = f"test_{os.getpid()}_{next(_numbers)}"
        with self._connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        place = f"fanwise@127.0.0.1:{self.port}/postgres"
        return f"postgresql://{place}?options=-csearch_path%3D{name}"


class Mosquitto:
    """A Mosquitto broker that can be stopped and started again.

    Parameters
    ----------
    settings
        More lines for its configuration.
    """

    def __init__(self, folder: Path, settings: str = "") -> None:
        self.folder, self.port = folder, free_port()
        self.program = find_program("mosquitto")
        self._log = folder / "log"
        self._configuration = folder / "mosquitto.conf"
        self._configuration.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
            f"persistence_location {folder}/\nuser {'root' if os.getuid() == 0 else 'nobody'}\n"
            f"{settings}\n"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self.program, "-c", str(self._configuration)], stdout=log, stderr=log
            )
        wait_for_port(self.port, self._process, self._log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=PATIENCE)
            self._process = None

    def kill(self) -> None:
        """End it at once: what it had in memory alone is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=PATIENCE)
            self._process = None


def new_folder() -> Path:
    # Not pytest's: other users may not enter it, and names of sockets are short.
    folder = Path(tempfile.mkdtemp(prefix="fanwise-server-"))
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for all tests; a test that stops it starts it again."""
    find_program("initdb")
    folder = new_folder()
    server = Postgres(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def mosquitto() -> Iterator[Mosquitto]:
    """A broker for one test, without a past."""
    find_program("mosquitto")
    folder = new_folder()
    server = Mosquitto(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class TlsMosquitto(Mosquitto):
    """A broker that speaks TLS alone, with a certificate that can be replaced while it is stopped.

    Parameters
    ----------
    certificate, key
        Files; they are copied.
    """

    def __init__(self, folder: Path, certificate: Path, key: Path) -> None:
        super().__init__(folder, f"certfile {folder}/server.pem\nkeyfile {folder}/server.key")
        self.use(certificate, key)

    def use(self, certificate: Path, key: Path) -> None:
        """Serve with another certificate from the next start on."""
        shutil.copyfile(certificate, self.folder / "server.pem")
        shutil.copyfile(key, self.folder / "server.key")


@pytest.fixture
def tls_mosquitto() -> Iterator[Callable[[Path, Path], TlsMosquitto]]:
    """Start brokers that speak TLS with a certificate and its key."""
    find_program("mosquitto")
    started = []

    def start(certificate: Path, key: Path) -> TlsMosquitto:
        started.append(TlsMosquitto(new_folder(), certificate, key))
        started[-1].start()
        return started[-1]

    yield start
    for server in started:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request, tmp_path) -> str:
    """The address of an empty store, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.sqlite"
    return request.getfixturevalue("postgres").new_database()
