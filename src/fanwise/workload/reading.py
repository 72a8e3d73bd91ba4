"""Workloads of either kind, by what their ``workload.json`` says they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.files import read_content_workload, write_content_workload
from fanwise.workload.files import local_path
from fanwise.workload.headers import CONTENT_FORMAT, read_json
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic import files as topic_files


def read_workload(path: str | Path) -> TopicWorkload | Any:
    """Read and check a workload: a :class:`TopicWorkload` or a :class:`ContentWorkload`.

    Parameters
    ----------
    path
        A folder with ``workload.json``, or its ``file:`` address.

    Raises
    ------
    WorkloadError
        In one line: which file, column and row break the format, and what is needed there.

    Examples
    --------
    >>> import tempfile
    >>> import fanwise as fw
    >>> folder = tempfile.mkdtemp() + "/friends"
    >>> fw.write_workload(fw.TopicWorkload.from_edges([("ann", "bob")]), folder)
    >>> fw.read_workload(folder)
    TopicWorkload(1 topics, 1 subscribers, 1 pairs, 86400 s)
    """
    folder = local_path(path)
    is_content = False
    if folder.is_dir():
        header = read_json(folder / "workload.json", "a workload")
        is_content = header.get("format") == CONTENT_FORMAT
    return read_content_workload(path) if is_content else topic_files.read_workload(path)


def write_workload(
    workload: TopicWorkload | ContentWorkload, path: str | Path, *, overwrite: bool = False
) -> None:
    """Write a workload of either kind so that the folder appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> import fanwise as fw
    >>> folder = tempfile.mkdtemp() + "/friends"
    >>> fw.write_workload(fw.TopicWorkload.from_edges([("ann", "bob")]), folder)
    """
    if isinstance(workload, ContentWorkload):
        write_content_workload(workload, path, overwrite=overwrite)
    else:
        topic_files.write_workload(workload, path, overwrite=overwrite)
