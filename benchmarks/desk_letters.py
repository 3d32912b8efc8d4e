"""Letters of invented persons for the screenshots and the measurements of the review pages."""

import io
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

DISCHARGE = """St. Brannoc's General Hospital
Department of Cardiology, 14 Quayside Road, Port Ellery, PE4 2QT
Telephone 01632 960482, Fax 01632 960483

DISCHARGE LETTER

Patient: Mr. Torvald Ashgrove
Date of birth: 14/03/1951
Hospital number: 4471906
Address: 27 Larkspur Lane, Port Ellery, PE1 8JD
Admitted: 04/11/2024    Discharged: 12/11/2024

Dear Dr. Penhallow,

Thank you for referring Mr. Ashgrove, a 73-year-old retired lighthouse keeper, who was admitted on 04/11/2024 with
three days of increasing shortness of breath. He lives with his wife Maribel in Port Ellery and has two sons. His
daughter-in-law, Ingrid Ashgrove, gave most of the history, since Torvald was too breathless to speak in sentences.

Past history: hypertension, Parkinson's disease (2016), appendectomy. No allergies. He stopped smoking at the age
of 50 and drinks two units of alcohol a week.

On examination he was afebrile, pulse 104 irregular, blood pressure 148/92 mmHg, saturation 91 % on air. There
was a systolic murmur 2/6 at the apex, with crackles at both bases and pitting oedema to the knees. The Murphy sign
was negative.

Investigations: Hb 12.4 g/dl, creatinine 118 umol/l, NT-proBNP 4210 ng/l, troponin negative twice. The ECG showed
atrial fibrillation with a rate of 104. An echocardiogram on 06/11/2024 by Dr. Wilhelmina Stroud showed an ejection
fraction of 38 % with moderate mitral regurgitation.
\f
Course: Mr. Ashgrove was treated with intravenous furosemide and lost 6.2 kg. Bisoprolol 1.25 mg and apixaban 5 mg
twice a day were started. He was seen by Sister Agnieszka Dubicki of the heart failure team on 08/11/2024, who will
call him at home on 07700 900341. His wife Maribel can be reached on 07700 900552 or m.ashgrove@lantern.example.

Medication on discharge: furosemide 40 mg once a day, bisoprolol 1.25 mg once a day, apixaban 5 mg twice a day,
co-careldopa 25/100 three times a day.

Follow-up: clinic of Dr. Stroud on 03/12/2024, blood tests at the Harbour Street Surgery on 19/11/2024. Please repeat
creatinine and potassium. The letter of Dr. Ochieng from Saint Piran Hospital is enclosed.

Yours sincerely,

Dr. Fenella Marchbanks
Consultant cardiologist, GMC 7016482
St. Brannoc's General Hospital, 13/11/2024
cc: Mr. Torvald Ashgrove, 27 Larkspur Lane, Port Ellery
"""
CLINIC = """Outpatient clinic, Saint Piran Hospital
Date of clinic: 23/02/2025
Patient: Mrs. Beatrix Holloway
Hospital number: 3318842

Review after pneumonia in December. She feels well and walks
two miles a day. Chest clear. The X-ray shows no infiltrates.

Next appointment on 14/03/2025 with Dr. Tobias Wren.
"""
NOTE = """Ward round 12/01/2025, Dr. Nuria Castellan.
Mrs. Ottoline Frayne, 54 years, day 2 after cholecystectomy. Pain well controlled, drain 40 ml, apyrexial.
Her husband Lucien visited. Plan: remove the drain, home tomorrow to 8 Mill Row, Tresco Bay. Contact 07700 900118.
"""
PAGE = "<h1>Referral</h1><p>Re: Miss Clementine Abara, born 02/07/1988. Seen by Dr. Hollis Vane.</p><img src='a.png'>"
NAMES = ("discharge ashgrove.pdf", "clinic holloway.png", "ward round frayne.txt", "referral abara.html")


def write_desk_letters(folder: Path) -> list[Path]:
    """Write a PDF of two pages, a scan, a text, a web page with a warning, and a damaged PDF.

    RETURNS (list[Path]): their paths.
    """
    pdf, scan, note, page = (folder / name for name in NAMES)
    pdf.write_bytes(draw_letter(DISCHARGE))
    image = Image.new("L", (1654, 1100), 255)
    for i, line in enumerate(CLINIC.splitlines()):
        ImageDraw.Draw(image).text((120, 120 + 62 * i), line, fill=20, font=ImageFont.load_default(36))
    image.save(scan, dpi=(200, 200))
    note.write_text(NOTE, encoding="utf8")
    page.write_text(PAGE, encoding="utf8")
    damaged = folder / "scan mrs quill.pdf"
    damaged.write_bytes(b"%PDF-1.7 damaged")
    return [pdf, scan, note, page, damaged]


def draw_letter(text: str) -> bytes:
    """Draw a letter as a PDF with a logo. A form feed starts a page."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4)
    logo = Image.new("RGB", (160, 160), "white")
    ImageDraw.Draw(logo).ellipse((10, 10, 150, 150), outline="darkcyan", width=12)
    ImageDraw.Draw(logo).line((80, 35, 80, 125), fill="darkcyan", width=16)
    ImageDraw.Draw(logo).line((35, 80, 125, 80), fill="darkcyan", width=16)
    for number, page in enumerate(text.split("\f\n")):
        if not number:
            canvas.drawImage(ImageReader(logo), 490, 760, 48, 48)
        canvas.setFont("Helvetica", 9)
        height = 795.0
        for line in page.splitlines():
            canvas.drawString(56, height, line)
            height -= 15.5
        canvas.showPage()
    canvas.save()
    return out.getvalue()
