"""The files of a lake on any Hadoop file system, through the JVM of a Spark session."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace.errors import InvalidArgument
from headrace.lake.files import FileInfo, aside


class HadoopFiles:
    """Files below a URL such as hdfs://, abfss://, gs://, s3a:// or file:///.

    A file is written under a temporary name and then renamed. The rename fails if a file with the
    final name exists. On HDFS, and on ABFS with a hierarchical namespace, the rename is atomic, so
    only one of two writers succeeds. On file:///, an atomic hard link is used instead of a rename.
    On s3a:// and other object stores, a rename is a check followed by a copy, so two writers may
    both succeed. On such stores, only the locks of sync and compact prevent concurrent writers.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        if "://" not in root:
            raise InvalidArgument(f"the path must have a scheme, such as file:///data, not {root}")
        self._root = root.rstrip("/")
        jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no public access to the JVM
        self._jvm = jvm
        conf: Any = spark._jsc.hadoopConfiguration()  # noqa: SLF001
        top: Any = self._path("")
        self._top: str = top.toUri().getPath().rstrip("/")
        self._is_local = root.startswith("file:")
        # The raw file system does not write a checksum file for every file.
        self._system: Any = (
            self._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf).getRawFileSystem()
            if self._is_local
            else top.getFileSystem(conf)
        )

    @property
    def root(self) -> str:
        """The URL of the root folder, for Spark."""
        return self._root

    def __str__(self) -> str:
        return self._root

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._root}/{path}")

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError."""
        try:
            stream = self._system.open(self._path(path))
        except Py4JJavaError as error:
            if _is(error, "FileNotFoundException"):
                raise FileNotFoundError(path) from None
            raise
        with closing(stream):
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))

    def create(self, path: str, content: bytes) -> bool:
        """Create a file. If the file exists, return False and change nothing."""
        target, complete = self._path(path), self._path(aside())
        if self._system.exists(target):
            return False
        self._system.mkdirs(target.getParent())
        self._write(complete, content)
        # A rename would replace an existing file on a local file system.
        publish = self._link if self._is_local else self._system.rename
        try:
            return bool(publish(complete, target))
        except Py4JJavaError as error:
            if _is(error, "FileAlreadyExistsException"):
                return False
            raise
        finally:
            self._system.delete(complete, False)

    def _write(self, place: Any, content: bytes) -> None:
        with closing(self._system.create(place, False)) as stream:
            stream.write(content)
            stream.hsync()

    def _link(self, complete: Any, target: Any) -> bool:
        made, name = (
            self._jvm.java.io.File(each.toUri().getPath()).toPath() for each in (complete, target)
        )
        self._jvm.java.nio.file.Files.createLink(name, made)
        return True

    def flush(self, paths: Iterable[str]) -> None:
        """Do nothing, because the storage makes a file durable when the file is closed."""

    def list(self, folder: str) -> list[FileInfo]:
        """Return all files below a folder at any depth, sorted by path.

        The list is empty if the folder does not exist.
        """
        found: list[FileInfo] = []
        try:
            files = self._system.listFiles(self._path(folder), True)
            while files.hasNext():
                status = files.next()
                path = status.getPath().toUri().getPath().removeprefix(f"{self._top}/")
                found.append(FileInfo(path, status.getLen(), status.getModificationTime() / 1000))
        except Py4JJavaError as error:
            # Hadoop also raises this error if a subfolder is deleted during the listing.
            if not _is(error, "FileNotFoundException"):
                raise
        return sorted(found, key=lambda each: each.path)

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with its content. A missing file is not an error."""
        self._system.delete(self._path(path), True)


def _is(error: Py4JJavaError, name: str) -> bool:
    kind: str = error.java_exception.getClass().getSimpleName()
    return kind == name
