"""The catalogue of messages, and the exceptions that carry them.

Messages name files, rows, keys, labels and offsets. They never quote note text: a message that holds a piece of a
note is a leak that travels with the log.

    Exception
    └── ValueError
        └── DeidError            something spacy_deid refuses to do
            ├── ConfigError      a setting, rules file, policy or term list is wrong
            ├── InputError       a note, corpus or annotation file cannot be read
            └── NotDeidentified  a step that must have run did not: there is no de-identified text

Numbers: D0xx core, D1xx rules and term lists, D2xx the token classifier, D3xx evaluation, D4xx command line,
D5xx merging, policies and surrogates, D6xx surrogates and their keys, D7xx documents, language models and audit,
D8xx masked language models, D9xx the service. DW### are warnings.
"""

import os
import unicodedata
from pathlib import Path

__all__ = ["ConfigError", "DeidError", "Errors", "InputError", "NotDeidentified", "Warnings", "describe", "printable"]


class DeidError(ValueError):
    """Anything spacy_deid refuses to do."""


class ConfigError(DeidError):
    """A setting, rules file, policy or term list is wrong."""


class InputError(DeidError):
    """A note, corpus or annotation file cannot be read."""


class NotDeidentified(DeidError):
    """A required step did not run, so there is no de-identified text."""


class Errors:
    """Error messages, formatted by the raiser with keys, labels, names of files and offsets only."""

    # core
    D001 = "unknown label '{label}' in scheme '{scheme}'. Known labels: {known}"
    D002 = "unknown label scheme '{scheme}'. Known schemes: {known}"
    D003 = "edit {start}:{end} is outside the text of {length} characters or ends before it starts"
    D004 = "edits {first} and {second} overlap"
    D005 = "offset {offset} is outside the text of {length} characters"
    D006 = "evidence {start}:{end} of '{source}' is outside the text of {length} characters or empty"
    D007 = "span group key '{key}' must start with 'deid/' and contain neither '.' nor ':'"
    D008 = "unknown pipeline '{name}': not a shipped pipeline ({known}), not a folder, not an installed package"
    D009 = "score {score} of '{source}' at {start}:{end} is not between 0 and 1"

    # rules
    D100 = "rules file {path}: cannot be read ({reason})"
    D101 = "rules file {path}: not valid TOML: {reason}"
    D102 = "rules file {path}, rule '{rule}': {reason}"
    D103 = "rules file {path}, rule '{rule}': bad regular expression: {reason}"
    D104 = "rules file {path}, rule '{rule}': unknown label '{label}'. Known labels: {known}"
    D105 = "rules file {path}, rule '{rule}': unknown validator '{validator}'. Known validators: {known}"
    D106 = "rules file {path}, rule '{rule}': the pattern can match the empty string"
    D107 = "rules file {path}: rule '{rule}' stands twice"
    D108 = "rules file {path}, rule '{rule}': {kind} {number} does not hold: expected {expected}, found {found}"
    D109 = "rules file {path}: {reason}"
    D110 = "no rules for language '{lang}'. Languages with rules: {known}"
    D111 = "'{name}' cannot disable rule(s) {rules}: no such rule"

    # term lists
    D150 = "list {path}: no such file"
    D151 = "list {path}: a list is a .csv or a .jsonl file"
    D152 = "list {path}, row {row}: {reason}"
    D153 = (
        "list {path}: the terms of row(s) {rows} would match nearly everywhere (no letter or digit, single letters, "
        "function words). Take them out"
    )
    D154 = "list {path}, row {row}: unknown label. Known labels: {known}"
    D155 = "list {path}, row {row}: no label. Fill the column 'label', or set 'label'. Known labels: {known}"
    D156 = "list {path}: a list named '{name}' is there already. Rename the file: detections bear the list's name"
    D157 = "'{name}' cannot be read: not the terms of a ruler of this version"
    D158 = (
        "'{name}' was saved with {expected} confidential list(s), which no folder holds, and has {found}. Give them with "
        "add_lists() or add_terms(), or call drop_lists() to go on without"
    )
    D159 = "term matcher: more than {limit} terms"
    D167 = (
        "list {path}: the terms of row(s) {rows} have another label in an earlier row. Give each term one label, or put "
        "these rows into a list of their own: a term of two lists has both labels"
    )
    D160 = "dictionaries {path}: {reason}"
    D161 = "dictionaries {path}: others may read '{name}' (mode {mode:04o}). Take that away: chmod -R go-rwx '{path}'"
    D162 = "dictionaries {path}: damaged or of another version ({reason}). Build them again"
    D163 = "an entry of '{rule}' with label '{label}': {reason}"
    D164 = "'{name}': unknown value '{value}' of 'without_patient'. Known values: {known}"
    D165 = (
        "'{name}' was saved with dictionaries, which no folder of a pipeline holds, and has none. Give them with "
        "open_dictionaries(), or call close_dictionaries() to go on without"
    )
    D166 = (
        "no de-identified text: '{name}' has no terms of this note's patient ({reason}), and 'without_patient' is "
        "'refuse'"
    )

    # dictionaries from a record system
    D170 = "mapping {path}: {reason}"
    D171 = "mapping {path}, {place}: unknown key '{key}'. Known keys: {known}"
    D172 = "mapping {path}, {place}: unknown kind '{kind}'. Known kinds: {known}"
    D173 = "mapping {path}, table '{table}': no source '{source}'. Its sources: {known}"
    D174 = "table '{table}': source '{source}' has no column {missing}. Its columns: {known}"
    D175 = "source '{source}': {reason}"
    D176 = "source '{source}', {file} row {row}: {reason}"
    D177 = "source '{source}', {file} row {row}: not {encoding} text. Name the encoding in the mapping"
    D178 = "source '{source}': the environment variable {variable} is not set; it holds the address of the database"
    D179 = "source '{source}': the database cannot be read ({kind}). Its message is withheld, because it could quote a value"
    D180 = "source '{source}' has no rows. If that is right, set 'may_be_empty = true'"
    D181 = (
        "table '{table}': {count} patient id(s) stand in several rows, first in row {row}. Set 'duplicates' to 'merge' if "
        "a patient has several rows there, or to 'first'"
    )
    D182 = "{what} needs the package '{package}': pip install 'spacy-deid[ehr]'"
    D183 = (
        "table '{table}', column '{column}': {count} of {total} values are no '{kind}'. Is it the right column, and for "
        "dates the right 'date_format'?"
    )
    D184 = "no expansion for language '{lang}'. Languages with one: {known}"
    D185 = "unknown kind '{kind}'. Known kinds: {known}"
    D186 = "no dictionary: every value was skipped. The report {path} says why"
    D187 = "source '{source}', {file}: {encoding} is set, but its bytes read as UTF-8, so accents would be lost"
    D188 = "a process that builds patients ended, for want of memory or by a signal. The old dictionaries stay"

    # evaluation
    D300 = "document '{name}': entity {start}:{end} is outside the text of {length} characters or empty"
    D301 = "{path}: not {encoding} text"
    D302 = "{path}, line {line}: {reason}"
    D303 = "{path}: {reason}"
    D304 = "{path}, line {line}: the label is not in scheme '{scheme}'. Known labels: {known}"
    D305 = "{path}, line {line}: the quoted text differs from the text at {start}:{end}"
    D306 = "{path}: cannot tell the format ({found}): name one of {known}"
    D307 = "{path}: {names} without its {missing}"
    D308 = "document '{name}' stands twice"
    D309 = "gold and predictions are not of the same documents: only gold {gold}; only predictions {pred}"
    D310 = "document '{name}': gold and predictions have different texts"
    D311 = "document name '{name}' cannot be the name of a file"
    D312 = "document '{name}': the character U+{code:04X} at {offset} has no place in {format}"
    D313 = "metric row '{name}': {reason}"
    D314 = "unknown format '{format}'. Known formats: {known}"
    D315 = "document '{name}' has no sentence count"

    # fairness, peers
    D370 = "no names to swap for language '{lang}'. Languages with names and contexts: {known}"
    D371 = "contexts {path}, line {line}: {reason}"
    D372 = "peer '{name}': {reason}"
    D373 = "peer '{name}', note '{note}': the span {start}:{end} is outside the text of {length} characters or empty"
    D374 = "no corpus '{name}' in {path}: {reason}"

    # operating points and reports
    D340 = "'{name}': thresholds by label need a 'default' for the other labels"
    D341 = "'{name}': no operating point '{point}'. Its points: {known}"
    D342 = "pipeline '{name}' has no component '{factory}', so it has no operating point"
    D343 = (
        "{documents} document(s) are too few for a bound of {alpha}: at least {needed} are needed, and more if any "
        "entity is missed"
    )
    D344 = "a {kind} of {wanted} cannot be reached: the best on these {documents} document(s) is {best:.4f}"
    D350 = "a {kind} of {wanted} cannot be reached for label(s) {labels}"
    D345 = "{name} must be above 0 and below 1, not {value}"
    D351 = (
        "only {precision:.4f} of what is covered at a threshold of {threshold} is PHI in the gold of these {documents} "
        "document(s). The gold seems incomplete, so no operating point can be fitted to it"
    )
    D352 = (
        "{path}: {documents} of its documents are in the development set too. Notes that bound a risk must have been used "
        "for nothing else"
    )
    D346 = (
        "pipeline '{name}' cannot be loaded ({kind}). It was made by spacy_deid {made} with spaCy {made_spacy}; these are "
        "spacy_deid {here} and spaCy {here_spacy}. Install those versions, or train it again"
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
    D347 = "the plot needs matplotlib: pip install 'spacy-deid[plots]'. The figures are written as JSON without it"
    D348 = "{path}: holds no documents"
    D349 = "{path}: holds no entities, so there is nothing to calibrate on"

    # the token classifier
    D200 = "'{name}': threshold {threshold} is not between 0 and 1"
    D201 = "'{name}': label '{label}' comes too late, the model is initialized. Give all labels to initialize"
    D202 = "'{name}': no labels: the training data holds no entities"
    D203 = "'{name}' was never trained: initialize and train it, or load a trained pipeline"

    # transformers
    D240 = "encoder '{name}': cannot be loaded. Give the folder of a model; a name on the hub needs a network the first time"
    D241 = "encoder '{name}': a window of {window} word pieces is longer than the {limit} that it takes"
    D242 = "window {window} and stride {stride}: the stride is 1 at least and the window less its {special} special pieces at most"
    D243 = "encoder '{name}': its tokenizer does not say where a piece stands. It takes a fast tokenizer"
    D244 = (
        "no de-identified text: a transformer did not run on this text. Put it before the component that listens to it"
    )
    D245 = (
        "no de-identified text: {count} token(s) have no word pieces, so the encoder did not see them: {tokens}. Choose "
        "smaller windows, or the architecture spacy_deid.WindowedTransformer.v1, which drops none"
    )
    D246 = "no de-identified text: the encoder gave values that are no numbers. Try it without mixed precision"
    D247 = (
        "no de-identified text: the classifier's scores give no probabilities. Its weights are damaged, or too large"
    )
    D248 = "no self-decoding model: {reason}"
    D249 = "'{folder}': holds no self-decoding model, or a damaged one ({kind})"
    D210 = "no lexicon: {reason}"
    D211 = "lexicon {path}: no such file. `scripts/lexicon.py` builds one from lists of names, places and words"
    D212 = "a lexicon holds at most {most} lists, {given} were given"
    D213 = "training cannot start from {path}: it has no component '{name}'"

    # command line
    D400 = "{path}: not {encoding} text. Name the encoding: --encoding, or 'encoding' among the settings of a job"
    D401 = "unknown text encoding '{encoding}'"
    D402 = "{path}: {reason}"
    D403 = "{path}: no kind of file that is read"
    D404 = "{path}: a JSONL file needs --text-field, the key of the note in its rows"
    D405 = "row {row}: {reason}"
    D406 = "no notes to read: {count} other file(s) in the folder(s), and no .txt{jsonl}"
    D407 = "{first} and {second} would be written to the same file {output}"
    D408 = "{path} would be overwritten, but this run reads it. Choose another place to write to"
    D409 = "{count} output file(s) are there already, such as {path}. Choose --overwrite or {other}"
    D410 = "'-' reads one note from standard input and writes to standard output: it takes no other path and no --{option}"
    D411 = "--{option} is missing"
    D412 = "--{first} and --{second} exclude each other"
    D413 = "{path}: a character cannot be written as {encoding}"
    D414 = "{path}: the SHA-256 of its annotation files is {found}, not {expected}"
    D415 = "pipeline '{name}' has no component '{factory}'. Its components: {known}"
    D416 = "{path}: there already, and not a saved pipeline or an empty folder, so it is not replaced"
    D417 = "no sample notes for language '{lang}'. Languages with samples: {known}"
    D418 = "{kind} at {where}. What it says is withheld, because it could quote a note"
    D419 = "{path}: reading and writing the same pipeline. Choose another place to write to"
    D420 = "holds an infinite number, which JSON does not have"
    D422 = "'{name}' holds no {wanted}"
    D423 = "the table of --context has no row for this file"
    D424 = (
        "{count} patient(s) have an id that differs from another one of this run only in leading zeros, case or white "
        "space. They are different patients here; if they are not, correct the ids and redact again: {places}"
    )
    D425 = "two options write to the same file: {paths}. Give each of them a file of its own"
    D421 = "{path}: none of its {count} row(s) could be redacted"

    # merging, policies, surrogates
    D501 = "no de-identified text: the detector group(s) {missing} are missing, so a detector did not run on this text"
    D502 = "no de-identified text: '{step}' did not run on this text"
    D503 = "group(s) {extra} have detections that '{name}' did not merge. Add them to its setting 'sources': {sources}"
    D504 = "'{name}' has no sources: add a detector before it, or name the groups in its setting 'sources'"
    D505 = "unknown policy '{name}': not one of {known} and not a file"
    D506 = "policy file {path}: {reason}"
    D507 = "unknown surrogate style '{style}'. Known styles: {known}"
    D508 = "policy '{policy}' has no action for label '{label}' and no default"
    D509 = "label priority: {reason}"
    D510 = (
        "no de-identified text: {count} merged token(s) are neither in doc.ents nor recovered, so a component before "
        "'{name}' took them out"
    )
    D511 = "group '{key}' has {spans} span(s) and {records} record(s): re-assigning a group loses its evidence"
    D512 = (
        "no de-identified text: the text, the detections, the actions or the edits are not those that the edits were made "
        "for. Run the whole pipeline again"
    )
    D513 = (
        "no de-identified text: the entity {label} at {start}:{end} came into doc.ents after 'deid_surrogate'. Add its "
        "component before that"
    )
    D518 = (
        "no de-identified text: group '{key}' has no receipt, so it was set by hand and no detector wrote it. Detectors "
        "write with write_evidence()"
    )
    D519 = (
        "no de-identified text: the detector group(s) {keys} are left from an earlier run, so a detector did not run "
        "again. Call reopen_groups(doc) to merge the same detections again"
    )
    D514 = "no de-identified text: the action '{action}' on {label} at {start}:{end} has no edit that covers its span"
    D515 = "no de-identified text: the edit at {start}:{end} belongs to no action"
    D516 = "no de-identified text: what was merged at {start}:{end} is neither decided on nor recovered"
    D517 = "no de-identified text: what was recovered at {start}:{end} was never merged"

    # inflection, two-column CoNLL
    D630 = "cannot inflect: '{value}' is not one of {known}"
    D631 = "{path}, line {line}: {reason}"
    # dates
    D660 = "unknown style of dates '{style}'. Known styles: {known}"
    D661 = "no offset of at most {span} day(s) fits the rules of dates. Give a longer span, of at most {longest}"
    D662 = "no words of dates for language '{lang}'. Known languages: {known}. Add lang/{lang}/calendar.toml"
    # the corpus workshop
    D600 = "template {path}, character {offset}: {reason}"
    D601 = "no slot '{slot}' in the templates of language '{lang}'"
    D602 = "no templates for language '{lang}'. Languages with templates: {known}"
    D603 = "slot '{slot}' has an unknown filter '{filter}'"
    D604 = "{path}: {reason}"
    D605 = "unknown split '{split}'. Known splits: {known}"
    D606 = "language '{lang}' has no templates for the split '{split}'"
    D607 = "{path}: no carrier notes in a known form. Known forms: {known}"
    D608 = "{path}: not a corpus that this command wrote, so it is not replaced. Choose another place to write to"
    D609 = "none of the {count} carrier note(s) is of the split '{split}': their names decide. Give more, or none"
    D610 = "language '{lang}' has nothing to put into carrier notes of the split '{split}'. Leave the carriers out"
    D611 = "{path}: writing there would replace the carrier notes. Choose another place to write to"
    D612 = "unknown hand of noise. Known hands: {known}"
    D620 = "{path}, record {record}: {reason}"
    D621 = "{path}, record {record}: unknown identifier type. Known types: {known}"

    # keys of surrogates
    D640 = (
        "a project key of {found} byte(s) is too short: it has {least} at least. Make one: spacy-deid key new FILE, or "
        'python -c "import secrets; print(secrets.token_hex(32))"'
    )
    D641 = "key {path}: {reason}. Make one: spacy-deid key new FILE"
    D642 = "key {path}: others may read it (mode {mode:04o}). Take that away: chmod 600 '{path}'"
    D643 = "a {kind} is never saved. Give it again to the pipeline that was loaded"
    D644 = "no patient id: notes without one would all get the surrogates of one person. Give each its own"
    D645 = "nothing to draw from: no options, or weights or a probability that are none"
    D646 = "key {path}: cannot be written: {reason}. A key that is there is never replaced"
    D647 = "{kind} {path}: {reason}"
    D648 = "key {key} lies in the folder of {path}: whoever copies the folder has both. Move the key elsewhere"
    D649 = "sealed files need the package 'cryptography': pip install 'spacy-deid[surrogates]'"
    D650 = "not a note that the vault knows: it was not released with it, was purged, or was changed since"
    D651 = "what the vault says of this note does not give the note. Nothing was written"
    D652 = "several notes were released as this text, none or more than one of this name. Give it the name that it had"
    D653 = (
        "{path} lies in {folder}, {what}: whoever copies that folder has the secret too. Move it to a folder of its own "
        "that only you can read, such as ~/.spacy-deid (chmod 700)"
    )
    D670 = "surrogates of numbers need the package 'libffx': pip install 'spacy-deid[surrogates]'"

    # strategies and styles of surrogates
    D690 = "a probability of {value} is none: it must be from 0 to 1"
    D691 = (
        "style 'surrogate' needs a project key. Make one (spacy-deid key new FILE) and give it: load(…, project_key=FILE), "
        "or --key FILE"
    )
    D692 = "unknown label '{label}' in the strategies of a surrogate style. Known labels: {known}"
    D693 = "pipeline '{name}' has no component 'deid_surrogate', which writes what is released"
    D694 = "{path}: holds no entities that are asked for, so there is nothing to make surrogates of"
    D695 = "pipeline '{name}' embeds no tokens: it has neither vectors nor a component that fills doc.tensor"
    D696 = "one of {best} candidates cannot be drawn when {candidates} are ranked: at least 2, and no more than are ranked"

    # medical dictionaries, phrase counts
    D700 = "{path}: not {format}: {reason}"
    D701 = "{path}, row {row}: {reason}"
    D702 = "{path}: {count} of {rows} rows are broken, first row {row}: {reason}. Is it {format}?"
    D703 = "no medical dictionary for language '{lang}'. Languages with one: {known}"
    D704 = "{path}: not a medical dictionary of this version"
    D705 = "{path}: not phrase counts of this version"
    D706 = "no phrase counts for language '{lang}'. Languages with counts: {known}"
    D707 = "{path}: {reason}"
    D708 = "'{value}' is not FORMAT=PATH. Known formats: {known}"
    D709 = "no medical terms: nothing was read, or everything was left out"
    D710 = "{path}, row {row}: no patient. Name the key of the patient with --patient-field"

    # local language models
    D730 = "component '{name}': no language model. Set 'model' to a GGUF file, or to the address of a server here"
    D731 = "language model at {host}: {reason}"
    D732 = "language model {name} gave no answer: {reason}"
    D733 = "model {path}: {reason}"
    D734 = "prompt {path}: {reason}"
    D735 = "no prompt '{prompt}' for language '{lang}'. Those that ship: {known}. Or give the path of a file"
    D736 = "no de-identified text: '{name}' has no answer for part {part} of {parts}, {start}:{end}: {reason}"
    D737 = "a language model needs the package '{package}': pip install 'spacy-deid[{extra}]'"
    D738 = "a language model's setting '{setting}' must be {wanted}"
    D739 = "runs cannot be compared: it takes two or more, with a figure of a document or more each"

    # tables of notes, sampling
    D740 = "{source}: {reason}"
    D741 = "{source}: no column '{column}'. Its columns: {known}"
    D742 = "{source}, row {row}: {reason}"
    D743 = "{source}: no notes to draw from ({rows} rows: {skipped})"
    D744 = "{source}: more than {limit} groups of note type and period. Is '{column}' the note type?"
    D745 = "{source}: rows {rows} have the same note id"
    D746 = (
        "{source}: {count} note(s) could not be read again. Was it changed meanwhile, or does a note id stand twice?"
    )
    D747 = "unknown period '{period}'. It is year, half, quarter, month or a number of years"
    D748 = "{source}: the database refused ({kind}). What it says is withheld, because it could quote a value"
    D749 = "{source}: reading it needs {package}: pip install 'spacy-deid[ehr]'"
    D750 = "{path}: holds other files than a sample, so it is not replaced. Choose another place to write to"
    D751 = "{source}: none of the {rows} dates could be read. Name their format with --date-format"
    D752 = "unknown weighting '{weighting}'. Known weightings: {known}"

    # CAS, texts of one document
    D753 = "{path}: not a UIMA CAS that can be read ({reason})"
    D754 = "{path}: {reason}. Name the layer of identifiers as TYPE:FEATURE. Layers of the file: {known}"
    D755 = "{path}, annotation {number}: {reason}"
    D756 = (
        "document '{name}': ground truth for another text: {matched} of {total} letters, digits and signs agree in order, "
        "{least:.0%} are needed"
    )
    D757 = "reading a CAS, and writing XMI, needs dkpro-cassis: pip install 'spacy-deid[cas]'"
    D758 = "layer '{layer}' is not TYPE:FEATURE, as in webanno.custom.PHI:kind"
    D759 = "{path}: XMI needs its type system: no TypeSystem.xml beside it or in the folder above"

    D760 = "{source}: no note to audit ({skipped})"
    D761 = "{source}: more than {limit} values in column '{column}'. Is it one that groups notes?"

    # documents
    D711 = "{path}: no format for this suffix. Known: {known}"
    D712 = "{path}: the name says {said}, the content says {seen}"
    D713 = "{path}: reading it needs the package '{package}': pip install 'spacy-deid[documents]'"
    D714 = "the redacted copy is withheld: {place} still holds {label}. {remedy}"
    D715 = "{path}: {reason}"
    D716 = (
        "{path}: Tesseract, which reads scans and pictures, is not installed (Debian: tesseract-ocr). Documents that have "
        "text are read without it if pictures are removed: --pictures remove, or 'pictures' among the settings of a job"
    )
    D717 = "{path}: Tesseract has no data for language {missing} (Debian: tesseract-ocr-LANG). It has: {known}"
    D718 = "{path}, page {page}: {reason}"
    D719 = (
        "the redacted copy is withheld: page {page} still shows what {label} covered. Look at that page of the original, "
        "and have it read as it looks: --ocr always, or 'ocr' among the settings of a job"
    )
    D724 = (  # remedy of D714 on a page or picture
        "Look at it in the original. What OCR could not read is removed with --unread remove, pictures in documents that "
        "have text with --pictures remove, and --ocr always reads every page as it looks (in the service: settings of a "
        "job)"
    )
    D725 = (  # remedy of D714 anywhere else
        "Remove it there in the original, or save the original as PDF and redact that"
    )
    D721 = "columns file {path}: {reason}"
    D722 = "{path}: no column {missing}, which the policy of columns names"
    D723 = "{path}: column(s) {columns} hold lists, records or bytes, which are not searched. Keep or drop them"
    D727 = (
        "the redacted copy is withheld: page {page} still shows a bar code. Cover it in the original, or release bar codes: "
        "--codes keep, or 'codes' among the settings of a job"
    )
    D790 = "{path}: --vault keeps notes, not documents. Redact documents in a run without it"

    # processes
    D770 = "its process was ended, by a fault of a library or for want of memory"
    D771 = "it took too long: more than {seconds} seconds"
    D772 = (
        "the worker processes do not start: the first one ended with code {code}. In a script, start them below "
        "'if __name__ == \"__main__\":', because each worker imports the script"
    )
    D773 = (
        "a worker process could not be started: {reason}. Whatever the pipeline holds must be picklable; on Linux "
        "start_method='fork' needs no pickling"
    )
    D774 = (
        "an item must be a text, a Doc, a path, a File or a Document, or a pair of one of them and a dict, not {kind}"
    )
    D775 = (
        "the text has {length:,} characters, more than the {limit:,} of nlp.max_length. Split it between notes or rows, "
        "or raise nlp.max_length: a million characters need about 130 MB of memory"
    )
    D776 = "{setting} must be {wanted}, got {value}"
    D778 = (
        "this script starts worker processes while one of them imports it. Start them below "
        "'if __name__ == \"__main__\":'"
    )
    D779 = "there is no copy, because the item was no file. Use 'text'"
    D777 = "{path}: another run is writing to this folder. Wait until it is done, or choose another folder"

    # recovery
    D720 = "'{name}' cannot recover label(s) {labels}: they are never medical. Labels that can be: {known}"

    # masked language models
    D800 = "{path}: no {file} in it, so it is not the folder of a masked language model"
    D801 = "{path}: a checkpoint of a training with other settings. Choose another folder, or delete it to begin anew"
    D802 = "{path}: the model's tokenizer has no mask, so it is no masked language model"
    D803 = "unknown precision '{precision}'. It is float or int8"
    D804 = (
        "{path}: no such folder, and no model of that name ships with the package (those do: {known}). It is fetched "
        "from a model hub only if 'allow_download' is set"
    )
    D805 = "{path}: the tokenizer is a slow one, which cannot tell where its pieces stand. It needs a tokenizer.json"
    D806 = "{path}: this model needs packages that are not installed: pip install 'spacy-deid[{extra}]'"
    D807 = "{path}: is damaged, or no masked language model ({kind})"
    D808 = "a window of {length} pieces is too short; it must hold at least {least}"
    D809 = "'{source}': no combination of scores ships under this name, and it is no file of one"
    D810 = "the combination of scores needs columns that were not computed: {columns}"
    D811 = "no word counts ship for language '{lang}', only for: {known}"
    D812 = "component '{name}': {setting} must be {wanted}"
    D813 = "masked language model '{name}' was exported without its hidden states. Export it again: scripts/ship_lm.py"

    # measures of scored tokens
    D830 = "scores cannot be measured: {reason}"
    D831 = "no threshold can be chosen: {gold} token(s) are PHI, {scored} token(s) have a score"
    D832 = "no threshold reaches a recall of {wanted}: {reached} is what all scored tokens reach"
    D833 = "document '{name}': {reason}. Are tokenizer and text those that it was scored with?"
    D834 = "document '{name}' was not scored: 'deid_surprisal' did not run"
    D835 = "'{value}' is no way to choose a threshold. Say f1, or recall=R with R above 0 and at most 1"
    D836 = "{path}: {reason}"
    D837 = "unknown {kind} '{name}'. Known: {known}"

    # review
    D840 = "'{name}': 'deid_surprisal' did not score this text, so nothing can be proposed for review"
    D841 = "'{name}': the scores of 'deid_surprisal' are not those of this text"
    D842 = "'{name}': 'deid_surprisal' wrote no column '{column}'. Its columns: {known}"

    # app
    D900 = "unknown job '{id}'"
    D901 = "unknown file '{id}'"
    D902 = "the file is {state}; {wanted}"
    D903 = "{path} has files that are sealed with another key, or that are damaged"
    D904 = "the file is larger than {limit} MB"
    D905 = "more than {limit} files in a job"
    D906 = "no files were given"
    D907 = "a server that others than this machine reach ('{host}') needs a token of at least {length} characters"
    D908 = "{setting}: '{value}' is not offered. Offered: {known}"
    D909 = "the process that worked on the file stopped twice. Is the file damaged, or does it need too much memory?"
    D910 = "no span from {start} to {end}"
    D911 = "a span from {start} to {end} is outside the text, which has {length} characters, or overlaps another"
    D912 = "the text of the file was read otherwise than before; de-identify it again"
    D913 = "the file has decisions that are not applied yet"
    D914 = "the style 'surrogate' needs a project key: start the server with --key"
    D915 = "the file is still in work"
    D916 = (
        "no file of the job has an annotation in what was uploaded: names and texts must be those of the job's files"
    )
    D917 = "the package '{package}' is not installed: pip install 'spacy-deid[app]'"
    D918 = "{path} is used by another service: stop it, or give this one a folder of its own"
    D919 = "it took longer than {minutes} minutes"
    D920 = "it needs more memory than {limit} GB"
    D921 = "the job is in work with other settings; cancel it first"
    D922 = "the token must be of printable ASCII characters without spaces"
    D923 = "too much is waiting; try again later"
    D924 = "two of the files have the same name"
    D925 = "the files of a job are larger than {limit} MB together"
    D926 = "the worker stopped ({code}); it starts again in {seconds} seconds"
    D927 = "the form is not filled in as it should be"
    D928 = "the request is larger than {limit} MB"
    D929 = "the folder of the service cannot be written to: {reason}"
    D930 = "the process that worked on it was ended, by a fault of a library or for want of memory"
    D935 = (
        "{count} file(s) have warnings: look at the places that they name in the copy, then download it with "
        "accept_warnings=true. GET /v1/files/FILE and the page of the job show the warnings"
    )

    # lemmatizers
    D820 = "no lemmas for language '{lang}' in {package}. Choose another lemmatizer, or check the extra '{extra}'"
    D821 = "{package} is not installed: pip install 'spacy-deid[{extra}]'"
    D822 = (
        "Voikko is not installed: it needs the Python package libvoikko, the library (Debian: libvoikko1) and the "
        "Finnish dictionary (Debian: voikko-fi)"
    )
    D823 = "{path}: not a spaCy pipeline with a lemmatizer. 'spacy project run lemmatizer' trains one"
    D824 = "no lemmatizers to ask: give at least one"
    D825 = "no lemmatizer by rule for language '{lang}'. Languages that have one: {known}"


class Warnings:
    """Warning messages, under the same rules."""

    DW340 = (
        "pipeline '{name}' was made by spacy_deid {made}, these are the components of {here}. Measure it again on your "
        "own notes before use"
    )
    DW342 = (
        "pipeline '{name}' has no checksums, so damage to its files would go unnoticed. Load it with spacy_deid.load and "
        "save it again with nlp.to_disk to add them"
    )
    DW730 = (
        "the language model ({key}) found no person where other detectors did. The note may have talked it out of its "
        "task: look at the whole note"
    )
    DW341 = (
        "operating point '{point}': no threshold has the character precision of {floor} that it asks for, the best is "
        "{best:.4f}, so it takes the thresholds of the point above it. The gold seems incomplete, or the pipeline weak"
    )


def describe(error: BaseException) -> str:
    """Say what went wrong without quoting a note.

    error (BaseException): any exception.
    RETURNS (str): our own message, the system's message, or the kind of the exception and where it was raised.
    """
    if isinstance(error, DeidError):
        return str(error)
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "an unknown place"
    return Errors.D418.format(kind=type(error).__name__, where=where)


def printable(text: str) -> str:
    """Write characters that a terminal would obey, not show, as escapes: of control, of direction, line breaks.

    text (str): a message, perhaps with the name of a file in it, which may hold any of them.
    RETURNS (str): the message on one line.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else ascii(char)[1:-1] for char in text
    )
