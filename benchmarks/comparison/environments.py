"""The environments of the competitors in benchmarks/.competitors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PINS = ROOT / "benchmarks" / "competitors" / "requirements"
ENVIRONMENTS = ROOT / "benchmarks" / ".competitors"
OWN_PYTHON = sys.executable
TIMEOUT = 600

# The minimum Python version of each competitor that needs a newer Python than Headrace.
MINIMUM_PYTHON = {"ardiq": (3, 12)}


class InstallError(Exception):
    """A competitor could not be installed; the message gives the reason."""


def python(name: str) -> str:
    return str(ENVIRONMENTS / name / "bin" / "python")


def pins(name: str) -> Path:
    """Return the file with the pinned versions of an environment."""
    found = PINS / f"{name}.json"
    return found if found.exists() else PINS / f"{name}.txt"


def version(name: str) -> str:
    """Return the version of the competitor that gives the environment its name."""
    text = pins(name).read_text()
    if pins(name).suffix == ".json":
        return str(json.loads(text)["dependencies"][name])
    return re.search(rf"^{name}==(\S+)$", text, re.MULTILINE)[1]  # type: ignore[index]


def install(name: str) -> None:
    """Install the pinned versions into benchmarks/.competitors, if they are missing."""
    wanted = pins(name)
    place = ENVIRONMENTS / name
    done = place / ".installed"
    if done.exists() and done.read_text() == wanted.read_text():
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if wanted.suffix == ".json":
        shutil.copy(wanted, place / "package.json")
        _run("npm", "install", "--prefix", str(place), "--no-package-lock", "--no-audit")
    else:
        _run(_interpreter(name), "-m", "venv", str(place))
        pip = ("-m", "pip", "install", "--disable-pip-version-check", "--no-deps")
        _run(python(name), *pip, "-r", str(wanted))
    done.write_text(wanted.read_text())


def _interpreter(name: str) -> str:
    """Return a Python that is new enough: our own, one on the path, or one of pyenv."""
    oldest = MINIMUM_PYTHON.get(name, (3, 11))
    if sys.version_info >= oldest:
        return OWN_PYTHON
    names = [f"python3.{minor}" for minor in range(oldest[1], oldest[1] + 4)]
    for candidate in (*names, *_of_pyenv(names)):
        if shutil.which(candidate) and _works(candidate):
            return candidate
    raise InstallError(f"needs Python {oldest[0]}.{oldest[1]} or later, which was not found")


def _of_pyenv(names: list[str]) -> list[str]:
    if not shutil.which("pyenv"):
        return []
    root = subprocess.run(["pyenv", "root"], check=False, capture_output=True, text=True)  # noqa: S607 - wherever it is
    versions = Path(root.stdout.strip(), "versions")
    return [str(path) for name in names for path in sorted(versions.glob(f"*/bin/{name}"))]


def _works(interpreter: str) -> bool:
    """Return whether an interpreter starts; a pyenv shim exists even without its Python."""
    tried = subprocess.run([interpreter, "-c", ""], check=False, capture_output=True)
    return tried.returncode == 0


def _run(*command: str) -> None:
    if not shutil.which(command[0]):
        raise InstallError(f"{command[0]} is not installed")
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise InstallError(f"{command[0]} took more than {TIMEOUT} s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise InstallError(lines[-1])
