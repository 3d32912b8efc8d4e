"""English notes, American and British: what the rules must find, and what they must leave alone."""

import pytest
import spacy
from spacy.language import Language

from spacy_deid.patterns import parse_example

FOUND = [
    ("PATIENT", "Name: [[Rosalind Pikestaff]]\nDOB: 01/02/1960"),
    ("PATIENT", "PATIENT NAME: [[HALEWORTH, MARGARET]]  MRN: 123"),
    ("PATIENT", "Surname: [[O'Haraldson]]."),
    ("PATIENT", "Patient: [[Walter Finchley]], a retired teacher"),
    ("CLINICIAN", "Attending: [[Henry Okaforth]]"),
    ("CLINICIAN", "Dictated by: Dr. [[Lucy Marshend]]"),
    ("CLINICIAN", "seen by Dr. [[Okaforth]] yesterday"),
    ("CLINICIAN", "[[Peter J. Vancelot]], MD"),
    ("CLINICIAN", "cc: Dr [[J. P. Marshend]]"),
    ("PERSON", "Mrs. [[Pikestaff]] is doing well"),
    ("PERSON", "Ms. [[Finch-Hale]]'s scan"),
    ("RELATIVE", "his wife [[Maryam]] is at bedside"),
    ("RELATIVE", "Next of kin: [[George Haleworth]]"),
    ("PATIENT", "prefers to be called [[Peggy]]."),
    ("DATE", "Admitted [[12/31/2019]] with fever"),
    ("DATE", "Reviewed [[31/12/19]]."),
    ("DATE", "on [[March 3, 2015]] she fell"),
    ("DATE", "seen [[3rd of March]] in clinic"),
    ("DATE", "last seen [[12-Jan-2019]]"),
    ("DATE", "since [[June 2014]] on dialysis"),
    ("DATE", "PE in [[11/93]]."),
    ("DATE", "discharged on [[3/14]]"),
    ("DATE", "come back on the [[9th]]."),
    ("DATE", "the [[ninth of March]]"),
    ("DATE", "CABG in [['98]]"),
    ("DATE", "diagnosed in [[1998]]."),
    ("DATE", "in the [[late 1990s]]"),
    ("DATE", "Date: [[323/20]]"),
    ("DATE", "DOB: [[1960-02-31]]"),
    ("DATE", "fell on [[Christmas Eve]]"),
    ("DATE", "since [[spring of 2012]]"),
    ("DATE", "in [[August]] he relapsed"),
    ("AGE", "a [[53]]-year-old man"),
    ("AGE", "[[97]] year old woman"),
    ("AGE", "[[84]] y/o male"),
    ("AGE", "a [[fifty-three]]-year-old teacher"),
    ("AGE", "Age: [[91]]"),
    ("AGE", "[[53]]M with chest pain"),
    ("AGE", "died at the age of [[sixty-two]]"),
    ("AGE", "a woman in her [[60s]]"),
    ("SEX", "Sex: [[F]]"),
    ("SSN", "SSN: [[123-45-6789]]"),
    ("SSN", "Social Security Number [[900-12-3456]]"),
    ("NATIONAL_ID", "NHS No: [[943 476 5919]]"),
    ("NATIONAL_ID", "the number [[943 476 5919]] is hers"),
    ("INSURANCE_ID", "NI number [[AB 12 34 56 C]]"),
    ("NATIONAL_ID", "Passport No. [[533401372]]"),
    ("MRN", "MRN: [[00482913]]"),
    ("MRN", "Hospital No. [[K482913]]"),
    ("ENCOUNTER_ID", "Accession #[[S19-00213]]"),
    ("ACCOUNT", "Acct #: [[004482913]]"),
    ("HEALTH_PLAN", "Member ID: [[XJH123456789]]"),
    ("HEALTH_PLAN", "card [[1EG4-TE5-MK73]]"),
    ("LICENSE", "NPI: [[1234567893]]"),
    ("LICENSE", "DEA [[AB1234563]]"),
    ("LICENSE", "GMC No: [[7012345]]"),
    ("EMPLOYEE_ID", "Badge #[[44213]]"),
    ("DEVICE", "pacemaker, serial number [[PJN123456]]"),
    ("VEHICLE", "car registration [[AB12 CDE]]"),
    ("VEHICLE", "VIN [[1M8GDM9AXKP042788]]"),
    ("ROOM", "moved to Room [[412-B]]"),
    ("PHONE", "call [[415-555-2671]] if worse"),
    ("PHONE", "Tel: [[020 7946 0018]]"),
    ("PHONE", "mobile [[07911 123456]]"),
    ("PHONE", "reach her at [[+358\u202f40\u202f123\u202f4567]]"),
    ("FAX", "Fax: [[555-010-2233]]"),
    ("EMAIL", "write to [[r.pikestaff@example.org]]"),
    ("URL", "see [[www.example.com/notes]]"),
    ("IP_ADDRESS", "MAC [[00:1B:44:11:3A:B7]]"),
    ("STREET", "lives at [[12 Elm Street, Apt 4B]] alone"),
    ("STREET", "of [[221B Baker Street]], London"),
    ("ZIP", "Boston, MA [[02115]]"),
    ("CITY", "[[Boston]], MA 02115"),
    ("STATE", "moved from [[North Carolina]]."),
    ("ZIP", "London [[SW1A 1AA]]"),
    ("CITY", "lives in [[Stoke-on-Trent]] with"),
    ("COUNTRY", "travel to [[Sierra Leone]] last year"),
    ("HOSPITAL", "transferred from [[Larkfield Memorial Hospital]] for"),
    ("HOSPITAL", "at the [[Brightwater Clinic]]."),
    ("ORGANIZATION", "works for [[Harper & Sons Ltd]] as a driver"),
    ("USERNAME", "User ID: [[rpike02]]"),
]

LEFT = [
    "2/6 systolic murmur at the apex.",
    "BP 120/80, HR in the 60s, RR 18.",
    "Staging T3N0M0, Gleason 3+4.",
    "Started on 5-FU and leucovorin.",
    "WBC 12.3, platelets 206, Hgb 13.7.",
    "Sodium 136, potassium 3.6, creatinine 0.9.",
    "Strength 5/5 in all extremities.",
    "Pain 7/10 at rest.",
    "Visual acuity 20/40 OD.",
    "GCS 15/15 on arrival.",
    "Take 1/2 tablet twice daily.",
    "Metoprolol 25 mg PO BID x 14 days.",
    "Follow-up in 6 weeks.",
    "3 years ago she had a stroke.",
    "Smoked 20 cigarettes a day for 30 years.",
    "Ejection fraction 55-60%.",
    "Lesion measures 3.5 x 2.1 cm.",
    "Fracture of the 5th metatarsal.",
    "Weight is at the 9th percentile.",
    "Disc bulge at L4-5 and L5-S1.",
    "EKG with 2 mm ST elevation in V2-V4.",
    "Temperature 101.2, saturating 97% on room air.",
    "The doctor advised rest.",
    "MS diagnosed after optic neuritis.",
    "She may need surgery.",
    "Patient is ambulatory and alert.",
    "Mother had breast cancer.",
    "Given 2000 ml of normal saline.",
    "Hepatitis C negative, HIV negative.",
    "New York Heart Association class III.",
    "Congo red stain was negative.",
    "India ink preparation negative.",
    "Parkinson disease and Crohn disease.",
    "Full code. No known drug allergies.",
    "CT abdomen, MRI brain unremarkable.",
    "HbA1c 7.2%, LDL 130.",
    "pH 7.35, pCO2 45, HCO3 24.",
    "Doses at 10-20-30 mg.",
    "Apgar scores 8 and 9.",
    "G2P1 at 38 weeks.",
    "Wheelchair user since childhood.",
    "Social work to see the patient.",
    "Bed rest for 3 days.",
    "Community hospital setting.",
    "High school education.",
    "Tylenol 650 mg q6h prn.",
    "Insulin 10 units at bedtime.",
    "Chest x-ray 2 views.",
    "Normal S1 S2, no S3 or S4.",
    "March fractures of the foot.",
    "   \n\t ",
]


@pytest.fixture(scope="module")
def nlp() -> Language:
    nlp = spacy.blank("en")
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
