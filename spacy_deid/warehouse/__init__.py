"""De-identify a warehouse of notes on one machine or a cluster. An interrupted run can be continued.

The notes are processed in partitions, which are written whole or not at all.

settings.py    settings of a run (columns, pipeline, files), and a fingerprint of all that the output depends on
batches.py     de-identify one Arrow record batch
inputs.py      cut the input (Parquet, JSONL and CSV files, databases) into partitions and read them
readers.py     read each kind of file, and databases
partition.py   process one partition and write it whole or not at all
manifest.py    read and write the files of a run, and decide which partitions have to be processed
engines.py     process partitions in worker processes, with Ray or with Spark
run.py         run everything: checks before the start, progress, the summary at the end
report.py      render the summary as an HTML page
"""
