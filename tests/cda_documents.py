"""Documents of CDA with a name in every element that can have one."""

import base64

from spacy_deid.cda.profile import default_profile

GIVEN, FAMILY, RELATIVE, CLINICIAN = "Wilhelmina", "Quillfeather", "Ostrander", "Okonkwo"
NUMBER, PHONE, BIRTH, CLINIC = "QF-771903", "+34 600 111 222", "19500302", "Brackenholt"
CANARIES = (GIVEN, FAMILY, RELATIVE, CLINICIAN, NUMBER, PHONE, BIRTH, CLINIC)
SENTENCE = f"Seen with {GIVEN} {FAMILY} and Bob {RELATIVE} by Zebedee {CLINICIAN}, record {NUMBER}."
DOCUMENT = SENTENCE.encode()
LOINC = 'codeSystem="2.16.840.1.113883.6.1" codeSystemName="LOINC"'

PATIENT = f"""<recordTarget><patientRole>
    <id root="1.2.36.1" extension="{NUMBER}"/>
    <addr use="HP"><streetAddressLine>7 {FAMILY} Lane</streetAddressLine><city>{CLINIC}</city></addr>
    <telecom use="HP" value="tel:{PHONE}"/>
    <patient>
      <name use="L"><given>{GIVEN}</given><family>{FAMILY}</family></name>
      <administrativeGenderCode code="F" codeSystem="2.16.840.1.113883.5.1"/>
      <birthTime value="{BIRTH}"/>
      <guardian><guardianPerson><name><given>Bob</given><family>{RELATIVE}</family></name></guardianPerson></guardian>
    </patient>
  </patientRole></recordTarget>"""
AUTHOR = f"""<author><time value="20241130101500+0100"/><assignedAuthor>
    <id root="1.2.36.2" extension="D-44719"/>
    <assignedPerson><name><given>Zebedee</given><family>{CLINICIAN}</family></name></assignedPerson>
  </assignedAuthor></author>"""
CUSTODIAN = f"""<custodian><assignedCustodian><representedCustodianOrganization>
    <id root="1.2.36.3"/><name>{CLINIC} Hospital</name>
  </representedCustodianOrganization></assignedCustodian></custodian>"""


def document(*sections, people=PATIENT + AUTHOR + CUSTODIAN, extra="", body="", title="Letter"):
    """The bytes of a document: the header, and sections or another body."""
    body = body or f"<structuredBody>{''.join(f'<component>{item}</component>' for item in sections)}</structuredBody>"
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="{FAMILY}.xsl"?>
<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <!-- {FAMILY} -->
  <realmCode code="US"/>
  <typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>
  <templateId root="2.16.840.1.113883.10.20.22.1.1" extension="2015-08-01"/>
  <id root="1.2.36.4" extension="DOC-1"/>
  <code code="34133-9" {LOINC} displayName="Summary"/>
  <title>{title}</title>
  <effectiveTime value="20241130101500+0100"/>
  <confidentialityCode code="N" codeSystem="2.16.840.1.113883.5.25"/>
  <languageCode code="en-US"/>
  {people}
  {extra}
  <component>{body}</component>
</ClinicalDocument>""".encode()


def section(text="<paragraph>stable</paragraph>", *entries, title="Course"):
    """A section."""
    inside = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return (
        f'<section><templateId root="2.16.840.1.113883.10.20.22.2.1"/><code code="8648-8" {LOINC}/>'
        f"<title>{title}</title><text>{text}</text>{inside}</section>"
    )


def observation(value="", code='code="8867-4"', more=""):
    """An observation."""
    return (
        '<observation classCode="OBS" moodCode="EVN"><id root="36e3e930-7b14-11db-9fe1-0800200c9a66"/>'
        f'<code {code} {LOINC}/><statusCode code="completed"/><effectiveTime value="20241129"/>{value}{more}'
        "</observation>"
    )


def file_body(data=DOCUMENT, media="text/plain", representation=' representation="B64"'):
    """A body with a file."""
    content = base64.b64encode(data).decode() if representation else data.decode()
    return f'<nonXMLBody><text mediaType="{media}"{representation}>{content}</text></nonXMLBody>'


def planted():
    """A document with each element and attribute of the profile, and unknown ones, all with names in them."""
    profile = default_profile()
    count = dict.fromkeys(profile.types, 0)
    values = {"value": BIRTH, "extension": NUMBER, "displayName": SENTENCE, "href": f"https://x.org/{FAMILY}"}

    def attributes(rule):
        """The attributes that a type names, and an unknown one."""
        named = [part[1:] for part in rule.parts if part[0] == "@"]
        said = {name: values.get(name, FAMILY) for name in [*named, "ID", "use", "alien"]}
        return " ".join(f'{name}="{value}"' for name, value in said.items())

    def element(name, rule, above, more=""):
        """An element with the children that its type names, as far as they are not repeated in each other."""
        if name == "typeId":
            return '<typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>'
        count[rule.name] += 1
        inside = [SENTENCE, f"<alien>{SENTENCE}</alien>", f'<x:alien xmlns:x="urn:{FAMILY}">{SENTENCE}</x:alien>']
        for part, done in rule.parts.items():
            kinds = {"": {"type": done.name, "narrative": "StrucDoc"}.get(done.action, "")}
            kinds = profile.values if done.action == "value" else kinds
            for said, kind in kinds.items() if part[0] not in "@#" and part != "nonXMLBody" else ():
                inner = profile.types.get(kind)
                if inner is None:
                    inside.append(f"<{part}>{GIVEN if part == 'given' else SENTENCE}</{part}>")
                elif (count[kind] < 2 or (inner.is_data_type and not rule.is_data_type and count[rule.name] < 2)) and (
                    [*above, rule.name].count(kind) < 1 + (kind == "component")
                ):
                    inside.append(element(part, inner, [*above, rule.name], f'xsi:type="{said}"' if said else ""))
                else:
                    more += ' nullFlavor="NI"' * ("nullFlavor" not in more)
        return f"<{name} {attributes(rule)} {more}>{''.join(inside)}</{name}>"

    spaces = (
        'xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    )
    return element("ClinicalDocument", profile.types["ClinicalDocument"], [], spaces).encode()
