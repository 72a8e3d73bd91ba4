"""What the test of the cluster submits: both ingests, a sample, and both engines, one session.

Run by spark-submit with a folder of traces. Between the rounds of select and its bound it says that
it is ready in a file, and waits for another one: then a worker is gone, with the blocks it kept.
"""

import json
import sys
import time
from pathlib import Path

import fanwise as fw
from fanwise.distributed import provision, select, select_bounds
from fanwise.pipeline import ContentOptions, ContentSources, ingest, ingest_content, sample
from fanwise.pipeline.shared.session import spark_session
from fanwise.workload.topic.sampling import Request


def run(folder: Path, question: dict) -> None:
    with spark_session() as spark:
        out = folder / "out"
        traces = [str(folder / f"{name}.csv") for name in ("events", "follows")]
        report = ingest(*traces, out / "topic", period="1h").as_dict()
        content = [folder / f"{name}.csv" for name in ("moves", "boxes", "places", "brokers")]
        options = ContentOptions(("price", "size"), num_channels=4, num_cells=9)
        content_report = ingest_content(ContentSources(*content), out / "content", options)
        graph = sample(out / "topic", Request(**question["sample"]))
        fw.write_workload(graph, out / "sample")
        found = provision.solve_on_spark(
            out / "topic", algorithm="gsp+cbp", scratch=out, num_partitions=2,
            **question["provision"],
        )  # fmt: skip
        found.save(out / "machines")
        prove = select_bounds.Proof.run

        def prove_after_a_pause(self) -> None:
            (folder / "ready").touch()
            while not (folder / "go").exists():
                time.sleep(0.05)
            prove(self)

        select_bounds.Proof.run = prove_after_a_pause
        plan = select.solve_on_spark(out / "topic", num_partitions=2, **question["select"])
        plan.save(out / "served")
        answer = {
            "master": spark.sparkContext.master,
            "topic": report,
            "content": content_report.as_dict(),
            "bound": plan.bound,
        }
        (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    place = Path(sys.argv[1])
    run(place, json.loads((place / "question.json").read_text()))
