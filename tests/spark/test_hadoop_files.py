"""HadoopFiles behave like LocalFiles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.errors import InvalidArgument
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake, LakeMoved, LakeNotFound
from headrace.lake.lock import LakeBusy, held
from headrace.spark.hadoop_files import HadoopFiles


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> HadoopFiles:
    return HadoopFiles(spark, f"file://{tmp_path}/a lake é")


def test_created_file_is_read_and_listed(files: HadoopFiles, tmp_path: Path) -> None:
    assert files.create("x/a/c.json", b"\0\xff")
    assert files.create("x/b", b"")
    assert files.read("x/a/c.json") == b"\0\xff"
    assert files.read("x/b") == b""
    with pytest.raises(FileNotFoundError):
        files.read("x/none")
    same = LocalFiles(tmp_path / "a lake é")
    assert [(each.path, each.size) for each in files.list("x")] == [
        ("x/a/c.json", 2),
        ("x/b", 0),
    ]
    assert files.list("nowhere") == []
    files.flush(["x/b"])
    files.delete("x")
    files.delete("nowhere")
    assert files.list("") == same.list("") == []


def test_one_of_many_writers_creates_the_file(files: HadoopFiles) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: files.create("same", b"%d" % n), range(24)))
    assert made.count(True) == 1
    assert files.read("same") == b"%d" % made.index(True)
    assert not files.create("same", b"late")
    assert [found.path for found in files.list("")] == ["same"]


def test_lake_works_on_hadoop_files(files: HadoopFiles, tmp_path: Path) -> None:
    with pytest.raises(LakeNotFound, match=r"file:///.*create one with headrace lake sync"):
        Lake.open(files)
    lake = Lake.create(files, "shop", [1])
    base = lake.snapshot()
    lake.commit(base, "a")
    with pytest.raises(LakeMoved):
        lake.commit(base, "b")
    assert Lake.open(LocalFiles(tmp_path / "a lake é")).snapshot() == lake.snapshot()
    with held(files, "sync"), pytest.raises(LakeBusy), held(files, "sync"):
        pass


def test_path_without_scheme_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgument, match="the path must have a scheme"):
        HadoopFiles(spark, "/data")
