"""Paths and addresses that Spark reads and writes."""

from fanwise.pipeline.shared.store import input_uri, is_local


def test_addresses_and_globs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a[1].csv").write_text("")
    (tmp_path / "b.csv").write_text("")
    assert input_uri("a[1].csv") == f"file://{tmp_path}/a\\[1\\].csv"
    assert input_uri("b*.csv") == f"file://{tmp_path}/b*.csv"
    assert input_uri("s3a://bucket/b*.csv") == "s3a://bucket/b*.csv"
    assert input_uri("nowhere.csv") == "nowhere.csv"
    assert is_local("out")
    assert is_local(tmp_path)
    assert is_local("file:/out")
    assert not is_local("hdfs://host/out")
