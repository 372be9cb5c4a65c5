"""If the extra is missing, only telemetry fails, with an error that names the extra."""

from __future__ import annotations

import subprocess
import sys

# Simulates an interpreter without the packages of the extra.
WITHOUT = """
import sys

sys.modules["opentelemetry"] = sys.modules["prometheus_client"] = None
import headrace, headrace.app.app, headrace.worker.supervisor, headrace.testing.plugin
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_tasks_run_without_the_extra() -> None:
    said = run("""
app = headrace.App("shop")
@app.task()
def nothing() -> None: ...
from headrace.testing import private_server
with private_server() as url, app.bound_to(url):
    nothing.put()
    print([one.outcome for one in app.run_pending()])
""")
    assert said == "['completed']\n"


def test_telemetry_without_the_extra_names_the_missing_package() -> None:
    for code in (
        "import headrace.telemetry; headrace.telemetry.instrument(headrace.App('shop'))",
        "import headrace.telemetry; headrace.telemetry.ServerCollector",
        "from headrace.telemetry.worker_metrics import WorkerMetrics; WorkerMetrics(0, '::1')",
    ):
        assert "pip install 'headrace[telemetry]'" in run(code), code


def test_telemetry_is_not_imported_by_default() -> None:
    code = """
import sys, headrace.app.app, headrace.worker.supervisor, headrace.cli.main
print([name for name in sys.modules if name.startswith(("headrace.telemetry", "prometheus"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
