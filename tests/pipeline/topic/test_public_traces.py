"""A real trace, compared with what pyarrow counts."""

from collections import Counter

import pyarrow.parquet as pq
import pytest
from tests.pipeline import traces

from fanwise.pipeline import ingest
from fanwise.pipeline.shared.readers import Trace


@pytest.mark.spark
@pytest.mark.data
def test_tweets_about_the_higgs_boson(spark, shared_data, tmp_path):
    folder = shared_data / "data" / "higgs_twitter"
    report = ingest(
        Trace(str(folder / "activity.parquet"), rename={"user": "topic", "ts": "timestamp"}),
        Trace(
            str(folder / "follows.parquet"), rename={"follower": "subscriber", "followee": "topic"}
        ),
        tmp_path / "out",
    )
    activity = pq.read_table(folder / "activity.parquet")
    rates = Counter(map(str, activity.column("user").to_pylist()))
    follows = pq.read_table(folder / "follows.parquet")
    pairs = {
        (str(who), str(whom))
        for who, whom in zip(
            follows.column("follower").to_pylist(),
            follows.column("followee").to_pylist(),
            strict=True,
        )
        if str(whom) in rates
    }
    found = traces.tables(tmp_path / "out")
    assert found["pairs"] == pairs
    followed = sorted({topic for _, topic in pairs})
    assert found["topics"] == [(topic, float(rates[topic]), 200.0) for topic in followed]
    assert found["subscribers"] == sorted({who for who, _ in pairs})
    assert report.publications.rows == len(activity)
    times = activity.column("ts").to_numpy()
    assert report.period_seconds == times.max() - times.min()
