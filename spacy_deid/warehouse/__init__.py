"""De-identify a whole warehouse of notes: partition by partition, on one machine or a cluster, restartable.

settings.py    what a run depends on: columns, pipeline, files; the fingerprint of all of it
batches.py     the pure function: an Arrow record batch in, an Arrow record batch out
inputs.py      the input, cut into partitions: Parquet, JSONL and CSV files, databases
partition.py   process one partition and write it whole or not at all
manifest.py    the folder of a run: what was planned, what is done, what a change touches
engines.py     where partitions are processed: worker processes, Ray, Spark
run.py         the driver of a run: checks before the start, progress, the summary at the end
report.py      the summary as an HTML page
"""
