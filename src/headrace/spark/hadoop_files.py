"""Files of a lake wherever Hadoop's file systems reach, through the JVM of a Spark session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace.errors import InvalidArgument
from headrace.lake.files import Found, aside


class HadoopFiles:
    """Files below a path with a scheme: hdfs://, abfss://, gs://, s3a://, file:/// and others.

    A file is written aside and then renamed, which fails if the name is taken. On HDFS and on ABFS
    with a hierarchical namespace that is one step, so that of two writers one succeeds; on file:///
    it is a hard link, which is one step too. On s3a:// and other stores of objects a rename is a
    look and then a copy: two writers in the same moment may both succeed, and only the locks of
    sync and compact keep them apart.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        if "://" not in root:
            raise InvalidArgument(
                f"a path with a scheme is meant, such as file:///data, not {root}"
            )
        self._root = root.rstrip("/")
        jvm: Any = spark._jvm  # noqa: SLF001 - there is no other way to it
        self._jvm = jvm
        conf: Any = spark._jsc.hadoopConfiguration()  # noqa: SLF001
        top: Any = self._path("")
        self._top: str = top.toUri().getPath().rstrip("/")
        self._is_local = root.startswith("file:")
        # Not the one that writes a file of checksums beside every file.
        self._system: Any = (
            self._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf).getRawFileSystem()
            if self._is_local
            else top.getFileSystem(conf)
        )

    @property
    def root(self) -> str:
        """The path, as it was given."""
        return self._root

    def __str__(self) -> str:
        return self._root

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._root}/{path}")

    def read(self, path: str) -> bytes:
        """What a file holds; raises FileNotFoundError."""
        try:
            stream = self._system.open(self._path(path))
        except Py4JJavaError as error:
            if _is(error, "FileNotFoundException"):
                raise FileNotFoundError(path) from None
            raise
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def create(self, path: str, content: bytes) -> bool:
        """Makes a file, whole or not at all; False if there is one, which stays as it is."""
        target, complete = self._path(path), self._path(aside())
        if self._system.exists(target):
            return False
        self._system.mkdirs(target.getParent())
        self._write(complete, content)
        try:
            return (
                self._link(complete, target) if self._is_local else self._rename(complete, target)
            )
        finally:
            self._system.delete(complete, False)

    def _write(self, place: Any, content: bytes) -> None:
        stream = self._system.create(place, False)
        try:
            stream.write(content)
            stream.hsync()
        finally:
            stream.close()

    def _rename(self, complete: Any, target: Any) -> bool:
        try:
            return bool(self._system.rename(complete, target))
        except Py4JJavaError as error:
            if _is(error, "FileAlreadyExistsException"):
                return False
            raise

    def _link(self, complete: Any, target: Any) -> bool:
        # A rename on this machine takes the place of what is there.
        nio = self._jvm.java.nio.file
        made, name = (
            self._jvm.java.io.File(each.toUri().getPath()).toPath() for each in (complete, target)
        )
        try:
            nio.Files.createLink(name, made)
        except Py4JJavaError as error:
            if _is(error, "FileAlreadyExistsException"):
                return False
            raise
        return True

    def flush(self, paths: Iterable[str]) -> None:
        """Nothing: a file that was closed is kept there as safely as the store keeps files."""

    def list(self, folder: str) -> list[Found]:
        """All files below a folder, at any depth, by path; none if there is no such folder."""
        found: list[Found] = []
        try:
            files = self._system.listFiles(self._path(folder), True)
            while files.hasNext():
                status = files.next()
                path = status.getPath().toUri().getPath().removeprefix(f"{self._top}/")
                found.append(Found(path, status.getLen(), status.getModificationTime() / 1000))
        except Py4JJavaError as error:
            # Or a folder below it went while it was read.
            if not _is(error, "FileNotFoundException"):
                raise
        return sorted(found, key=lambda each: each.path)

    def delete(self, path: str) -> None:
        """Removes a file, or a folder with all that is in it; fine if there is none."""
        self._system.delete(self._path(path), True)


def _is(error: Py4JJavaError, name: str) -> bool:
    kind: str = error.java_exception.getClass().getSimpleName()
    return kind == name
