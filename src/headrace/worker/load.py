"""From "module:app" to the app."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from headrace.app.app import App
from headrace.errors import InvalidArgument


def load_app(path: str) -> App:
    """The app that a path names, such as shop.tasks:app; the directory we are in is looked in."""
    module_name, colon, attribute = path.partition(":")
    if not module_name or (colon and not attribute):
        raise InvalidArgument(f"{path!r} names no app; write module:app, such as shop.tasks:app")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise InvalidArgument(
            f"there is no module {error.name!r} here ({here}) nor among the installed ones"
        ) from None
    apps = {name: value for name, value in vars(module).items() if isinstance(value, App)}
    if not colon and len(apps) == 1:
        return next(iter(apps.values()))
    if attribute in apps:
        return apps[attribute]
    found = ", ".join(f"{module_name}:{name}" for name in sorted(apps)) or "none"
    raise InvalidArgument(f"{path!r} is no App; in {module_name} there are: {found}")
