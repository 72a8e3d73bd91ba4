"""What ``spark-submit`` runs: the command line of fanwise, on the cluster that it was given.

spark-submit --master spark://host:7077 examples/spark_submit.py ingest --publications …
"""

from fanwise.cli.main import main

if __name__ == "__main__":
    main()
