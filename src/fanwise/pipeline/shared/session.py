"""Starts Spark so that it keeps quiet and fits a laptop, or uses the session that is there."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

from fanwise.errors import FanwiseError, InputError, MissingDependencyError, ParameterError
from fanwise.pipeline.shared.java import find_java
from fanwise.pipeline.shared.shipping import is_single_machine, ship_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Set for the time of our own jobs, also in a session that the user started.
JOB_SETTINGS = {
    # Timestamps without a zone mean UTC, whatever the machine's own zone is.
    "spark.sql.session.timeZone": "UTC",
}
HEAP_GIB = 3
_DEEP_STACK = "-Xss8m"
"""Deep plans overflow the default stack now and then, and so does stopping a stream."""
LIGHT = {
    "spark.driver.extraJavaOptions": f"{_DEEP_STACK} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
}
"""For work that is over before Java's thorough compiler, or code made for each query, pays."""


@contextmanager
def spark_session(
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    active: SparkSession | None = None,
) -> Iterator[SparkSession]:
    """Yield the active Spark session, else start one and stop it at the end.

    Parameters
    ----------
    master
        As Spark writes it; default: all cores of this machine. Has no effect on a session that
        runs already.
    conf
        Spark settings on top of ours. In a session that runs already only those that can change at
        run time, and only for the time of the block.
    active
        The session that runs already, where another thread than its own asks.
    """
    session = active or active_session()
    if session is not None:
        _refuse_connect(session)
        ship_package(session)
        with settings(session, {**JOB_SETTINGS, **(conf or {})}):
            yield session
        return
    session = start(master, conf)
    try:
        ship_package(session)
        yield session
    finally:
        session.stop()


def active_session() -> SparkSession | None:
    """Return the session that runs in this thread, if one does."""
    session: SparkSession | None = import_pyspark().SparkSession.getActiveSession()
    return session


def check_spark() -> str:
    """Start Spark, run a small job with a shuffle, and tell what ran it."""
    with spark_session() as session:
        with translated_errors("Spark"):
            counted = session.range(1000).groupBy("id").count().count()
        if counted != 1000:
            raise InputError(f"Spark counted {counted} groups of 1000; reinstall PySpark.")
        java = session._jvm.java.lang.System.getProperty("java.version")
        return f"Spark {session.version} on Java {java}, {session.sparkContext.master}"


def _refuse_connect(session: Any) -> None:
    """Refuse a session of Spark Connect, which knows neither RDDs nor broadcast variables."""
    if "connect" in type(session).__module__.split("."):
        raise InputError(
            "the session is one of Spark Connect, which lacks what this needs (Hadoop's file "
            "systems, broadcast variables); use a classic session, or none and --master."
        )


def import_pyspark() -> Any:
    """Return ``pyspark.sql``, or say how to get it."""
    try:
        import pyspark.sql
    except ImportError as error:
        raise MissingDependencyError(
            f"this needs PySpark, which cannot be imported ({error}); pip install 'fanwise[spark]'."
        ) from None
    return pyspark.sql


def start(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Start a session; see :func:`spark_session`."""
    pyspark_sql = import_pyspark()
    from pyspark import SparkConf, SparkContext

    given = {**_configured(), **(conf or {})}
    master = master or given.get("spark.master") or f"local[{_num_cores()}]"
    if master.startswith("sc:"):
        raise InputError(
            f"{master}: is Spark Connect, which lacks what this needs (Hadoop's file systems, "
            "broadcast variables); give the cluster itself as --master, or use spark-submit."
        )
    chosen = {**_defaults(is_single_machine(master)), **given, "spark.master": master}
    spark_conf = SparkConf(loadDefaults=False)
    for key, value in chosen.items():
        spark_conf.set(key, value)
    # By default Spark starts workers with this interpreter, so that they have our packages.
    if "spark.pyspark.python" in given:
        os.environ["PYSPARK_PYTHON"] = given["spark.pyspark.python"]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if SparkContext._gateway is None:
        _launch(spark_conf)
    try:
        session: SparkSession = pyspark_sql.SparkSession.builder.config(
            conf=spark_conf
        ).getOrCreate()
    except Exception as error:
        raise InputError(f"Spark does not start: {reason(error)}") from None
    _silence(session)
    return session


def _configured() -> dict[str, str]:
    """Return what is set outside: by ``spark-submit`` that started us, or ``spark-defaults.conf``.

    A JVM that ``spark-submit`` started knows its options and that file alike.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        jvm: Any = SparkContext._jvm
        return dict(SparkConf(loadDefaults=True, _jvm=jvm).getAll())
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (os.path.join(home, "conf") if home else None)
    return read_defaults(os.path.join(folder, "spark-defaults.conf")) if folder else {}


def read_defaults(file: str) -> dict[str, str]:
    """Read ``spark-defaults.conf``: a name and a value on each line, ``#`` before remarks."""
    try:
        with open(file, encoding="utf-8") as lines:
            stripped = [line.strip() for line in lines]
    except OSError:
        return {}
    pairs = (re.split(r"\s*=\s*|\s+", line, maxsplit=1) for line in stripped)
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[0].startswith("spark.")}


def _silence(session: SparkSession) -> None:
    """Errors reach the caller as exceptions; the log would only say them again, at length."""
    from pyspark.logger import PySparkLogger

    session.sparkContext.setLogLevel("OFF")
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True


def _defaults(is_local: bool) -> dict[str, str]:
    defaults = {
        **JOB_SETTINGS,
        "spark.app.name": "fanwise",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": _DEEP_STACK,
        "spark.sql.warehouse.dir": os.path.join(tempfile.gettempdir(), "fanwise-spark-warehouse"),
    }
    if is_local:
        defaults |= {
            "spark.driver.memory": _heap(),
            # Works without a network and with a host name that resolves to nothing.
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Adaptive execution merges small ones; many more than cores only costs task starts.
            "spark.sql.shuffle.partitions": str(max(16, 4 * _num_cores())),
        }
    return defaults


def _num_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def _heap() -> str:
    """Half of the memory, at most 3 GiB: with Java's own needs that stays below 4."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return f"{HEAP_GIB}g"
    return f"{max(512, min(HEAP_GIB * 1024, memory // 2**21))}m"


def _launch(conf: Any) -> None:
    """Start the JVM with its output in a file, so that nothing of it reaches the terminal."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    java = find_java()
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(java.home)
    try:
        with tempfile.TemporaryFile() as log:
            try:
                gateway = launch_gateway(conf, popen_kwargs={"stdout": log, "stderr": log})
            except Exception as error:
                raise InputError(
                    f"Spark does not start on Java {java.version} in {java.home}: "
                    f"{_first_words(log) or reason(error)}"
                ) from None
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before


def _first_words(log: IO[bytes]) -> str:
    """Return what a JVM that did not start says first, without warnings and stack traces."""
    log.seek(0)
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
    telling = [line for line in lines if line and not line.startswith(("WARNING", "at ", "Using "))]
    return " ".join(telling[:2])


@contextmanager
def settings(session: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Set run-time settings for a while."""
    before = {}
    for key, value in wanted.items():
        if not session.conf.isModifiable(key):
            continue
        before[key] = session.conf.get(key, None)
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)


def parse_settings(pairs: list[str] | None) -> dict[str, str]:
    """Read ``key=value`` options."""
    result = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ParameterError("conf", "KEY=VALUE, as in spark.executor.memory=8g", pair)
        result[key.strip()] = value
    return result


@contextmanager
def translated_errors(place: str) -> Iterator[None]:
    """Turn what Spark raises into one line that says what went wrong in ``place``."""
    try:
        yield
    except FanwiseError:
        raise
    except Exception as error:
        if not _is_sparks(error):
            raise
        text = reason(error)
        name = place.rstrip("/").rsplit("/", 1)[-1]
        raise InputError(f"{place}: {text.removeprefix(f'{name}: ')}") from error


def _is_sparks(error: BaseException) -> bool:
    return type(error).__module__.split(".")[0] in ("pyspark", "py4j")


def reason(error: BaseException) -> str:
    """Return the first line of the innermost cause, after the file where Spark names one."""
    messages = [str(error)]
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None and len(messages) < 20:
        messages.append(cause.getMessage() or "")
        cause = cause.getCause()
    telling = [text for text in messages if text.strip() and not text.startswith("Job aborted")]
    lines = (telling[-1] if telling else "").strip().splitlines() or [type(error).__name__]
    line = re.sub(r"^\[[A-Z_.0-9]+\]\s*|\s*SQLSTATE: \w+$", "", lines[0])
    if len(lines) > 1 and lines[0].endswith("."):  # what does not fit what follows below
        line = " ".join([line, *(text.strip() for text in lines[1:])])
    file = next(iter(re.findall(r"reading file (\S+?)\.? ", " ".join(messages))), None)
    name = unquote(file).rsplit("/", 1)[-1] if file else ""
    return f"{name}: {line}" if name and name not in line else line
