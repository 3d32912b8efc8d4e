"""Readers against small files in the true formats."""

import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.medical.dictionary import MedicalTerm
from spacy_deid.medical.terminologies import READERS, TerminologySource, read_terminology

RF2 = "\r\n".join(
    "\t".join(row)
    for row in [
        (
            "id",
            "effectiveTime",
            "active",
            "moduleId",
            "conceptId",
            "languageCode",
            "typeId",
            "term",
            "caseSignificanceId",
        ),
        ("1", "20240101", "1", "9", "49049000", "en", "900000000000003001", "Parkinson's disease (disorder)", "9"),
        ("2", "20240101", "1", "9", "49049000", "en", "900000000000013009", "Paralysis agitans", "9"),
        ("3", "20240101", "1", "9", "49049000", "es", "900000000000013009", "enfermedad de Parkinson", "9"),
        ("4", "20240101", "0", "9", "49049000", "en", "900000000000013009", "Shaking palsy", "9"),
        ("5", "20240101", "1", "9", "72705000", "en", "900000000000003001", "Mother (person)", "9"),
        ("6", "20240101", "1", "9", "387207008", "en", "900000000000003001", "Ibuprofen (substance)", "9"),
        ("7", "20240101", "1", "9", "49049000"),
        ("8", "20240101", "yes", "9", "49049000", "en", "900000000000013009", "PD", "9"),
        ("9", "20240101", "1", "9", "1", "en", "900000000000013009", "term of an extension", "9"),
        "",
    ]
)
NDC = (
    "PRODUCTID\tPRODUCTNDC\tPRODUCTTYPENAME\tPROPRIETARYNAME\tPROPRIETARYNAMESUFFIX\tNONPROPRIETARYNAME\tSUBSTANCENAME\n"
    "0002-0800_x\t0002-0800\tHUMAN OTC DRUG\tSterile Diluent\t\tdiluent\tWATER\n"
    "0002-1200_x\t0002-1200\tHUMAN PRESCRIPTION DRUG\tAmyvid\t\tFlorbetapir F 18\tFLORBETAPIR F-18; ALCOHOL\n"
    "broken row\n"
)
ORANGE = (
    "Ingredient~DF;Route~Trade_Name~Applicant~Strength~Appl_Type~Appl_No~Product_No~TE_Code~Approval_Date~RLD~RS~Type"
    "~Applicant_Full_Name\n"
    "BUDESONIDE; FORMOTEROL~AEROSOL;INHALATION~SYMBICORT~ASTRAZ~0.16MG~N~021929~001~~Jul 21, 2006~Yes~Yes~RX~X\n"
    "BUDESONIDE~TABLET~\n"
)
NCI = (
    "C26845\t<http://ncit.nci.nih.gov/Thesaurus.owl#C26845>\tC27090\tParkinson Disease|Paralysis Agitans\tA disease.\t"
    "Parkinson Disease\t\tDisease or Syndrome\t\n"
    "C17965\t<http://x#C17965>\tC1\tBRCA1 Gene|BRCA1\tA gene.\tBRCA1 Gene\t\tGene or Genome\t\n"
    "C99\t<http://x#C99>\tC1\tOld Disease\tGone.\t\tObsolete_Concept\tDisease or Syndrome\t\n"
    "C25190\t<http://x#C25190>\tC1\tPerson\tA human.\tPerson\t\tPopulation Group\t\n"
    "half a row\n"
)
ICD = (
    "code,name_en_source,name_fi,name_en\n"
    "A00,THL,Kolera,Cholera\n"
    "J45,THL,Astma (allerginen),Asthma\n"
    "Y92,THL,Koulu,School\n"
    "K00,x\n"
    "B00,THL,NA,Herpes\n"
)
CMS = (
    "00001 A00     0 Cholera                                                      Cholera\n"
    "00002 A000    1 Cholera due to Vibrio cholerae 01, biovar cholerae           Cholera due to Vibrio cholerae 01\n"
    "00003 Y920    1 Kitchen                                                      Kitchen of house\n"
    "a line of something else\n"
)
OBO = (
    'format-version: 1.2\nontology: doid\n\n[Term]\nid: DOID:1\nname: angiosarcoma\ndef: "A tumor." []\n'
    'synonym: "hemangio\\"sarcoma" EXACT []\nsynonym: "sarcoma" BROAD []\nsynonym: broken\n\n'
    "[Term]\nid: DOID:2\nname: gone\nis_obsolete: true\n\n[Typedef]\nid: part_of\nname: part of\n"
)
WORDS = "term,kind,form\nBRCA1,gene,symbol\nasthma,disease,\n,disease,\nx,nonsense,\n"

FILES = {
    "rf2": (
        RF2,
        [
            ("Parkinson's disease", "disease"),
            ("Paralysis agitans", "disease"),
            ("Ibuprofen", "drug"),
            ("term of an extension", "other"),
        ],
        2,
    ),
    "ndc": (
        NDC,
        [
            ("Sterile Diluent", "drug"),
            ("diluent", "drug"),
            ("WATER", "drug"),
            ("Amyvid", "drug"),
            ("Florbetapir F 18", "drug"),
            ("FLORBETAPIR F-18", "drug"),
            ("ALCOHOL", "drug"),
        ],
        1,
    ),
    "orange-book": (ORANGE, [("BUDESONIDE", "drug"), ("FORMOTEROL", "drug"), ("SYMBICORT", "drug")], 1),
    "nci": (
        NCI,
        [
            ("Parkinson Disease", "disease"),
            ("Paralysis Agitans", "disease"),
            ("BRCA1 Gene", "gene"),
            ("BRCA1", "gene"),
        ],
        1,
    ),
    "icd": (ICD, [("Kolera", "disease"), ("Astma (allerginen)", "disease"), ("Astma", "disease")], 1),
    "cms-order": (CMS, [("Cholera", "disease"), ("Cholera due to Vibrio cholerae 01", "disease")], 1),
    "obo": (OBO, [("angiosarcoma", "disease"), ('hemangio"sarcoma', "disease")], 1),
    "words": (WORDS, [("BRCA1", "gene"), ("asthma", "disease")], 2),
}


def read(format, text, path, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    reading = TerminologySource("fi" if format == "icd" else "en", "other" if format == "rf2" else "disease")
    return list(read_terminology(format, path, reading)), reading


def test_every_reader_has_a_file():
    assert set(FILES) == set(READERS)


@pytest.mark.parametrize("format", FILES)
def test_terms_and_kinds_are_read_and_broken_rows_counted(format, tmp_path):
    text, expected, broken = FILES[format]
    terms, reading = read(format, text, tmp_path / "file")
    assert [(term.text, term.kind) for term in terms] == expected
    assert reading.broken == broken
    assert reading.first[0] > 1


@pytest.mark.parametrize("format", FILES)
def test_a_file_of_another_format_is_an_error_that_names_it(format, tmp_path):
    with pytest.raises(ConfigError, match=r"other\.txt") as raised:
        read(format, "Virtanen, Anna\nsecret line\n" * 5, tmp_path / "other.txt")
    assert "Virtanen" not in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("format", FILES)
def test_an_empty_file_is_an_error(format, tmp_path):
    with pytest.raises(ConfigError, match=r"empty\.txt"):
        read(format, "", tmp_path / "empty.txt")


def test_inactive_foreign_and_unmedical_descriptions_are_left_out(tmp_path):
    terms, reading = read("rf2", RF2, tmp_path / "file")
    assert {"Shaking palsy", "Mother", "enfermedad de Parkinson"}.isdisjoint(term.text for term in terms)
    assert reading.left_out == 3


def test_another_language_of_the_same_file_can_be_read(tmp_path):
    (tmp_path / "file").write_text(RF2, encoding="utf8")
    terms = list(read_terminology("rf2", tmp_path / "file", TerminologySource("es")))
    assert terms == [MedicalTerm("enfermedad de Parkinson", "disease")]


def test_full_names_of_the_spanish_edition_have_tags_of_their_own(tmp_path):
    header, *_ = RF2.splitlines()
    rows = [
        (
            "1",
            "20240101",
            "1",
            "9",
            "49049000",
            "es",
            "900000000000003001",
            "enfermedad de Parkinson (trastorno)",
            "9",
        ),
        ("2", "20240101", "1", "9", "72705000", "es", "900000000000003001", "madre (persona)", "9"),
    ]
    (tmp_path / "file").write_text("\n".join([header, *map("\t".join, rows)]), encoding="utf8")
    terms = list(read_terminology("rf2", tmp_path / "file", TerminologySource("es", "other")))
    assert terms == [MedicalTerm("enfermedad de Parkinson", "disease")]


def test_genes_are_terms_in_capitals_only(tmp_path):
    terms, _ = read("nci", NCI, tmp_path / "file")
    assert {term.form for term in terms if term.kind == "gene"} == {"symbol"}


def test_the_old_form_of_the_thesaurus_is_read_too(tmp_path):
    terms, _ = read("nci", "C1\tC2\tFever|Pyrexia\tHot.\tFever\t\tSign or Symptom\n", tmp_path / "file")
    assert terms == [MedicalTerm("Fever", "sign"), MedicalTerm("Pyrexia", "sign")]


def test_a_row_of_another_encoding_is_counted(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"term,kind\nasthma,disease\nS\xf6der,disease\nfever,disease\n")
    reading = TerminologySource("en")
    assert len(list(read_terminology("words", path, reading))) == 2
    assert reading.first == (3, "not utf-8")


def test_drug_files_are_read_as_windows_1252(tmp_path):
    terms, _ = read("ndc", NDC.replace("Amyvid", "Amyvi\u00e9"), tmp_path / "file", encoding="cp1252")
    assert "Amyvi\u00e9" in {term.text for term in terms}


def test_mostly_broken_rows_are_an_error_that_names_the_first(tmp_path):
    with pytest.raises(
        ConfigError, match=r"f: 3 of 4 rows are invalid, the first is row 3: .*Check that the file is words"
    ):
        read("words", "term,kind\nasthma,disease\nx,y\nx,y\nx,y\n", tmp_path / "f")


def test_an_unknown_format_and_a_missing_file_are_errors(tmp_path):
    with pytest.raises(ConfigError, match="Known formats: cms-order"):
        list(read_terminology("owl", tmp_path, TerminologySource("en")))
    with pytest.raises(ConfigError, match="no such file"):
        list(read_terminology("obo", tmp_path / "none.obo", TerminologySource("en")))
