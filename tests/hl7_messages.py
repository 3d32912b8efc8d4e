"""Messages of HL7 v2 with a name in every field that can have one."""

import base64

from spacy_deid.hl7.profile import default_profile

GIVEN, FAMILY, RELATIVE, CLINICIAN = "Wilhelmina", "Quillfeather", "Ostrander", "Okonkwo"
NUMBER, PHONE, BIRTH = "QF-771903", "+34 600 111 222", "19500302"
CANARIES = (GIVEN, FAMILY, RELATIVE, CLINICIAN, NUMBER, PHONE, BIRTH)
SENTENCE = f"Seen with {GIVEN} {FAMILY} and Bob {RELATIVE} by Zebedee {CLINICIAN}, record {NUMBER}."

HEAD = "MSH|^~\\&|LAB||EHR||20241130101500||ORU^R01|7|P|2.5.1"
PID = f"PID|1||{NUMBER}^^^HOSP^MR||{FAMILY}^{GIVEN}||{BIRTH}|F|||||{PHONE}"
NK1 = f"NK1|1|{RELATIVE}^Bob|SPO^^HL70063"
PV1 = f"PV1|1|I|||||991^{CLINICIAN}^Zebedee"
DOCUMENT = SENTENCE.encode()


def message(*segments, head=HEAD, people=(PID, NK1, PV1), end="\r"):
    """The bytes of a message: MSH, the persons, and segments."""
    return end.join([head, *people, *segments, ""]).encode()


def obx(text, kind="FT", number=1, code="8251-1^Note^LN"):
    """An OBX segment."""
    return f"OBX|{number}|{kind}|{code}||{text}||||||F"


def ed(data=DOCUMENT, subtype="plain", encoding="Base64"):
    """Encapsulated data."""
    return f"^TEXT^{subtype}^{encoding}^{base64.b64encode(data).decode()}"


def planted():
    """A segment of each name in the profile, and an unknown one, with the names in every component."""
    parts = "^".join([SENTENCE, FAMILY, GIVEN, f"{RELATIVE}&{CLINICIAN}", NUMBER, FAMILY, PHONE, BIRTH, SENTENCE])
    names = sorted(set(default_profile().segments) - {"MSH", "PID"})
    return [f"{name}|" + "|".join([f"{parts}~{FAMILY}"] * 60) for name in [*names, "ZPI"]]
