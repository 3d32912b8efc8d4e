"""Spanish notes: what the rules must find, and what they must leave alone. All persons are invented."""

import pytest
import spacy
from spacy.language import Language

from spacy_deid.patterns import parse_example

FOUND = [
    ("PATIENT", "Nombre: [[Celedonia]].\nApellidos: Barranco Tejo."),
    ("PATIENT", "Nombre: Celedonia.\nApellidos: [[Barranco Tejo]].\nNHC: 44123."),
    ("PATIENT", "NOMBRE Y APELLIDOS: [[CELEDONIA BARRANCO TEJO]]\r\nDNI: no aporta"),
    ("PATIENT", "Paciente: [[Braulio Sanz del Olmo]], 71 años"),
    ("CLINICIAN", "Médico: [[Obdulia Ferrán Quiles]] NºCol: 28 28 12345."),
    ("CLINICIAN", "Remitido por: Dra. [[Obdulia Ferrán Quiles]] Hospital del Sur"),
    ("CLINICIAN", "comentado con el Dr. [[Quiles]], que indica alta"),
    ("CLINICIAN", "Fdo.: [[Eloy Marqués Prat]]"),
    ("PERSON", "La Sra. [[Obdulia Ferrán]], viuda, refiere disnea"),
    ("PERSON", "Acude don [[Braulio Sanz]] acompañado"),
    ("RELATIVE", "Vive con su hija [[Rosaura]] en casa"),
    ("DATE", "Ingresa el [[14/02/2017]] por disnea"),
    ("DATE", "alta el [[3-5-19]]."),
    ("DATE", "revisión el [[2.11.2018]]."),
    ("DATE", "TEP en [[11/93]], anticoagulado"),
    ("DATE", "desde [[enero de 2016]] en diálisis"),
    ("DATE", "fue operada el [[25 de agosto]]"),
    ("DATE", "el [[1º de abril del 2011]] se retira"),
    ("DATE", "En [[ABRIL DE 2014]] RECIDIVA"),
    ("DATE", "el [[quince de marzo de dos mil diez]]"),
    ("DATE", "reingresa en [[septiembre]] por fiebre"),
    ("DATE", "Apendicectomía en [[1987]]."),
    ("DATE", "asintomática hasta el [[año 2009]]"),
    ("DATE", "Fecha: [[323/20]]"),
    ("DATE", "Fecha de Ingreso: [[26708/2017]]."),
    ("DATE", "ingresó el [[25/8]] por ictus"),
    ("DATE", "nueva cita el próximo día [[14]]."),
    ("DATE", "TC del [[23-enero-2004]]"),
    ("AGE", "Varón de [[72 años]] con disnea"),
    ("AGE", "Niña de [[seis años]] de edad"),
    ("AGE", "Lactante de [[4 meses]] de vida"),
    ("AGE", "menarquia a los [[13 años]]"),
    ("AGE", "Edad: [[94 años]] Sexo: M"),
    ("SEX", "Edad: 94 años Sexo: [[M]]."),
    ("NATIONAL_ID", "identificado con [[12345678Z]]"),
    ("NATIONAL_ID", "NIE: [[X1234567L]]"),
    ("NATIONAL_ID", "D.N.I.: [[12.345.678 A]]"),
    ("INSURANCE_ID", "NASS: [[26 63514095]]."),
    ("INSURANCE_ID", "afiliado [[28 12345678 40]] activo"),
    ("MRN", "NHC: [[368503]]."),
    ("MRN", "CIPA: nhc-[[120978]]."),
    ("MRN", "nº historia: [[45/67890]]"),
    ("ENCOUNTER_ID", "Episodio: [[2374864]]."),
    ("LICENSE", "PratNºCol: [[28 28 70973]]."),
    ("HEALTH_PLAN", "Póliza nº [[AB-1234567]]"),
    ("ACCOUNT", "IBAN [[ES91 2100 0418 4502 0005 1332]]"),
    ("ACCOUNT", "tarjeta [[4111 1111 1111 1111]]"),
    ("VEHICLE", "conducía el vehículo con matrícula [[1234 BCD]]"),
    ("DEVICE", "marcapasos con nº de serie: [[PJN-123456]]"),
    ("ROOM", "trasladada a la habitación [[312-B]]"),
    ("PHONE", "Tel.: [[963 862 700]]"),
    ("PHONE", "avisar en el [[653\u00a0343\u00a0435]] por la tarde"),
    ("FAX", "Fax: [[91 336 87 85]]"),
    ("EMAIL", "E-mail: [[obdulia.ferran@ejemplo.es]]."),
    ("URL", "cita en [[https://citas.ejemplo.es/alta?x=1]]."),
    ("IP_ADDRESS", "acceso desde [[10.20.30.40]]"),
    ("STREET", "Domicilio: [[Calle Carmen Romero, 23, 1D]]."),
    ("STREET", "reside en la [[C/ del Abedul 5-7, 2º dcha]], con su hija"),
    ("STREET", "vive en [[Avda. de la Paz s/n]] desde joven"),
    ("ZIP", "CP: [[28016]]."),
    ("ZIP", "C/ del Olmo, 3. [[28046]] Madrid"),
    ("CITY", "C/ del Olmo, 3. 12540 [[Villarreal]]"),
    ("TERRITORY", "natural de [[Villanueva de la Serena]]."),
    ("STATE", "residente durante años en [[Extremadura]] rural"),
    ("COUNTRY", "viaje a [[Sierra Leona]] hace un mes"),
    ("HOSPITAL", "derivado del [[Hospital Universitario Santa Eulalia]] para"),
    ("HEALTH_CENTER", "su médica del [[Centro de Salud Los Almendros]] pauta"),
    ("ORGANIZATION", "estudia en la [[Universidad de Valdelugar]]."),
    ("USERNAME", "Usuario: [[oferran02]]"),
    ("LICENSE", "Nu\u0301mero de colegiado: [[282812345]]"),
]

LEFT = [
    "Soplo sistólico 2/6 en foco mitral.",
    "TA 120/80 mmHg, FC 72 lpm, sat 97 %.",
    "Adenocarcinoma T3N0M0, Gleason 7 (3+4).",
    "Tratamiento con 5-FU y leucovorín.",
    "Leucocitos 14.610/mm3 (neutrófilos 77%), plaquetas 206.000.",
    "Glucemia de 169 mg/dl y triglicéridos de 456 mg/dl.",
    "Doxiciclina 100 mg cada 12 horas durante 6 semanas.",
    "Pauta 1-0-1 y después 2-0-2.",
    "Dolor de 3 años de evolución.",
    "Fumador de 20 cigarrillos al día desde hace 30 años.",
    "Agudeza visual 20/40 en ojo derecho y 5/50 en izquierdo.",
    "Rosa de Bengala positiva a 1/1280.",
    "Escala de Glasgow 15/15.",
    "PSA de 1.16 ng/ml.",
    "Urea 29 mg/dl; creatinina 0,9 mg/dl; sodio 136 mEq/l.",
    "Vía oral 3 veces al día.",
    "Alta a domicilio con control por su médico.",
    "Historia Actual: cuadro de 24 horas de disnea.",
    "El doctor indica reposo absoluto.",
    "Se administran 2000 ml de suero.",
    "Lesión de 3,5 x 2,1 cm en lóbulo superior.",
    "Nódulo de 12 mm en segmento VIII.",
    "Ganglios 3/15 afectados.",
    "Seguimiento durante 24 meses sin recidiva.",
    "A los 3 meses de la intervención está asintomático.",
    "Estadio IIIB, grado 2/3.",
    "Hernia discal L4-L5 y L5-S1.",
    "Serología VHC negativa, VIH negativo.",
    "Fiebre de 38,5 ºC en las últimas 48 horas.",
    "Frecuencia respiratoria 18 rpm, pH 7.35, pCO2 45.",
    "Potasio 3,6 mEq/l (3,5-5,0).",
    "Se realizó TC con cortes de 5 mm.",
    "Polimorfismo C677T en heterocigosis.",
    "Colesterol LDL 130, HDL 45.",
    "Toma 1/2 comprimido por la noche.",
    "Prótesis de 475 cc.",
    "Peso 70 kg, talla 172 cm, IMC 23,7.",
    "Diuresis de 1500 cc en 24 h.",
    "En los últimos 5 años no ha tenido crisis.",
    "Cuarto día de tratamiento antibiótico.",
    "La enfermedad de Dupuytren en mano derecha.",
    "Hospital de día médico.",
    "Dos de cada tres pacientes mejoran.",
    "Cociente 12/15 en la prueba.",
    "Zumo de granada y naranja.",
    "Su padre padecía hipertensión.",
    "Anticuerpos anti-DNA VHB negativos.",
    "Hemograma con VSG 40 mm 1ª hora.",
    "Se da cuenta de 3 episodios previos.",
    "   \n\t ",
]


@pytest.fixture(scope="module")
def nlp() -> Language:
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_patterns")
    return nlp


@pytest.mark.parametrize(("label", "marked"), FOUND)
def test_finds_the_identifier_with_its_label_and_edges(nlp: Language, label: str, marked: str) -> None:
    text, spans = parse_example(marked)
    assert spans
    found = [(e.start, e.end, e.label) for e in nlp.get_pipe("deid_patterns").find(nlp.make_doc(text))]
    assert (*spans[0], label) in found


@pytest.mark.parametrize("text", LEFT)
def test_leaves_clinical_text_alone(nlp: Language, text: str) -> None:
    assert [e.rule for e in nlp.get_pipe("deid_patterns").find(nlp.make_doc(text))] == []
