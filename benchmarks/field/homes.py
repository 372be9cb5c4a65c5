"""The environments of the rivals in benchmarks/.rivals: what is there, and how it gets there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PINS = ROOT / "benchmarks" / "rivals" / "requirements"
HOMES = ROOT / "benchmarks" / ".rivals"
OWN = sys.executable
PATIENCE = 600

# The oldest Python that a rival runs on, where ours may be older.
NEWER = {"ardiq": (3, 12)}


class CannotInstall(Exception):
    """A rival is not here, and could not be brought here; the message says why."""


def python(home: str) -> str:
    return str(HOMES / home / "bin" / "python")


def pins(home: str) -> Path:
    """The file that names the versions of an environment."""
    found = PINS / f"{home}.json"
    return found if found.exists() else PINS / f"{home}.txt"


def version(home: str) -> str:
    """The version of the rival that an environment is named for."""
    text = pins(home).read_text()
    if pins(home).suffix == ".json":
        return str(json.loads(text)["dependencies"][home])
    return re.search(rf"^{home}==(\S+)$", text, re.MULTILINE)[1]  # type: ignore[index]


def install(home: str) -> None:
    """Bring the pinned versions into benchmarks/.rivals, unless they are there."""
    wanted = pins(home)
    place = HOMES / home
    done = place / ".installed"
    if done.exists() and done.read_text() == wanted.read_text():
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if wanted.suffix == ".json":
        shutil.copy(wanted, place / "package.json")
        _run("npm", "install", "--prefix", str(place), "--no-package-lock", "--no-audit")
    else:
        _run(_interpreter(home), "-m", "venv", str(place))
        pip = ("-m", "pip", "install", "--disable-pip-version-check", "--no-deps")
        _run(python(home), *pip, "-r", str(wanted))
    done.write_text(wanted.read_text())


def _interpreter(home: str) -> str:
    """A Python that is new enough: our own, one on the path, one of pyenv's."""
    oldest = NEWER.get(home, (3, 11))
    if sys.version_info >= oldest:
        return OWN
    names = [f"python3.{minor}" for minor in range(oldest[1], oldest[1] + 4)]
    for candidate in (*names, *_of_pyenv(names)):
        if shutil.which(candidate) and _works(candidate):
            return candidate
    raise CannotInstall(f"it needs Python {oldest[0]}.{oldest[1]} or later, and none was found")


def _of_pyenv(names: list[str]) -> list[str]:
    if not shutil.which("pyenv"):
        return []
    root = subprocess.run(["pyenv", "root"], check=False, capture_output=True, text=True)  # noqa: S607 - wherever it is
    versions = Path(root.stdout.strip(), "versions")
    return [str(path) for name in names for path in sorted(versions.glob(f"*/bin/{name}"))]


def _works(interpreter: str) -> bool:
    """A name on the path may be a stand-in that finds no Python behind it."""
    tried = subprocess.run([interpreter, "-c", ""], check=False, capture_output=True)
    return tried.returncode == 0


def _run(*command: str) -> None:
    if not shutil.which(command[0]):
        raise CannotInstall(f"{command[0]} is not on this machine")
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise CannotInstall(f"{command[0]} took more than {PATIENCE} s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise CannotInstall(lines[-1])
