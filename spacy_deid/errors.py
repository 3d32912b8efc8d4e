"""Defines the exceptions of the package and all its error and warning messages.

Messages name files, rows, keys, labels and offsets. They never quote note text, because error messages end up in logs.

    Exception
    └── ValueError
        └── DeidError            base class
            ├── ConfigError      a setting, rules file, policy or term list is invalid
            ├── InputError       a note, corpus or annotation file cannot be read
            └── NotDeidentified  a required step did not run, so there is no de-identified text

Codes: D0xx core, D1xx rules and term lists, D2xx the token classifier, D3xx evaluation, D4xx command line, D5xx
merging and policies, D6xx surrogates and their keys, D7xx documents, language models and audit, D8xx masked language
models, D9xx the service, warehouses, FHIR and HL7. DW### are warnings.
"""

import errno
import os
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal


class DeidError(ValueError):
    """Base class of the errors that spacy_deid raises."""


class ConfigError(DeidError):
    """A setting, rules file, policy or term list is invalid."""


class InputError(DeidError):
    """A note, corpus or annotation file cannot be read."""


class NotDeidentified(DeidError):
    """There is no de-identified text, because a required step did not run or a check of the result failed."""


class Errors:
    """Error messages. Code that raises one fills in keys, labels, file names and offsets, never note text."""

    # core
    D001 = "unknown label '{label}' in label scheme '{scheme}'. Known labels: {known}"
    D002 = "unknown label scheme '{scheme}'. Known label schemes: {known}"
    D003 = (
        "invalid edit at {start}:{end}: it must lie within the text of {length} characters and end after it starts. "
        "Count offsets in characters of the original text"
    )
    D004 = (
        "edits {first} and {second} overlap or are not sorted. Sort edits by start, and remove or merge those that "
        "overlap"
    )
    D005 = (
        "offset {offset} is outside the text of {length} characters. Offsets count characters from 0; use one from 0 "
        "to the length"
    )
    D006 = (
        "invalid evidence from '{source}' at {start}:{end}: it must not be empty and must lie within the text of "
        "{length} characters. Correct the offsets that this detector or list reports"
    )
    D007 = (
        "invalid span group key '{key}': it must start with 'deid/' and must not contain '.' or ':'. Change the "
        "component's setting 'key'"
    )
    D008 = (
        "pipeline '{name}' not found: it is not a pipeline that ships with the package ({known}), a folder or an "
        "installed package. Check the spelling, or install the package of the pipeline"
    )
    D009 = (
        "score must be between 0 and 1, got {score} from '{source}' at {start}:{end}. Correct the scores that this "
        "detector reports"
    )

    # rules
    D100 = "rules file {path}: cannot be read ({reason}). Check that the file exists and is UTF-8 text"
    D101 = "rules file {path}: invalid TOML: {reason}"
    D102 = "rules file {path}, rule '{rule}': {reason}"
    D103 = "rules file {path}, rule '{rule}': invalid regular expression: {reason}"
    D104 = "rules file {path}, rule '{rule}': unknown label '{label}'. Known labels: {known}"
    D105 = "rules file {path}, rule '{rule}': unknown validator '{validator}'. Known validators: {known}"
    D106 = (
        "rules file {path}, rule '{rule}': the pattern matches the empty string. Change the pattern so that each "
        "match has at least one character"
    )
    D107 = "rules file {path}: rule '{rule}' is defined twice. Rename or remove one of them"
    D108 = (
        "rules file {path}, rule '{rule}': {kind} {number} failed: expected {expected}, found {found}. Correct the "
        "pattern, or the offsets marked in the sentence"
    )
    D109 = "rules file {path}: {reason}"
    D110 = "no rules for language '{lang}'. Languages with rules: {known}"
    D111 = (
        "component '{name}': cannot disable rule(s) {rules}: no rules with these names. Use names of rules from the "
        "rules file of the language, or from your own rules file"
    )

    # term lists
    D150 = (
        "term list {path}: file not found. Restore the file, or correct the path in the command or in the component's "
        "setting 'paths'"
    )
    D151 = "term list {path}: unsupported file type. Use a .csv or .jsonl file"
    D152 = "term list {path}, row {row}: {reason}"
    D153 = (
        "term list {path}: the terms of row(s) {rows} are too general (no letter or digit, a single letter or a function "
        "word) and would match in almost every note. Remove these rows"
    )
    D154 = "term list {path}, row {row}: unknown label. Known labels: {known}"
    D155 = "term list {path}, row {row}: no label. Fill in the column 'label', or set 'label'. Known labels: {known}"
    D156 = (
        "term list {path}: another list is already named '{name}'. Rename the file, because detections are reported by the "
        "name of their list"
    )
    D157 = (
        "the terms of component '{name}' cannot be read: they are damaged or were saved by another version. Install "
        "the pipeline again, or add the terms again and save it"
    )
    D158 = (
        "component '{name}' was saved with {expected} confidential list(s), which are never written to disk, and now has "
        "{found}. Add them with add_lists() or add_terms(), or call drop_lists() to continue without them"
    )
    D159 = "too many terms: the term matcher takes at most {limit}. Use fewer or shorter lists"
    D167 = (
        "term list {path}: the terms of row(s) {rows} have a different label in an earlier row. Use one label per term in "
        "a list; to give a term two labels, put these rows into a second list"
    )
    D160 = "dictionaries {path}: {reason}"
    D161 = (
        "dictionaries {path}: other users can read '{name}' (mode {mode:04o}). Restrict access with: chmod -R go-rwx "
        "'{path}'"
    )
    D162 = "dictionaries {path}: damaged or written by another version ({reason}). Build them again"
    D163 = "dictionary entry of rule '{rule}' with label '{label}': {reason}. Correct the entry"
    D164 = "component '{name}': invalid value '{value}' for 'without_patient'. Known values: {known}"
    D165 = (
        "component '{name}' was saved with patient dictionaries, which are never written to disk, and now has none. Open "
        "them with open_dictionaries(), or call close_dictionaries() to continue without them"
    )
    D166 = (
        "no de-identified text: '{name}' has no dictionary for the patient of this note ({reason}), and "
        "'without_patient' is 'refuse'. Give the note the id of a patient who has one, or set 'without_patient' to "
        "'institution'"
    )

    # dictionaries from a record system
    D170 = "mapping {path}: {reason}"
    D171 = "mapping {path}, {place}: unknown key '{key}'. Known keys: {known}"
    D172 = "mapping {path}, {place}: unknown kind '{kind}'. Known kinds: {known}"
    D173 = "mapping {path}, table '{table}': unknown source '{source}'. Defined sources: {known}"
    D174 = (
        "table '{table}': source '{source}' has no column {missing}. Its columns: {known}. Correct the column names "
        "in the mapping"
    )
    D175 = "source '{source}': {reason}"
    D176 = "source '{source}', {file} row {row}: {reason}"
    D177 = "source '{source}', {file} row {row}: not valid {encoding}. Set the file's encoding in the mapping"
    D178 = "source '{source}': set the environment variable {variable} to the address of the database"
    D179 = (
        "source '{source}': the database cannot be read ({kind}). The message of the database is withheld because it "
        "could quote a value. Check the database address, the user's rights and the table or query in the mapping"
    )
    D180 = "source '{source}' has no rows. If this is intended, set 'may_be_empty = true'"
    D181 = (
        "table '{table}': {count} patient id(s) occur in more than one row, first in row {row}. Set 'duplicates' to "
        "'merge' to combine the rows of a patient, or to 'first' to use only the first one"
    )
    D182 = "{what} requires the package '{package}': pip install 'spacy-deid[ehr]'"
    D183 = (
        "table '{table}', column '{column}': {count} of {total} values are not a valid '{kind}'. Check the column name "
        "and, for dates, 'date_format'"
    )
    D184 = (
        "no name expansion for language '{lang}'. Languages with name expansion: {known}. Name expansion adds the "
        "forms in which a name can be written"
    )
    D185 = "unknown kind '{kind}'. Known kinds: {known}. The kind says what a value is, for example a name or a date"
    D186 = "no dictionary was written because every value was skipped. See the report {path} for the reasons"
    D187 = (
        "source '{source}', {file}: the encoding is set to {encoding}, but the file is UTF-8, so accented letters would be "
        "lost. Set the encoding to UTF-8"
    )
    D188 = (
        "a worker process that builds dictionaries was killed, possibly because memory ran out. The existing "
        "dictionaries are unchanged. Build them again with a smaller --n-process or with more memory"
    )

    # evaluation
    D300 = (
        "document '{name}': invalid entity at {start}:{end}: it must not be empty and must lie within the text of "
        "{length} characters. Correct its offsets"
    )
    D301 = "{path}: not valid {encoding} text. Convert the text to this encoding"
    D302 = "{path}, line {line}: {reason}"
    D303 = "{path}: {reason}"
    D304 = (
        "{path}, line {line}: the label is not in scheme '{scheme}'. Known labels: {known}. Correct the label, or "
        "choose another label scheme"
    )
    D305 = (
        "{path}, line {line}: the quoted text differs from the text at {start}:{end}. Correct the offsets, or use the "
        "text for which the annotations were made"
    )
    D306 = (
        "{path}: cannot detect the annotation format ({found}). Choose one of {known}. Set it with --format, or the "
        "argument 'format'"
    )
    D307 = (
        "{path}: {names} has no matching {missing} file. Add the missing file, or remove the one that has no partner"
    )
    D308 = "duplicate document name '{name}'. Rename one of the documents"
    D309 = "gold and predictions must contain the same documents. Only in gold: {gold}. Only in predictions: {pred}"
    D310 = (
        "document '{name}': gold and predictions have different texts. Use annotations that were made for the same "
        "text"
    )
    D311 = (
        "document name '{name}' cannot be used as a file name. Use a name without slashes, control characters or a "
        "dot at the beginning"
    )
    D312 = (
        "document '{name}': the character U+{code:04X} at {offset} is not allowed in {format}. Remove the character "
        "from the text, or write another format"
    )
    D313 = "metric row '{name}': {reason}. Correct this result in the JSON file of metrics"
    D314 = "unknown format '{format}'. Known formats: {known}"
    D315 = (
        "document '{name}' has no sentence count. Add its number of sentences to 'sentences', or leave out "
        "'sentences' to count them automatically"
    )

    # fairness, peers
    D370 = (
        "no names to swap for language '{lang}'. Languages with names and contexts: {known}. Contexts are sentences "
        "into which the names are inserted"
    )
    D371 = (
        "contexts {path}, line {line}: {reason}. Each line must be a sentence with a placeholder for a name and "
        "belong to a section"
    )
    D372 = (
        "peer system '{name}': {reason}. Install and run this other de-identification program on its own to find the "
        "cause"
    )
    D373 = (
        "peer system '{name}', note '{note}': invalid span {start}:{end}: it must not be empty and must lie within "
        "the text of {length} characters. Correct the script that runs this system"
    )
    D374 = "corpus '{name}' cannot be used from {path}: {reason}. Check the path and the name of the corpus"

    # operating points and reports
    D340 = (
        "component '{name}': thresholds by label require a 'default' threshold for all other labels. Add one to "
        "'threshold'"
    )
    D341 = "component '{name}': unknown operating point '{point}'. Its operating points: {known}"
    D342 = (
        "pipeline '{name}' has no component '{factory}', so operating points cannot be used. Choose a pipeline with "
        "this component, or leave out the operating point"
    )
    D343 = (
        "too few documents for a risk bound of {alpha}: got {documents}, need at least {needed}, and more if any "
        "entity is missed. Add documents, or allow a higher risk"
    )
    D344 = (
        "no threshold reaches a {kind} of {wanted}: the best on these {documents} document(s) is {best:.4f}. Relax "
        "the requirement, or use a better pipeline"
    )
    D350 = (
        "no threshold reaches a {kind} of {wanted} for label(s) {labels}. Relax the requirement, or use one threshold "
        "for all labels"
    )
    D345 = "{name} must be greater than 0 and less than 1, got {value}"
    D351 = (
        "the gold annotations seem incomplete: at a threshold of {threshold}, only {precision:.4f} of the characters "
        "detected in these {documents} document(s) are annotated as PHI. An operating point cannot be fitted to them. "
        "Complete the annotations, or use other documents"
    )
    D352 = (
        "{path}: {documents} of its documents are also in the development set. A risk bound requires documents that "
        "were not used before. Give other documents"
    )
    D346 = (
        "pipeline '{name}' cannot be loaded ({kind}). It was created with spacy_deid {made} and spaCy {made_spacy}; "
        "installed are spacy_deid {here} and spaCy {here_spacy}. Install the versions it was created with, or train it "
        "again"
    )
    D353 = (
        "pipeline '{name}' is damaged: its file {file} {problem}. Install or copy the pipeline again. If you changed the "
        "file on purpose, delete checksums.json to load the pipeline without this check"
    )
    D354 = "pipeline '{name}' is damaged: its file checksums.json is missing. Install spacy-deid again"
    D355 = (
        "the config has settings for '{component}', but pipeline '{name}' has no such component. Its components: {known}. "
        "'dictionaries' adds deid_ruler, 'surprisal' adds deid_surprisal, 'llm' adds deid_llm"
    )
    D357 = (
        "pipeline '{name}' cannot be loaded: the folder has no config.cfg. Give the folder that 'nlp.to_disk' or "
        "'spacy-deid adapt' wrote, or one of the included pipelines: {known}"
    )
    D356 = (
        "pipeline '{name}' was saved by an older version of spacy_deid: its config uses {old}, which was replaced by {new}. "
        "Change this in its config.cfg and delete its checksums.json"
    )
    D347 = "plots require matplotlib: pip install 'spacy-deid[plots]'. The JSON output does not need it"
    D348 = "{path}: contains no documents. Check the path and the annotation format"
    D349 = (
        "{path}: contains no entities, so calibration is not possible. Use documents with annotated identifiers, and "
        "check the label scheme"
    )

    # the dossier
    D358 = "dossier: {path} is not the output of '{command}'. Write it again with: spacy-deid {command}"
    D359 = (
        "dossier {path} is not valid: {reason}. Do not rely on it: ask for the original, or check it with the key that "
        "it was signed with"
    )

    # the token classifier
    D200 = "component '{name}': threshold must be between 0 and 1, got {threshold}. Correct the component's thresholds"
    D201 = (
        "component '{name}': label '{label}' cannot be added because the model is already initialized. Pass all labels to "
        "initialize()"
    )
    D202 = (
        "component '{name}': no labels, because the training data contains no entities. Annotate entities in the "
        "training data"
    )
    D203 = "component '{name}' is not trained: call initialize() and train it, or load a trained pipeline"

    # transformers
    D240 = (
        "encoder '{name}' cannot be loaded. Give the folder of a model. A model name from a hub requires network access on "
        "first use"
    )
    D241 = (
        "encoder '{name}': window must be at most {limit} word pieces, got {window}. Reduce 'window' in the settings "
        "of the model"
    )
    D242 = (
        "stride must be at least 1 and at most the window minus its {special} special pieces, got stride {stride} "
        "with window {window}. Correct 'stride' or 'window' in the settings of the model"
    )
    D243 = "encoder '{name}': its tokenizer does not return character offsets. Use a model with a fast tokenizer"
    D244 = "no de-identified text: no transformer ran on this text. Add a transformer before the component that listens to it"
    D245 = (
        "no de-identified text: {count} token(s) have no word pieces, so the encoder did not see them: {tokens}. Use "
        "smaller windows, or the architecture spacy_deid.WindowedTransformer.v1, which covers every token"
    )
    D246 = "no de-identified text: the encoder returned NaN or infinite values. Try again without mixed precision"
    D247 = (
        "no de-identified text: the scores of the classifier are NaN or infinite. Its weights are damaged or too "
        "large. Install or train the pipeline again"
    )
    D248 = "self-decoding model cannot be trained: {reason}. Correct the block [self_decoder] of the config"
    D249 = (
        "folder '{folder}' contains no self-decoding model, or a damaged one ({kind}). Choose another folder, or "
        "train the model again"
    )
    D210 = "lexicon cannot be read: {reason}. Build it again with scripts/lexicon.py"
    D211 = "lexicon {path}: file not found. Build one from lists of names, places and words with scripts/lexicon.py"
    D212 = "too many lists for a lexicon: got {given}, at most {most} are allowed. Merge some of them"
    D213 = (
        "cannot load weights from pipeline {path}: it has no component '{name}'. Give the folder of a saved pipeline "
        "with this component"
    )

    # adaptation
    D220 = "too few annotated notes to adapt a pipeline: got {notes}, need at least {needed}"
    D221 = (
        "document '{name}': the entities at {first} and {second} overlap. Each character may belong to one entity only. "
        "Correct the annotation"
    )
    D222 = (
        "{count} of the annotated notes, for example '{name}', are already among the {corpus} notes for replay, so the "
        "pipeline cannot be measured on them. Remove them from one of the two"
    )
    D223 = "{count} of the annotated notes, for example '{name}', have the text of another one. Remove them"
    D224 = (
        "too few annotated notes with identifiers: {notes} note(s) have any, need at least {needed}. Notes without "
        "identifiers teach the classifier nothing about the identifiers to find"
    )
    D225 = (
        "pipeline '{name}' cannot be adapted: its classifier is not based on spacy_deid.NoteTok2Vec.v1 on the CPU. "
        "Continue its training with 'spacy train'"
    )
    D226 = (
        "no pipeline was written: at '{point}', the character recall on {what} falls by {fall:.4f}, from {before:.4f} to "
        "{after:.4f}. Annotate more notes, or check the annotations"
    )
    D227 = "{path} exists. Choose another output path"
    D228 = "no synthetic notes for language '{lang}' to replay. Give a folder of authored notes with --replay"
    D229 = "the pool of notes has no note that is not annotated yet"

    # command line
    D400 = (
        "{path}: not valid {encoding} text. Set the encoding with --encoding, or 'encoding' in the settings of a job"
    )
    D401 = "unknown text encoding '{encoding}'. Use a name that Python knows, such as utf-8 or latin-1"
    D402 = "{path}: {reason}"
    D403 = (
        "{path}: unsupported file type. The --help of the command lists the types it reads; convert the file to one "
        "of them"
    )
    D404 = "{path}: for a JSONL file, set --text-field to the key that holds the note text"
    D405 = "row {row}: {reason}"
    D406 = (
        "{path}: no notes found: {count} other file(s), but no .txt{jsonl} file. Check the path, or convert the files"
    )
    D407 = (
        "{first} and {second} would be written to the same file {output}. Rename one, or choose different output paths"
    )
    D408 = "{path} is an input of this run and would be overwritten. Choose another output path"
    D409 = "{count} output file(s) already exist, for example {path}. Use --overwrite or {other}"
    D410 = (
        "'-' reads one note from standard input and writes it to standard output; it cannot be combined with other paths "
        "or --{option}"
    )
    D411 = "required option --{option} is missing"
    D412 = "--{first} and --{second} cannot be used together. Use only one of them"
    D413 = (
        "{path}: the output contains a character that {encoding} cannot encode. Choose another encoding, such as utf-8"
    )
    D414 = (
        "{path}: wrong SHA-256 of the annotation files: expected {expected}, got {found}. The annotations are not the "
        "expected version: get them again, or correct --sha256"
    )
    D415 = (
        "pipeline '{name}' has no component '{factory}'. Its components: {known}. Choose a pipeline with this "
        "component, or add it"
    )
    D416 = (
        "{path} exists and is neither a saved pipeline nor an empty folder, so it is not replaced. Choose another path"
    )
    D417 = "no sample notes for language '{lang}'. Languages with sample notes: {known}"
    D418 = (
        "{kind} at {where}. The message is withheld because it could quote a note. If it happens again, report the "
        "error and this place"
    )
    D419 = "{path}: a pipeline cannot be read from and written to the same folder. Choose another output path"
    D420 = "contains an infinite value, which JSON cannot represent. Replace the value in the input"
    D422 = "'{name}' does not contain a valid {wanted}"
    D423 = "the table of --context has no row for this file. Add a row with the path of the file to the table"
    D424 = (
        "{count} patient id(s) differ from another id of this run only in leading zeros, case or whitespace. They are "
        "treated as different patients. If they are the same patients, correct the ids and redact again: {places}"
    )
    D426 = "{path}: {reason}. Check the file given with --config"
    D429 = (
        "the database URL contains a password, which other users can see in the list of processes. Set an environment "
        "variable to the URL, and give env:NAME instead"
    )
    D425 = "two options write to the same file: {paths}. Choose a different file for each"
    D421 = "{path}: none of its {count} row(s) could be redacted. The lines above give the reasons"

    # merging, policies, surrogates
    D501 = (
        "no de-identified text: a detector did not run on this text: the group(s) {missing} are missing. Process the "
        "text with the whole pipeline"
    )
    D502 = "no de-identified text: '{step}' did not run on this text. Process the text with the whole pipeline"
    D503 = "group(s) {extra} have detections that '{name}' did not merge. Add them to its setting 'sources': {sources}"
    D504 = "'{name}' has no sources: add a detector before it, or list the span groups in its setting 'sources'"
    D505 = "unknown policy '{name}': it is neither a file nor one of {known}"
    D506 = "policy file {path}: {reason}"
    D507 = "unknown surrogate style '{style}'. Known styles: {known}"
    D508 = (
        "policy '{policy}' has no action for label '{label}' and no default action. Add one of them to the policy file"
    )
    D509 = "label priority: {reason}. The file must be a JSON object that maps each label to a whole number"
    D510 = (
        "no de-identified text: {count} merged token(s) are neither in doc.ents nor recovered. A component before "
        "'{name}' removed them. Remove that component, or move it to the end of the pipeline"
    )
    D511 = (
        "group '{key}' has {spans} span(s) but {records} evidence record(s). Do not reassign a span group, because this "
        "drops its evidence"
    )
    D512 = (
        "no de-identified text: the text, the detections, the actions or the edits were changed after the edits were made. "
        "Run the whole pipeline again"
    )
    D513 = (
        "no de-identified text: the entity {label} at {start}:{end} was added to doc.ents after 'deid_surrogate'. Move the "
        "component that adds it before 'deid_surrogate'"
    )
    D518 = (
        "no de-identified text: group '{key}' has no receipt, so no detector wrote it. Detectors must write groups with "
        "write_evidence()"
    )
    D519 = (
        "no de-identified text: the detector group(s) {keys} are left from an earlier run, so a detector did not run "
        "again. To merge the same detections again, call reopen_groups(doc)"
    )
    D514 = (
        "no de-identified text: no edit covers the span {start}:{end} of the action '{action}' on {label}. Process "
        "the text again, and do not change results between components"
    )
    D515 = (
        "no de-identified text: the edit at {start}:{end} belongs to no action. Process the text again, and do not "
        "change results between components"
    )
    D516 = (
        "no de-identified text: the merged span at {start}:{end} has no action and was not recovered. Process the "
        "text again, and do not change results between components"
    )
    D517 = (
        "no de-identified text: the recovered span at {start}:{end} was never merged. Process the text again, and do "
        "not change results between components"
    )

    # inflection, two-column CoNLL
    D630 = "cannot inflect: '{value}' is not one of {known}"
    D631 = "{path}, line {line}: {reason}. Correct this line of the CoNLL file"
    # dates
    D660 = "unknown date style '{style}'. Known date styles: {known}"
    D661 = (
        "no date offset of at most {span} day(s) satisfies the date rules. Increase 'span', to at most {longest}, or "
        "set 'keep_weekday' to false"
    )
    D662 = (
        "no date words for language '{lang}'. Languages with date words: {known}. Choose one of these languages, or "
        "remove dates instead of shifting them"
    )
    # synthetic corpora
    D600 = "template {path}, character {offset}: {reason}. Correct the template there"
    D601 = (
        "unknown slot '{slot}' in the templates of language '{lang}'. Correct the placeholder, or define it in the "
        "language.toml of the language"
    )
    D602 = "no templates for language '{lang}'. Languages with templates: {known}"
    D603 = (
        "slot '{slot}' has an unknown filter '{filter}'. Correct the part after the ':' of this placeholder in the "
        "template"
    )
    D604 = "{path}: {reason}. Correct this file, from which notes are generated"
    D605 = "unknown split '{split}'. Known splits: {known}"
    D606 = "language '{lang}' has no templates for the split '{split}'. Choose another split"
    D607 = (
        "{path}: no carrier notes in a supported format. Supported formats: {known}. Carrier notes are real notes "
        "into which generated identifiers are inserted"
    )
    D608 = "{path}: not a corpus written by this command, so it is not replaced. Choose another output path"
    D609 = (
        "none of the {count} carrier note(s) belongs to the split '{split}' (a note's name decides its split). Give more "
        "notes, or none"
    )
    D610 = "language '{lang}' has no values for carrier notes of the split '{split}'. Run without carrier notes"
    D611 = "{path}: the output would replace the carrier notes. Choose another output path"
    D612 = "unknown type of noise. Known types: {known}"
    D613 = "{path}, line {line}: {reason}. Correct this line of the annotated note"
    D614 = (
        "{path}: no authored notes of language '{lang}' and split '{split}'. Choose another language or split, or "
        "another folder"
    )
    D615 = "{path}: no authored notes (files .txt that begin with '#! brief: NAME')"
    D616 = "a mixed corpus needs a positive weight for each corpus. Corpora: {corpora}. Weights: {weights}"
    D617 = "the corpus '{name}' of a mixed corpus has no notes. Check its path, or leave it out"
    D620 = "{path}, record {record}: {reason}. Download the corpus again"
    D621 = "{path}, record {record}: unknown identifier type. Known types: {known}. Correct the type in this record"

    # keys of surrogates
    D640 = (
        "project key too short: got {found} byte(s), need at least {least}. Create one with: spacy-deid key new FILE, or "
        'python -c "import secrets; print(secrets.token_hex(32))"'
    )
    D641 = "project key {path}: {reason}. Create one with: spacy-deid key new FILE"
    D642 = "project key {path}: other users can read it (mode {mode:04o}). Restrict access with: chmod 600 '{path}'"
    D643 = "a {kind} cannot be saved. After loading the pipeline, set it again"
    D644 = "no patient id: notes without an id would all get the surrogates of one person. Give each note its own id"
    D645 = (
        "cannot draw a value: there are no options, or the weights or the probability are not valid numbers. Correct "
        "the arguments of the call"
    )
    D646 = "project key {path} cannot be written: {reason}. An existing key is never replaced"
    D647 = "{kind} {path}: {reason}"
    D648 = (
        "project key {key} is in the same folder as {path}, so a copy of the folder would contain both. Move the key to "
        "another folder"
    )
    D649 = "encrypted files require the package 'cryptography': pip install 'spacy-deid[surrogates]'"
    D650 = (
        "note not found in the vault: it was not released with this vault, was purged, or was changed after release. "
        "Use the unchanged released note and the vault of that run"
    )
    D651 = (
        "the vault's record of this note does not restore the original note. Nothing was written. The vault may be "
        "damaged: restore it from a backup"
    )
    D652 = (
        "several notes were released with this text, and the given name matches none or more than one of them. Use the "
        "name the note had when it was released"
    )
    D653 = (
        "{path} is in {folder}, {what}, so a copy of that folder would contain the secret. Move it to a separate folder "
        "that only you can read, such as ~/.spacy-deid (chmod 700)"
    )
    D670 = "surrogates of numbers require the package 'libffx': pip install 'spacy-deid[surrogates]'"

    # strategies and styles of surrogates
    D690 = (
        "probability must be between 0 and 1, got {value}. Correct the probability in the settings of the surrogate "
        "style"
    )
    D691 = (
        "style 'surrogate' requires a project key. Create one with: spacy-deid key new FILE. Pass it as "
        "load(…, project_key=FILE), or --key FILE"
    )
    D692 = "unknown label '{label}' in the strategies of a surrogate style. Known labels: {known}"
    D693 = (
        "pipeline '{name}' has no component 'deid_surrogate', so it cannot release a text. Choose a pipeline that has "
        "it"
    )
    D694 = (
        "{path}: contains no entities of the requested labels, so no surrogates can be evaluated. Choose other labels "
        "or other notes"
    )
    D695 = "pipeline '{name}' has no token embeddings: add vectors or a component that sets doc.tensor"
    D696 = "'candidates' must be at least 2 and at least 'best', got candidates={candidates}, best={best}"
    D697 = "unknown {setting} '{name}'. Known names: {known}. Others must be registered with @{registry}"
    D698 = "{setting} '{name}' needs settings: use a config block with @{registry} = \"{name}\""

    # medical dictionaries, phrase counts
    D700 = "{path}: not valid {format}: {reason}"
    D701 = "{path}, row {row}: {reason}"
    D702 = (
        "{path}: {count} of {rows} rows are invalid, the first is row {row}: {reason}. Check that the file is {format}"
    )
    D703 = (
        "no medical dictionary for language '{lang}'. Languages with a medical dictionary: {known}. Others can be "
        "built with: spacy-deid medical build"
    )
    D704 = (
        "{path}: not a medical dictionary, or written by another version. Build it again with: spacy-deid medical "
        "build"
    )
    D705 = (
        "{path}: not a file of phrase counts, or written by another version. Build it again with: spacy-deid counts "
        "build"
    )
    D706 = (
        "no phrase counts for language '{lang}'. Languages with phrase counts: {known}. Others can be counted with: "
        "spacy-deid counts build"
    )
    D707 = "{path}: {reason}"
    D708 = "'{value}' must have the form FORMAT=PATH. Known formats: {known}"
    D709 = "no medical terms: the files are empty, or all of their terms were excluded. Give other files with --source"
    D710 = "{path}, row {row}: no patient id. Set --patient-field to the key that holds it"

    # local language models
    D730 = "component '{name}': no language model. Set 'model' to a GGUF file, or to the address of a server on this machine"
    D731 = "language model server {host}: {reason}"
    D732 = "language model {name} returned no answer: {reason}"
    D733 = "language model {path}: {reason}"
    D734 = "prompt {path}: {reason}"
    D735 = (
        "unknown prompt '{prompt}' for language '{lang}'. Known prompts: {known}. You can also give the path of a file"
    )
    D736 = (
        "no de-identified text: '{name}' got no answer for part {part} of {parts}, {start}:{end}: {reason}. Process "
        "the note again, or change the settings of the language model"
    )
    D737 = "a language model requires the package '{package}': pip install 'spacy-deid[{extra}]'"
    D738 = "language model: setting '{setting}' must be {wanted}"

    # tables of notes, sampling
    D740 = "{source}: {reason}"
    D741 = "{source}: no column '{column}'. Its columns: {known}"
    D742 = "{source}, row {row}: {reason}"
    D743 = (
        "{source}: no notes to sample from ({rows} rows: {skipped}). Check which columns hold the text and the note id"
    )
    D744 = "{source}: more than {limit} groups of note type and period. Check that '{column}' holds the note type"
    D745 = "{source}: rows {rows} have the same note id. Note ids must be unique: choose another id column"
    D746 = (
        "{source}: {count} note(s) could not be read again. Check that the source did not change during the run and that "
        "note ids are unique"
    )
    D747 = "unknown period '{period}'. Use year, half, quarter, month or a number of years"
    D748 = (
        "{source}: the database rejected the query ({kind}). The message of the database is withheld because it could "
        "quote a value. Check the database address, the user's rights and the table or query"
    )
    D749 = "{source}: reading this source requires {package}: pip install 'spacy-deid[ehr]'"
    D750 = "{path} contains files that are not part of a sample, so it is not replaced. Choose another output path"
    D751 = "{source}: none of the {rows} dates could be parsed. Set their format with --date-format"
    D752 = "unknown weighting '{weighting}'. Known weightings: {known}"
    D762 = (
        "{path} exists already. A plan is not replaced, because a review may belong to it. Choose another output path"
    )

    # CAS, texts of one document
    D753 = "{path}: not a valid UIMA CAS ({reason}). Export the document again as XMI or JSON"
    D754 = "{path}: {reason}. Give the layer of identifiers as TYPE:FEATURE. Layers in the file: {known}"
    D755 = "{path}, annotation {number}: {reason}"
    D756 = (
        "document '{name}': the ground truth seems to belong to another text: only {matched} of {total} letters, "
        "digits and signs align with the text, at least {least:.0%} must. Use the ground truth of this text"
    )
    D757 = "CAS files require the package dkpro-cassis: pip install 'spacy-deid[cas]'"
    D758 = "layer '{layer}' must have the form TYPE:FEATURE, for example webanno.custom.PHI:kind"
    D759 = (
        "{path}: XMI requires a type system, but there is no TypeSystem.xml in this folder or its parent folder. Copy "
        "the TypeSystem.xml of the export there"
    )

    D760 = "{source}: no notes to audit ({skipped}). Check which columns hold the text and the note id"
    D761 = "{source}: more than {limit} values in column '{column}'. Choose a column that groups notes"

    # documents
    D711 = "{path}: unsupported file type. Supported file name suffixes: {known}"
    D712 = (
        "{path}: the file name says {said}, but the content is {seen}. Rename the file with the suffix of its content"
    )
    D713 = "{path}: reading this file requires the package '{package}': pip install 'spacy-deid[documents]'"
    D714 = "the redacted copy is withheld: {place} still contains {label}. {remedy}"
    D715 = "{path}: {reason}"
    D716 = (
        "{path}: scans and pictures require Tesseract, which is not installed (Debian: tesseract-ocr). Documents with a "
        "text layer can be read without it if their pictures are removed: --pictures remove, or 'pictures' in the settings "
        "of a job"
    )
    D717 = "{path}: Tesseract has no data for language {missing} (Debian: tesseract-ocr-LANG). Installed languages: {known}"
    D718 = "{path}, page {page}: {reason}"
    D719 = (
        "the redacted copy is withheld: page {page} still shows what {label} covered. Check that page of the original, and "
        "read it with OCR: --ocr always, or 'ocr' in the settings of a job"
    )
    D724 = (  # remedy of D714 on a page or picture
        "Check it in the original. --unread remove removes what OCR could not read, --pictures remove removes the pictures "
        "in documents with a text layer, and --ocr always reads every page with OCR (in the service: settings of a job)"
    )
    D725 = (  # remedy of D714 anywhere else
        "Remove it there in the original, or save the original as PDF and redact the PDF"
    )
    D721 = "columns file {path}: {reason}"
    D722 = (
        "{path}: the column policy names column(s) that do not exist: {missing}. Correct the names in --columns, or "
        "'columns' in the settings of a job"
    )
    D723 = (
        "{path}: column(s) {columns} contain lists, records or bytes, which cannot be searched. Set their action to keep "
        "or drop"
    )
    D727 = (
        "the redacted copy is withheld: page {page} still shows a bar code. Cover it in the original, or release bar codes "
        "with --codes keep, or 'codes' in the settings of a job"
    )
    D790 = "{path}: --vault stores notes, not documents. Redact documents in a separate run without --vault"

    # processes
    D770 = (
        "the worker process was killed, by a crash of a library or because memory ran out. Use fewer worker processes "
        "(--n-process), or process the text or file alone to find the cause"
    )
    D771 = (
        "time limit exceeded: more than {seconds} seconds. Split the text or file, or increase the limit ('seconds' "
        "of pipe(), --file-minutes on the command line)"
    )
    D772 = (
        "the worker processes do not start: the first one exited with code {code}. In a script, start them under "
        "'if __name__ == \"__main__\":', because each worker imports the script"
    )
    D773 = (
        "a worker process could not be started: {reason}. Every part of the pipeline must be picklable; on Linux, "
        "start_method='fork' does not require pickling"
    )
    D774 = (
        "an item must be a text, a Doc, a path, a File or a Document, or a pair of one of them and a dict, got {kind}"
    )
    D775 = (
        "the text has {length:,} characters, more than the limit nlp.max_length of {limit:,}. Split it, or increase "
        "nlp.max_length: a million characters need about 130 MB of memory"
    )
    D786 = (
        "the text has a surrogate code point (U+{code:04X}) at offset {offset}, which is not a character. Decode the note "
        "again, with its own encoding and without 'surrogateescape'"
    )
    D776 = "{setting} must be {wanted}, got {value}"
    D778 = (
        "this script starts worker processes when a worker process imports it. Start them under "
        "'if __name__ == \"__main__\":'"
    )
    D779 = "the result has no copy because the input was not a file. Use 'text' instead"
    D777 = "{path}: another run is writing to this folder. Wait until it has finished, or choose another folder"

    # recovery
    D720 = (
        "component '{name}': label(s) {labels} are never used for medical terms. Allowed labels: {known}. Correct the "
        "setting 'labels'"
    )

    # masked language models
    D800 = (
        "{path}: not the folder of a masked language model: {file} is missing. Choose another folder, or export the "
        "model again with scripts/ship_lm.py"
    )
    D801 = "{path}: the checkpoint belongs to a training run with other settings. Choose another folder, or delete it"
    D802 = (
        "{path}: the tokenizer has no mask token, so this is not a masked language model. Choose a model that was "
        "trained with masked words, such as BERT"
    )
    D803 = "unknown precision '{precision}'. Known precisions: float, int8"
    D804 = (
        "{path}: folder not found, and no model of that name ships with the package (available: {known}). Set "
        "'allow_download' to download it from a model hub"
    )
    D805 = "{path}: the tokenizer does not return character offsets. Use a fast tokenizer with a tokenizer.json"
    D806 = "{path}: this model requires packages that are not installed: pip install 'spacy-deid[{extra}]'"
    D807 = (
        "{path}: damaged, or not a masked language model ({kind}). Download or copy the model again, or choose "
        "another one"
    )
    D808 = (
        "window must be at least {least} pieces, got {length}. Increase the setting 'window' (length of the model's "
        "input)"
    )
    D809 = (
        "'{source}': combination of scores not found: neither a combination that ships with the package nor a file. "
        "Give the code of a language, or a folder with a file combined_KIND.json"
    )
    D810 = (
        "the combination of scores requires columns that were not computed: {columns}. Compute them with the settings "
        "of 'deid_surprisal' with which the combination was fitted"
    )
    D811 = (
        "no word counts for language '{lang}'. Languages with word counts: {known}. With the setting 'candidates' = "
        "'all', no word counts are needed"
    )
    D812 = "component '{name}': {setting} must be {wanted}"
    D813 = "masked language model '{name}' was exported without hidden states. Export it again with scripts/ship_lm.py"

    # measures of scored tokens
    D830 = "scores cannot be evaluated: {reason}. Give one finite score for each token"
    D831 = (
        "no threshold can be chosen: {gold} token(s) are PHI, {scored} token(s) have a score. Use annotated documents "
        "with scores"
    )
    D832 = (
        "no threshold reaches a recall of {wanted}: with all scored tokens the recall is {reached}. Require a lower "
        "recall"
    )
    D833 = "document '{name}': {reason}. Check that the text and the tokenizer are the ones it was scored with"
    D834 = "document '{name}' has no scores: 'deid_surprisal' did not run. Run a pipeline with this component"
    D835 = "invalid criterion '{value}' for choosing a threshold. Use f1, or recall=R with 0 < R <= 1"
    D836 = "{path}: {reason}"
    D837 = "unknown {kind} '{name}'. Known names: {known}"

    # review
    D840 = (
        "component '{name}': no scores for this text, because 'deid_surprisal' did not run. Add that component before "
        "this one"
    )
    D841 = (
        "component '{name}': the scores of 'deid_surprisal' were computed for another text than that of the Doc. Run "
        "the pipeline on the note again"
    )
    D842 = (
        "component '{name}': 'deid_surprisal' has no column '{column}'. Its columns: {known}. Change the setting "
        "'column'"
    )

    # app
    D900 = "job '{id}' not found. Check the id: the job may have been deleted, or its retention time may have passed"
    D901 = "file '{id}' not found. Check the id: the file may have been deleted, or its retention time may have passed"
    D902 = "not possible while the file is {state}: {wanted}"
    D903 = (
        "{path} contains files that are damaged or were encrypted with another key. Start the service with the "
        "--files-key with which the folder was made, or with another folder"
    )
    D904 = "the file is larger than {limit} MB. Split it, or start the service with a larger --max-mb"
    D905 = "a job can have at most {limit} files. Divide the files among several jobs"
    D906 = "no files were uploaded. Choose at least one file"
    D907 = (
        "a server that other machines can reach ('{host}') requires users (--users) or a token of at least {length} "
        "characters. Set it in the environment variable SPACY_DEID_TOKEN"
    )
    D908 = "the value of '{setting}' is not available. Available: {known}"
    D909 = (
        "the worker process for this file was killed twice. The file may be damaged or need more memory than is "
        "available. Open it to check, split it, or start the service with a larger --worker-gb"
    )
    D910 = "no span at {start}:{end}. Load the spans of the file again"
    D911 = (
        "the span {start}:{end} is outside the text of {length} characters, or overlaps another span. Choose a place "
        "between the spans"
    )
    D912 = "the text extracted from the file has changed since it was reviewed. De-identify the file again"
    D913 = "the file has decisions that are not applied yet. Apply them first"
    D914 = "style 'surrogate' requires a project key: start the server with --key"
    D915 = "the file is still being processed. Wait until it is done"
    D916 = (
        "the upload has no annotations for any file of this job. File names and texts must be the same as in the job"
    )
    D917 = "the service requires the package '{package}': pip install 'spacy-deid[app]'"
    D918 = "{path} is used by another instance of the service. Stop it, or use another folder"
    D919 = (
        "time limit exceeded: more than {minutes} minutes. Split the file, or start the service with a larger "
        "--file-minutes"
    )
    D920 = (
        "memory limit exceeded: more than {limit} GB. Split the file, or start the service with a larger --worker-gb"
    )
    D921 = "the job is being processed with other settings. Cancel it first"
    D922 = (
        "the token must consist of printable ASCII characters without spaces. Change the environment variable "
        "SPACY_DEID_TOKEN"
    )
    D923 = "too many requests are waiting. Try again later"
    D924 = "two files have the same name. Rename one of them"
    D925 = (
        "the files of the job are larger than {limit} MB in total. Divide them among several jobs, or start the "
        "service with a larger --max-job-mb"
    )
    D926 = (
        "the worker process stopped (exit code {code}). It restarts in {seconds} seconds. If this repeats, the "
        "service needs more memory or a smaller --workers"
    )
    D927 = "the form is incomplete or has invalid values. Correct the entries and send it again"
    D928 = "the request is larger than {limit} MB. Send fewer or smaller files"
    D929 = (
        "cannot write to the folder of the service: {reason}. Check the free space and the rights of the folder given "
        "with --data"
    )
    D930 = (
        "the worker process for this file was killed, by a crash of a library or because memory ran out. Try again, "
        "with a smaller file or a larger --worker-gb of the service"
    )
    D935 = (
        "{count} file(s) have warnings. Check the places they name in the copy, then download it with "
        "accept_warnings=true. GET /v1/files/FILE and the page of the job show the warnings"
    )
    D936 = "a token is needed. Send the header 'Authorization: Bearer TOKEN', or sign in"
    D937 = "this needs one of the roles: {roles}. Ask an administrator of the service"
    D938 = "the file of users {path} cannot be used: {reason}"
    D939 = "the name of a user has 1 to 64 letters, digits and '._@-', and begins with a letter or digit"
    D940 = "a user needs at least one of the roles: {known}"
    D941 = "there is no such user or token. 'spacy-deid user list' shows them"
    D942 = "the proxy names no user of this service. Add the user with 'spacy-deid user add'"
    D943 = "the request does not match the schema. 'errors' names the fields"
    D944 = "the cursor is not valid. Start again without a cursor"
    D945 = "there is no decision to undo, or the spans were changed since. Load the page again"
    D946 = "the file has {count} warning(s). Check the places they name and confirm it, then finish the review"
    D947 = "{count} span(s) were not looked at. Finish again to agree with them"
    D948 = "no file of the job is reviewed. Finish the review of at least one file first"
    D949 = "the readings of the two reviewers have changed. Load the page again"
    D971 = "the audit log is not as it was written: {reason}. Check it with the files key of the service"
    D973 = "the key of the header Idempotency-Key was used for another request, which {state}. Send a new key"
    D974 = "webhook: {reason}. Allowed are hosts of 'serve --webhook-allow', with 'serve --webhook-key'"
    D975 = "{path}: the key of webhooks must be the base64 of 24 to 64 bytes. Make one with: openssl rand -base64 32"
    D976 = "the webhook of job {job} was not delivered, attempt {attempt}: {reason}"
    D972 = "--proxy: {reason}. Give the address or network of the reverse proxy, such as 10.0.0.7 or 10.0.0.0/24"

    # warehouse
    D950 = "{reason}"
    D951 = "column '{column}' {reason}"
    D952 = "{source}: the number of rows has changed since the run was planned. Start the run again with --changed"
    D953 = (
        "{path}: no .parquet, .jsonl or .csv file found ({count} other file(s)). Check the path, or convert the files"
    )
    D954 = (
        "{path}: a Delta, Iceberg or Hudi table. Its files also contain deleted rows, so they cannot be read one by one. "
        "Export the table to Parquet, or read it with the engine that wrote it and spacy_deid.warehouse.batches"
    )
    D955 = (
        "{source}: a column that is kept has another type than in the files before it. Convert the column to the same "
        "type in all files, or do not keep it"
    )
    D956 = "{path}: damaged, or written by another version. Choose another output folder"
    D957 = (
        "{path} has the results of a run with other settings ({parts}). Process what has changed again with --changed, or "
        "choose another output folder"
    )
    D958 = (
        "{path}: the input has changed since the run was started ({count} partition(s)). Process what has changed again "
        "with --changed, or choose another output folder"
    )
    D959 = "changed since the run was started: {parts}. Start the run again, with --changed if the change is intended"
    D960 = "the output cannot be written: {reason}. Finished partitions are kept. Run the command again to continue"
    D961 = (
        "partition {name}: the released and the quarantined rows together are not the rows that were read. Run the "
        "command again, and report this if it happens again"
    )
    D962 = (
        "{path}: another run has started in this folder. Wait until it has finished, or choose another output folder"
    )
    D963 = "engine '{engine}' requires the package '{package}': pip install 'spacy-deid[{engine}]'"
    D964 = (
        "not enough memory: {count} worker process(es) need about {needed:.1f} GB, and {free:.1f} GB are available. Use a "
        "smaller --n-process"
    )
    D965 = (
        "not enough disk space for {path}: about {needed:.2f} GB are needed, and {free:.2f} GB are free. Choose another "
        "folder, or free space"
    )
    D966 = (
        "none of the first {count} patients of the notes is in the dictionaries {path}, which may belong to another "
        "project. Check --dictionaries and --patient-field"
    )
    D967 = "the database URL contains a password, which would be stored with the run. Set --input to env:NAME instead"
    D968 = "the Spark engine requires Java 17 or later (Debian: apt-get install default-jre-headless)"
    D970 = (
        "no free GPU: this machine has {count} that pipelines can run on (NVIDIA, with CuPy). Use as many worker processes "
        "as GPUs, or leave out --gpu"
    )

    # FHIR
    D980 = (
        "not a JSON object, or one with a repeated key, a number that JSON does not have, or too many nested levels. "
        "Export the resource again"
    )
    D981 = "{path}: {reason}"
    D982 = "profile {path}: {reason}"
    D983 = (
        "{path}: it refers to several patients, whose names cannot be searched for together. Split the resource, or remove "
        "its type from the profile"
    )
    D984 = "{path}: a modifier extension that the profile does not name. Without it, the resource would mean something else"
    D985 = "{path}: the text could not be de-identified: {reason}"
    D986 = "{path}: {count} {unit}(s) were removed, because the profile does not name their type: {types}"
    D987 = "{path}: none of its {count} {unit}(s) could be de-identified. The lines above give the reasons"
    D988 = "the style 'surrogate' needs the option --key, the file of the project key"
    D989 = "an export must be read before it is released: call `read` first"
    D990 = "the profile does not name the type '{type}', so the resource was removed"
    D991 = "HL7 profile {path}: {reason}"
    D992 = "{path}: no message of HL7 v2 that can be read: {reason}"
    D993 = "{path}: {reason}. Escape sequences of text are \\.br\\, \\F\\, \\S\\, \\T\\, \\R\\, \\E\\ and \\Xdd\\"
    D994 = "{path}: it cannot be de-identified: {reason}"
    D995 = "address {address}: {reason}"
    D996 = "give files to read, or an address with --listen, but not both"
    D999 = "the profile does not name the type of this record, so it was removed"
    D1000 = (
        "records could not be released, or have warnings that a person should check: see `errors`. accept_partial=true "
        "returns the other records, accept_warnings=true those with warnings"
    )
    D978 = "CDA profile {path}: {reason}"
    D979 = "{path}: {reason}"

    # presidio
    D997 = "text {number} of the call (counted from 0) could not be de-identified: {reason}"
    D998 = "language '{lang}' has no pipeline. Languages of this engine: {known}"

    # data_models
    D870 = "data model {path}: {reason}"
    D871 = (
        "table '{table}' cannot be read: it does not exist, or the user of the database has no right to read it. A data "
        "model that extends '{model}' can leave it out"
    )
    D872 = "column '{column}': {reason}"
    D873 = "--data-model needs the option --key, the file of the project key: ids depend on it"
    D874 = "--data-model reads a database: set --input to a .duckdb, .db or .sqlite file, a URL, or env:NAME"

    # lemmatizers
    D820 = "{package} has no lemmas for language '{lang}'. Install the extra '{extra}', or choose another lemmatizer"
    D821 = "{package} is not installed: pip install 'spacy-deid[{extra}]'"
    D822 = (
        "Voikko is not installed: it requires the Python package libvoikko, the library (Debian: libvoikko1) and the "
        "Finnish dictionary (Debian: voikko-fi)"
    )
    D823 = "{path}: not a spaCy pipeline with a lemmatizer. Train one with: spacy project run lemmatizer"
    D824 = "the list of lemmatizers is empty: give at least one"
    D825 = "no rule-based lemmatizer for language '{lang}'. Languages with one: {known}"


class Warnings:
    """Warning messages. Like `Errors`, they never contain note text."""

    DW340 = (
        "pipeline '{name}' was created with spacy_deid {made}, but spacy_deid {here} is installed. Evaluate it on your own "
        "notes before use"
    )
    DW342 = (
        "pipeline '{name}' has no checksums, so damaged files would not be noticed. To add them, load it with "
        "spacy_deid.load and save it again with nlp.to_disk"
    )
    DW730 = (
        "the language model ({key}) found no person where other detectors did. The note may contain a prompt injection: "
        "check the whole note"
    )
    DW341 = (
        "operating point '{point}': no threshold reaches the required character precision of {floor} (best: {best:.4f}), "
        "so it uses the thresholds of the operating point above it. The gold annotations may be incomplete, or the "
        "pipeline weak"
    )


_ADVICE = {
    errno.ENOENT: "check the path",
    errno.EACCES: "check the rights of the file and its folder",
    errno.EPERM: "check the rights of the file and its folder",
    errno.EROFS: "choose a folder that can be written to",
    errno.EISDIR: "give the path of a file",
    errno.ENOTDIR: "give the path of a folder",
    errno.EEXIST: "choose another path",
    errno.ENOSPC: "free space, or choose another disk",
}


def describe_system(error: OSError) -> str:
    """Describe an error of the operating system, without the name of the file.

    error (OSError): the error.
    RETURNS (str): the system's description of the error number, and what to do about frequent ones.
    """
    reason, advice = os.strerror(error.errno or 0), _ADVICE.get(error.errno or 0)
    return f"{reason} ({advice})" if advice else reason


def describe(error: BaseException) -> str:
    """Describe an exception without quoting note text.

    error (BaseException): any exception.
    RETURNS (str): the message if the exception is a `DeidError`; the system's description of the error number for an
        `OSError` and what to do; otherwise the exception's class and the file and line that raised it.
    """
    if isinstance(error, DeidError):
        return str(error)
    if isinstance(error, OSError) and error.errno:
        return describe_system(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "an unknown place"
    return Errors.D418.format(kind=type(error).__name__, where=where)


@contextmanager
def quiet_warnings(say: Callable[[str], None]) -> Iterator[None]:
    """Reduce warnings in the context to their class and line, because some quote the text, such as spaCy's W030.

    say (Callable[[str], None]): function that prints a line.
    """

    def show(message: Any, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
        say(f"warning: {category.__name__} at {Path(filename).name}:{lineno}")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield


ErrorKind = Literal["", "known", "memory", "unexpected"]


def classify_error(error: BaseException) -> ErrorKind:
    """Classify an exception as a lack of memory, a known error or a fault of the program.

    error (BaseException): any exception.
    RETURNS (str): "memory" if memory ran out; "known" for a `DeidError` or an error number of the system;
        "unexpected" for anything else, which is a fault of the program.
    """
    if isinstance(error, MemoryError):
        return "memory"
    known = isinstance(error, DeidError) or (isinstance(error, OSError) and error.errno)
    return "known" if known else "unexpected"


def printable(text: str) -> str:
    """Escape control characters, text direction marks and line breaks, so that a message is safe to print.

    text (str): a message. It may contain a file name, which can contain any character.
    RETURNS (str): the message on one line.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else ascii(char)[1:-1] for char in text
    )
