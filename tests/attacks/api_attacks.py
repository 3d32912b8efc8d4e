"""Attacks on the interface for documents, and on how copies of documents are handed out."""

import io
from email import message_from_bytes
from email.message import EmailMessage
from pathlib import Path

import docx
from attacks.catalogue import Outcome, attack
from PIL import Image, ImageDraw, ImageFont

import spacy_deid
from spacy_deid.app.processing import FileProcessor
from spacy_deid.app.results import zip_job
from spacy_deid.app.settings import JobSettings, ServiceSettings
from spacy_deid.app.workers import open_store, work
from spacy_deid.documents import ReadSettings, read_document, redact_document
from spacy_deid.errors import InputError
from spacy_deid.offsets import Edit

CANARY = "Zubeldiagoyena"
TABLE = f"patient,note\n{CANARY},Ingresa por disnea.\n".encode()
SETTINGS = ReadSettings(columns={"patient": "label:PATIENT"})


@attack("API: a column that is declared to hold names, and edits of its text alone")
def ignore_columns(folder: Path) -> Outcome:
    """The pipeline sees a bare word in a table; only the policy of columns knows that it is a name."""
    document = read_document(TABLE, "visits.csv", SETTINGS)
    edits = spacy_deid.load("es")(document.text)._.deid_edits
    copies = [redact_document(document, given) for given in (edits, [])]
    return Outcome(2, sum(CANARY.encode() in copy for copy in copies))


@attack("API: an edit that puts back the cell of a column that is declared to hold names")
def put_back(folder: Path) -> Outcome:
    """An edit that changes nothing must not count as one that covers the cell."""
    document = read_document(TABLE, "visits.csv", SETTINGS)
    at = document.text.index(CANARY)
    copy = redact_document(document, [Edit(at, at + len(CANARY), "PATIENT", CANARY)])
    return Outcome(1, int(CANARY.encode() in copy))


@attack("E-mail: an attached table with a column that is declared to hold names")
def attach_table(folder: Path) -> Outcome:
    """The policy of columns holds for a table wherever it lies."""
    message = EmailMessage()
    message["Subject"] = "Visitas"
    message.set_content("Adjunto.")
    message.add_attachment(TABLE, "text", "csv", filename="visits.csv")
    document = read_document(message.as_bytes(), "a.eml", SETTINGS)
    copy = message_from_bytes(spacy_deid.Deidentifier("es")(document).copy)
    parts = [part.get_payload(decode=True) or b"" for part in copy.walk()]
    return Outcome(1, int(any(CANARY.encode() in part for part in parts)))


@attack("Service: a picture with a name that a job keeps unread, downloaded unseen")
def download_unseen(folder: Path) -> Outcome:
    """The copy shows the name. Nobody gets it without saying that they accept its warning."""
    picture, document = io.BytesIO(), docx.Document()
    image = Image.new("L", (900, 120), 255)
    ImageDraw.Draw(image).text((20, 20), CANARY, fill=0, font=ImageFont.load_default(60))
    image.save(picture, "PNG")
    document.add_picture(picture)
    document.save(data := io.BytesIO())
    settings = ServiceSettings(folder / "data")
    store = open_store(settings)
    job = store.add_job(JobSettings(pipeline="es", pictures="keep").model_dump(), [("a.docx", data.getvalue())])
    store.queue.start(job, store.job(job).settings)
    while task := store.queue.claim():
        work(FileProcessor(settings, store), store, task)
    assert store.files(job)[0].state == "done"
    try:
        list(zip_job(store, store.job(job), keep_names=False, with_text=False))
    except InputError:
        return Outcome(1, 0, "withheld")
    return Outcome(1, 1)
