"""Take the screenshots of docs/guides/app.md from a running service, with letters of invented persons.

python -m benchmarks.screenshots --output docs/images
"""

import io
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx
import typer
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page, sync_playwright
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
LETTERS = {
    "carta-01": (
        "Nombre: Aurelio Bustarviejo Linde. NHC: 4471906. Fecha de ingreso: 04/11/2024.",
        "Varón de 71 años que ingresa por disnea. Antecedentes: enfermedad de Parkinson.",
        "Soplo sistólico 2/6, Hb 12,4 g/dl. Se ajusta el tratamiento con furosemida.",
        "Domicilio: calle del Romero 14, 19004 Guadalajara.",
        "Teléfono: 949 55 01 27.",
        "Médico: Dr. Fermín Galdeano Ochoa, Servicio de Cardiología.",
    ),
    "carta-02": (
        "Nombre: Begoña Uriarte Salcines. NHC: 5520187. Fecha de ingreso: 12/01/2025.",
        "Mujer de 54 años con dolor torácico atípico. ECG sin alteraciones.",
        "Alta con control por su médico. Dra. Nuria Castejón Prat.",
    ),
    "carta-03": (
        "Nombre: Ramiro Olabarría Fuentes. NHC: 3318842. Fecha de ingreso: 23/02/2025.",
        "Revisión tras neumonía. Radiografía de tórax sin infiltrados.",
        "Próxima cita el 14/03/2025. Dr. Tomás Echevarría Roldán.",
    ),
}


def write_letters(folder: Path) -> list[Path]:
    """Write a text file, a PDF with a logo, and a scan. RETURNS (list[Path]): their paths."""
    text, pdf, scan = (folder / f"{name}.{kind}" for name, kind in zip(LETTERS, ("txt", "pdf", "png"), strict=True))
    first, second, third = LETTERS.values()
    text.write_text("\n".join(first) + "\n", encoding="utf8")
    canvas = Canvas(str(pdf), pagesize=A4)
    for i, line in enumerate(second):
        canvas.drawString(60, 760 - 18 * i, line)
    logo = Image.new("RGB", (120, 60), "white")
    ImageDraw.Draw(logo).ellipse((20, 5, 100, 55), outline="darkblue", width=6)
    canvas.drawImage(ImageReader(logo), 420, 770, 120, 60)
    canvas.save()
    page = Image.new("L", (1654, 900), 255)
    font = ImageFont.load_default(34)
    for i, line in enumerate(third):
        ImageDraw.Draw(page).text((120, 120 + 60 * i), line, fill=0, font=font)
    page.save(scan, dpi=(200, 200))
    return [text, pdf, scan]


def serve(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start a service and wait until it is ready."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    command = [sys.executable, "-m", "spacy_deid", "serve", "--data", str(folder), "--port", port]
    process, url = subprocess.Popen(command), f"http://127.0.0.1:{port}"
    for _ in range(600):
        time.sleep(0.2)
        if process.poll() is not None:
            break
        try:
            if httpx.get(f"{url}/v1/health", trust_env=False).status_code == 200:
                return process, url
        except httpx.TransportError:
            continue
    raise SystemExit("the service did not start")


def drive(page: Page, url: str, letters: list[Path], truth: Path, keep: "Keep") -> None:
    """Perform the steps of a user, and take a screenshot of each."""
    page.goto(url)
    page.set_input_files("#files", letters)
    keep(page, "app-documents")
    page.click("#upload button")
    page.wait_for_selector("#job[data-busy='0']", timeout=240_000)
    page.click("form.grid button")
    page.wait_for_selector("#job[data-busy='0'] .state.done >> nth=2", timeout=240_000)
    keep(page, "app-job")
    page.click("tbody a >> nth=0")
    page.wait_for_url("**/files/*")  # loaded, with its script
    for _ in range(3):
        page.keyboard.press("j")
    page.wait_for_selector("#evidence table")
    keep(page, "app-review")
    page.click("main p a")
    page.click("a[href$=report]")
    page.set_input_files("#truth", [truth.with_suffix(".txt"), truth])
    page.click("main form button")
    page.wait_for_selector("caption")
    keep(page, "app-report")


class Keep:
    """Saves screenshots with few colours to keep files small."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, page: Page, name: str) -> None:
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        picture = picture.quantize(48, dither=Image.Dither.NONE)
        picture.save(self.folder / f"{name}.png", optimize=True)


def write_truth(folder: Path) -> Path:
    """Write ground truth of the first letter, with one name missing and one with another label."""
    text = "\n".join(LETTERS["carta-01"]) + "\n"
    marked = [("PATIENT", "Aurelio Bustarviejo Linde"), ("MRN", "4471906"), ("DATE", "04/11/2024")]
    marked += [("AGE", "71 años"), ("STREET", "calle del Romero 14"), ("ZIP", "19004"), ("CITY", "Guadalajara")]
    marked += [("PHONE", "949 55 01 27"), ("PATIENT", "Fermín Galdeano Ochoa"), ("ORGANIZATION", "Cardiología")]
    lines = []
    for i, (label, found) in enumerate(marked, 1):
        start = text.index(found)
        lines.append(f"T{i}\t{label} {start} {start + len(found)}\t{found}\n")
    (folder / "carta-01.txt").write_text(text, encoding="utf8")
    (folder / "carta-01.ann").write_text("".join(lines), encoding="utf8")
    return folder / "carta-01.ann"


@app.command()
def main(output: Annotated[Path, typer.Option(help="Folder of the pictures.")]) -> None:
    """Take the pictures of the guide to the app."""
    output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        (folder / "truth").mkdir()
        letters, truth = write_letters(folder), write_truth(folder / "truth")
        process, url = serve(folder / "data")
        try:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1200, "height": 760}, locale="en")
            drive(page, url, letters, truth, Keep(output))
            browser.close()
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    app()
