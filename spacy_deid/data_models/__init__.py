"""Released notes of a clinical data warehouse: the tables of OMOP CDM 5.4, of i2b2, and of models like them.

A *data model* is a TOML file: which table has the notes, what is done with each of its columns, and which tables say
who the patients and the clinicians are. `people` makes a dictionary of these persons, `tables` makes the released
tables, and `warehouse` runs over the notes.
"""
