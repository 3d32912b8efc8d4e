# ruff: noqa: E501 - a note has lines as long as those of real notes
"""Write the sample corpus: Spanish notes of invented persons, annotated by construction in the labels of MEDDOCAN.

It is small and of one hand: it shows the formats and lets the whole project run in a minute. Figures measured on it
say nothing about real notes.

    python corpus/sample/make.py

A template is text with slots, as "Nombre: {given}."; `LABELS` says which label the value of a slot has, if any. The
same seed writes the same bytes.
"""

import unicodedata
from pathlib import Path
from random import Random
from string import Formatter

SEED = 2024
SPLITS = {"train": 24, "dev": 8}

LABELS = {
    "given": "NOMBRE_SUJETO_ASISTENCIA",
    "surnames": "NOMBRE_SUJETO_ASISTENCIA",
    "surname": "NOMBRE_SUJETO_ASISTENCIA",
    "full": "NOMBRE_SUJETO_ASISTENCIA",
    "doctor": "NOMBRE_PERSONAL_SANITARIO",
    "second": "NOMBRE_PERSONAL_SANITARIO",
    "kin": "FAMILIARES_SUJETO_ASISTENCIA",
    "kin_name": "FAMILIARES_SUJETO_ASISTENCIA",
    "age": "EDAD_SUJETO_ASISTENCIA",
    "years": "EDAD_SUJETO_ASISTENCIA",
    "sex": "SEXO_SUJETO_ASISTENCIA",
    "H": "SEXO_SUJETO_ASISTENCIA",
    "job": "PROFESION",
    "trait": "OTROS_SUJETO_ASISTENCIA",
    "born": "FECHAS",
    "in": "FECHAS",
    "out": "FECHAS",
    "month": "FECHAS",
    "hospital": "HOSPITAL",
    "centre": "CENTRO_SALUD",
    "institution": "INSTITUCION",
    "street": "CALLE",
    "street2": "CALLE",
    "town": "TERRITORIO",
    "province": "TERRITORIO",
    "cp": "TERRITORIO",
    "country": "PAIS",
    "phone": "NUMERO_TELEFONO",
    "mobile": "NUMERO_TELEFONO",
    "fax": "NUMERO_FAX",
    "email": "CORREO_ELECTRONICO",
    "url": "URL_WEB",
    "ip": "DIREC_PROT_INTERNET",
    "nhc": "ID_SUJETO_ASISTENCIA",
    "dni": "ID_SUJETO_ASISTENCIA",
    "nass": "ID_ASEGURAMIENTO",
    "plan": "NUMERO_BENEF_PLAN_SALUD",
    "episode": "ID_CONTACTO_ASISTENCIAL",
    "col": "ID_TITULACION_PERSONAL_SANITARIO",
    "staff": "ID_EMPLEO_PERSONAL_SANITARIO",
    "plate": "IDENTIF_VEHICULOS_NRSERIE_PLACAS",
    "device": "IDENTIF_DISPOSITIVOS_NRSERIE",
    "print": "IDENTIF_BIOMETRICOS",
    "number": "OTRO_NUMERO_IDENTIF",
}

WOMEN = "Amparo Benita Cayetana Elvira Fuensanta Graciela Irati Jimena Macarena Nieves Paloma Rocío".split()
MEN = "Anselmo Baltasar Cipriano Efrén Fulgencio Gonzalo Isidoro Jacinto Leandro Melchor Saturnino Ximo".split()
SURNAMES = """Aldecoa Barrientos Cantalapiedra Dorronsoro Escalante Fuertes Garabito Hinojosa Iruretagoyena Jubera
    Lasarte Mondragón Nogueras Ocaña Peribáñez Quesada Rebolledo Sanchidrián Tejedor Urbina Villaescusa Zarzosa""".split()
TOWNS = [
    ("Medina del Campo", "Valladolid", "47400"),
    ("Calahorra", "La Rioja", "26500"),
    ("Lorca", "Murcia", "30800"),
    ("Úbeda", "Jaén", "23400"),
    ("Monforte de Lemos", "Lugo", "27400"),
    ("Reinosa", "Cantabria", "39200"),
    ("Tudela", "Navarra", "31500"),
    ("Alcañiz", "Teruel", "44600"),
]
STREETS = "Calle Molino Viejo|Avda. de los Olmos|C/ Fuente Nueva|Plaza del Grano|Paseo de la Ribera|Calle Herrería"
HOSPITALS = (
    "Hospital Virgen del Olmo|Hospital Universitario San Baudelio|Clínica Santa Elvira|Hospital Comarcal del Duero"
)
CENTRES = "Centro de Salud La Noria|Centro de Salud Fuente del Rey|Consultorio de Valdehuertos"
INSTITUTIONS = "Fundación Ribera Alta|residencia Los Almendros|Instituto Cántabro de Hidrología|Talleres Urdaneta"
JOBS = {"H": "albañil|minero jubilado|profesor de instituto|camionero", "M": "soldadora|azafata|maestra|ganadera"}
KIN = {"H": "esposa|hija|hermana", "M": "marido|hijo|hermano"}
TRAITS = "campeón provincial de ajedrez|trillizos|única superviviente del accidente de la presa|raza gitana"
COUNTRIES = "España|España|España|Portugal|Argentina|Marruecos"
MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()

HEADER = """Datos del paciente.
Nombre: {given}.
Apellidos: {surnames}.
NHC: {nhc}.
NASS: {nass}.
Domicilio: {street}.
Localidad/ Provincia: {town}.
CP: {cp}.
Datos asistenciales.
Fecha de nacimiento: {born}.
País: {country}.
Edad: {age} Sexo: {H}.
Fecha de Ingreso: {in}.
"""

TEMPLATES = [
    HEADER
    + """Episodio: {episode}.
Médico: {doctor} NºCol: {col}.
Informe clínico del paciente: {sex} de {age}, hipertens{o}, que ingresa por disnea y ortopnea. TA 164/92 mmHg, soplo 2/6, crepitantes basales. Creatinina 1,4 mg/dl, NT-proBNP 5.210 pg/ml. Ecocardiograma con FEVI 41 %.
Mejora con furosemida 80 mg/24 h. Se informa a su {kin} y recibe el alta el {out}.
Remitido por: {dr} {doctor} {hospital} {street2} {cp} {town} ({country}) Email: {email}
""",
    HEADER
    + """Médico: {doctor} NºCol: {col}.
Antecedentes: sin alergias. Trabaja como {job}.
Historia Actual: paciente de {age} que acude en {month} por hematuria macroscópica. TC: masa renal izquierda de 6 cm. Nefrectomía radical, carcinoma de células claras, Fuhrman 2, T3N0M0.
Evolución: sin complicaciones, Hb 11,8 g/dl al alta. Revisión el {out} con Dra. {second}.
Remitido por: {doctor}. {hospital}. {town}. Correo electrónico: {email}
""",
    """HOJA DE URGENCIAS - {hospital}
Episodio {episode}    Llegada: {in} 22:41    Nivel 2
Paciente: {full}    DNI: {dni}    F. nac.: {born} ({age})    Sexo: {sex}
Domicilio: {street}, {cp} {town}    Móvil: {mobile}

MOTIVO: dolor en fosa ilíaca derecha de 20 horas, fiebre y vómitos. Acompaña su {kin}, {kin_name}.
EXPLORACIÓN: 38,3 ºC, TA 118/70, FC 97. Blumberg y Rovsing positivos, Murphy negativo.
PRUEBAS: leucocitos 15.300, PCR 88 mg/l. Ecografía: apéndice de 10 mm.
PLAN: dieta absoluta, metronidazol 500 mg i.v. Acepta cirugía la {dr} {doctor} (col. {col}).
""",
    """EVOLUCIÓN EN PLANTA. Neurología
{full}   NHC {nhc}   {in}

S: Pasa mejor noche. Su {kin} notó ayer el habla más lenta. Niega diplopía.
O: Glasgow 15, Romberg negativo, Babinski flexor. Na 139, K 4,2, VSG 11 mm/h.
A: Brote de esclerosis múltiple, EDSS 2,5. No impresiona de Parkinson.
P: Metilprednisolona 1 g i.v. al día. Comentado con {dr} {doctor}; revisión el {out}.
Firmado: {second}. Matrícula interna {staff}.
""",
    """{centre}
{street}. {cp} {town} ({province}). Tel.: {phone} Fax: {fax}

{town}, {in}

Estimada Dra. {second}:

Le remito a {full}, {sex} de {age}, {job}, que vive con su {kin}. Desde {month} refiere rectorragia y ha perdido 6 kg. CEA 8,9 ng/ml, ferritina 7 ng/ml. Colonoscopia: neoformación a 20 cm, adenocarcinoma.
Toma enalapril 10 mg y tiotropio 18 mcg. Índice de Charlson 4. Puede llamar al {mobile}.

Un saludo, {doctor}, col. {col}
""",
    """Consulta de Endocrinología, {hospital}
Nombre y apellidos: {full}
CP {cp}, {town}. Tarjeta sanitaria {nass}. Mutua: {plan}.
Fecha: {in}. Próxima: {out}.
Resumen: {sex} de {years}, tiroiditis de Hashimoto y diabetes tipo 1 diagnosticada hace 12 años. HbA1c 7,4 %, TSH 2,1 mUI/l. Bomba de insulina con nº de serie {device}. Insulina lispro 32 UI/día, levotiroxina 75 mcg.
Los datos del sensor se suben desde {ip} a {url}.
{dr} {doctor}
""",
    """Informe pericial de lesiones
A petición de {institution}. Expediente {number}.
Lesionad{o}: {full}, {sex}, DNI {dni}, {age}, {job}. Natural de {country}.
El {in}, en {town}, conducía el vehículo {plate} cuando sufrió una colisión. Fractura de Colles derecha, Gustilo I. Consta huella dactilar {print} en la ficha de identificación.
Sesenta días de baja, secuelas 4 puntos. EVA 3/10.
{town}, {out}. Perito: {dr} {doctor}, nº {col}.
""",
    """Nota de enfermería
{in} 07:15. {surname} pasa la noche sin dolor. Diuresis 1.450 ml, TA 126/74, SatO2 96 %, Braden 17. Drenaje de Penrose 40 ml. Pregunta por su {kin}. Paracetamol 1 g a las 06:00. Avisar a la {dr} {doctor} si PVC > 12.
""",
    """Trabajo social. {centre}
Usuari{o}: {given} {surnames}. {sex} de {age}, {job}, {trait}.
Vive en {street}, {town}, con su {kin}. Acude a {institution} desde {month}. Barthel 65, escala de Gijón 14.
Contacto: {email}, {phone}. Recogida de datos: {in}. Trabajadora social nº {staff}.
""",
    HEADER
    + """Servicio: Hematología. Médico: {doctor} NºCol: {col}.
Resumen: {sex} de {age} natural de {province}, con enfermedad de Hodgkin IIA, Karnofsky 90. Inicia ABVD (doxorrubicina 25 mg/m2) el {out}. Su caso se presentó en {month}. {sr} {surname} tolera bien el segundo ciclo. Plaquetas 214.000, LDH 198 U/l.
Familiar de contacto: {kin_name} ({kin}), {mobile}.
Responsable clínico: {dr} {doctor}. {hospital}. {street2}. {cp} {town}. ({country}). E-mail: {email}
""",
    """Informe de holter
Dispositivo {device}, registro del {in} al {out}. Paciente {nhc}: {surnames}, {given} ({H}, {years}).
Ritmo sinusal, FC media 68 lpm, 214 extrasístoles ventriculares aisladas, sin Wenckebach ni pausas > 2 s. QTc 431 ms (Bazett).
Informa: {second}. {hospital}, {phone}.
""",
    """Carta de alta para el paciente
{given}: el {in} ingresó en {hospital} por una neumonía (CURB-65 de 2, FINE III) y hoy, {out}, vuelve a casa. Termine la amoxicilina, 875 mg cada 8 horas, cinco días. Si tiene más de 38 ºC, llame al {phone} o escriba a {email}.
Le esperamos en {centre} de {town} con {dr} {doctor}.
""",
]


def fold(text: str) -> str:
    """Lower case without accents, for mail addresses."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if c.isalpha() and c.isascii())


def dni(number: int) -> str:
    """A DNI with its letter."""
    return f"{number:08d}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def nass(province: str, serial: int) -> str:
    """A social security number with its two check digits; `serial` has eight digits."""
    return f"{province} {serial} {int(f'{province}{serial}') % 97:02d}"


def values(random: Random) -> dict[str, str]:
    """One invented patient, with all that the templates may say."""
    pick = random.choice
    letter = pick("HM")
    given, kin_given = pick(MEN if letter == "H" else WOMEN), pick(WOMEN if letter == "H" else MEN)
    doctor = f"{pick(WOMEN + MEN)} {pick(SURNAMES)} {pick(SURNAMES)}"
    first, last = random.sample(SURNAMES, 2)
    town, province, cp = pick(TOWNS)
    age, year, sep = random.randint(18, 96), random.randint(2012, 2024), pick("/-")
    day, month = random.randint(1, 20), random.randint(1, 12)
    digits = lambda n: str(random.randint(10 ** (n - 1), 10**n - 1))  # noqa: E731
    return {
        "given": given,
        "surnames": f"{first} {last}",
        "surname": first,
        "full": pick([f"{given} {first} {last}", f"{first} {last}, {given}", f"{given} {first}".upper()]),
        "dr": "Dra." if doctor.split()[0] in WOMEN else "Dr.",
        "sr": {"H": "El Sr.", "M": "La Sra."}[letter],
        "doctor": doctor,
        "second": f"{pick(WOMEN)} {pick(SURNAMES)}",
        "kin": pick(KIN[letter].split("|")),
        "kin_name": f"{kin_given} {pick(SURNAMES)}",
        "age": f"{age} años",
        "years": str(age),
        "sex": {"H": "varón", "M": "mujer"}[letter],
        "H": letter,
        "o": {"H": "o", "M": "a"}[letter],
        "job": pick(JOBS[letter].split("|")),
        "trait": pick(TRAITS.split("|")),
        "born": f"{random.randint(1, 28):02d}{sep}{random.randint(1, 12):02d}{sep}{year - age}",
        "in": f"{day:02d}{sep}{month:02d}{sep}{year}",
        "out": pick([f"{day + 8} de {MONTHS[month - 1]} de {year}", f"{day + 8}{sep}{month:02d}{sep}{year}"]),
        "month": f"{pick(MONTHS)} de {year - 1}",
        "hospital": pick(HOSPITALS.split("|")),
        "centre": pick(CENTRES.split("|")),
        "institution": pick(INSTITUTIONS.split("|")),
        "street": f"{pick(STREETS.split('|'))}, {random.randint(1, 90)}{pick(['', ', 2ºA', ', bajo', ', 4 dcha'])}",
        "street2": f"{pick(STREETS.split('|'))}, s/n",
        "town": town,
        "province": province,
        "cp": cp,
        "country": pick(COUNTRIES.split("|")),
        "phone": f"9{digits(2)} 555 {digits(3)}",
        "mobile": pick(["6{} 555 {}", "+34 6{} 555 {}"]).format(digits(2), digits(3)),
        "fax": f"9{digits(2)}555{digits(3)}",
        "email": f"{fold(doctor.split()[0])[0]}{fold(doctor.split()[1])}@{pick(['example.org', 'example.com'])}",
        "url": f"https://registro{digits(2)}.example/{digits(5)}",
        "ip": f"192.0.2.{random.randint(1, 254)}",
        "nhc": digits(7),
        "dni": dni(random.randint(10_000_000, 79_999_999)),
        "nass": nass(cp[:2], random.randint(10_000_000, 99_999_999)),
        "plan": f"{digits(4)}-{digits(6)}",
        "episode": digits(8),
        "col": f"{cp[:2]} {cp[:2]} {digits(5)}",
        "staff": f"E{digits(6)}",
        "plate": f"{digits(4)} {''.join(random.choices('BCDFGHJKLMNPRSTVWXYZ', k=3))}",
        "device": f"SN-{digits(4)}-{digits(4)}",
        "print": f"HD{digits(8)}",
        "number": f"{digits(4)}/{year}",
    }


def fill(template: str, slots: dict[str, str]) -> tuple[str, list[tuple[int, int, str]]]:
    """Fill a template: the note, and (start, end, label) of every labelled value."""
    text, spans = "", []
    for literal, slot, _, _ in Formatter().parse(template):
        text += literal
        if slot is None:
            continue
        if slot in LABELS:
            spans.append((len(text), len(text) + len(slots[slot]), LABELS[slot]))
        text += slots[slot]
    return text, spans


def main() -> None:
    """Write both splits."""
    random = Random(SEED)
    for split, count in SPLITS.items():
        folder = Path(__file__).parent / split
        folder.mkdir(exist_ok=True)
        for i in range(count):
            text, spans = fill(TEMPLATES[i % len(TEMPLATES)], values(random))
            rows = [f"T{n}\t{label} {a} {b}\t{text[a:b]}\n" for n, (a, b, label) in enumerate(spans, 1)]
            (folder / f"{split}-{i + 1:02d}.txt").write_text(text, encoding="utf8")
            (folder / f"{split}-{i + 1:02d}.ann").write_text("".join(rows), encoding="utf8")


if __name__ == "__main__":
    main()
