from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.spark.session import JavaNotFound, is_recent, use_java


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Simulate a machine without Java."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))


def test_session_runs_a_query(spark: SparkSession) -> None:
    assert spark.range(10).selectExpr("sum(id) as total").collect()[0]["total"] == 45


@pytest.mark.usefixtures("no_java")
def test_embedded_java_is_used_without_installed_java(tmp_path: Path) -> None:
    home = use_java(tmp_path / "own")
    assert os.environ["JAVA_HOME"] == home == use_java(tmp_path / "own")
    assert is_recent(home)
    # The launcher drops the module that this Java lacks, and passes the other arguments on.
    words = ["--add-modules=jdk.incubator.vector", "-Da=b c", "-XshowSettings:properties"]
    said = subprocess.run(
        [f"{home}/bin/java", *words, "-version"], capture_output=True, text=True, check=True
    ).stderr
    assert 'version "21' in said
    assert "a = b c" in said


@pytest.mark.usefixtures("no_java")
def test_launcher_writable_by_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path)
    for place in ("shared", "link"):
        with pytest.raises(JavaNotFound, match="only you can write to"):
            use_java(tmp_path / place)


def test_old_java_is_not_used(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    for version, recent in (("1.8.0_392", False), ("11.0.2", False), ("17.0.9", True)):
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        program.chmod(0o755)
        assert is_recent(str(tmp_path)) is recent
    assert not is_recent(str(tmp_path / "nowhere"))


def test_missing_pyspark_names_the_extra() -> None:
    program = "import sys; sys.modules['pyspark'] = None; import headrace.spark"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "pip install 'headrace[spark]'" in said.stderr.splitlines()[-1]


SESSION = """
import sys
from headrace.spark import session
spark = session("local[1]")
assert spark.range(10).selectExpr("sum(id) as total").collect()[0]["total"] == 45
assert spark.sparkContext._jvm.System.getProperty("java.version").startswith("21")
spark.stop()
"""


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("no_java")
def test_spark_runs_on_embedded_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    # Spark's scripts need a shell and its tools.
    for tool in ("bash", "sh", "dirname", "ps", "cat", "uname", "nice", "env", "rm"):
        for folder in ("/bin", "/usr/bin"):
            if Path(folder, tool).exists() and not (tmp_path / tool).exists():
                (tmp_path / tool).symlink_to(Path(folder, tool))
    subprocess.run([sys.executable, "-c", SESSION], check=True, timeout=280)
