"""The log file of Spark in the directory for temporary files, to which other users can write."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.cli.lake import spark_session as module
from headrace.cli.lake.spark_session import SparkFailed, spark_session


def failing_session() -> SparkSession:
    os.write(1, b"output of Spark\n")
    raise PySparkException("Spark is broken")


def test_log_follows_no_link_and_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(module, "session", failing_session)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f"headrace-spark-{os.getpid()}.log").symlink_to(victim)

    with pytest.raises(SparkFailed, match="Spark is broken") as failed, spark_session():
        pass

    assert victim.read_text() == "precious"
    assert "output of Spark" not in capfd.readouterr().out
    log = Path(str(failed.value).partition("(log: ")[2].removesuffix(")"))
    assert log.read_text() == "output of Spark\n"
    assert stat.S_IMODE(log.lstat().st_mode) == 0o600
