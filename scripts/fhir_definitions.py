"""Build ``resources/fhir/r4_definitions.json``: the elements of every type of FHIR R4, from the published definitions.

    npm pack hl7.fhir.r4.examples@4.0.1 && tar xzf hl7.fhir.r4.examples-4.0.1.tgz
    python scripts/fhir_definitions.py package

The package contains the StructureDefinitions, ValueSets and CodeSystems of FHIR 4.0.1 (licence: CC0). Each type has
one line: element → "types cardinality [value set]", where a reference names its possible targets. The codes of a value
set are listed if the binding is required and all its codes are known.
"""

import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "spacy_deid" / "resources" / "fhir" / "r4_definitions.json"
BASE = "http://hl7.org/fhir/StructureDefinition/"
REGEX = BASE + "regex"


def read(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Read all definitions of one kind, such as "ValueSet"."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(f"{kind}-*.json"))]


def codes_of(concepts: list[dict[str, Any]]) -> list[str]:
    """Return the codes of a code system, including nested ones."""
    return [code for item in concepts for code in (item["code"], *codes_of(item.get("concept", [])))]


def list_codes(value_set: dict[str, Any], systems: dict[str, dict[str, Any]]) -> list[str] | None:
    """Return the codes of a value set; None if they cannot all be listed."""
    codes: list[str] = []
    compose = value_set.get("compose", {})
    if compose.get("exclude"):
        return None
    for part in compose.get("include", []):
        if part.get("filter") or part.get("valueSet"):
            return None
        if "concept" in part:
            codes += [item["code"] for item in part["concept"]]
            continue
        system = systems.get(part.get("system", ""))
        if system is None or system.get("content") != "complete":
            return None
        codes += codes_of(system.get("concept", []))
    return list(dict.fromkeys(codes)) or None


def name_type(kind: dict[str, Any]) -> str:
    """Return the name of a type; for a reference with its possible targets: "Reference(Patient,Group)"."""
    targets = ",".join(url.rpartition("/")[2] for url in kind.get("targetProfile", []))
    known = kind["code"] == "Reference" and targets and targets != "Resource"
    return f"Reference({targets})" if known else kind["code"]


def describe(element: dict[str, Any], value_sets: dict[str, list[str]], used: set[str]) -> str:
    """Return the types, the cardinality and the value set of an element, as one string."""
    if reference := element.get("contentReference"):
        types = [reference.removeprefix("#")]
    else:
        types = [name_type(kind) for kind in element["type"]]
        types = [element["path"] if kind in ("BackboneElement", "Element") else kind for kind in types]
    types = ["string" if kind.startswith("http://hl7.org/fhirpath/") else kind for kind in types]
    text = f"{'|'.join(types)} {element['min']}..{element['max']}"
    binding = element.get("binding", {})
    name = binding.get("valueSet", "").partition("|")[0].rpartition("/")[2]
    if types == ["code"] and binding.get("strength") == "required" and name in value_sets:
        used.add(name)
        text += f" {name}"
    return text


def main(folder: Path) -> None:
    """Write the file."""
    systems = {item["url"]: item for item in read(folder, "CodeSystem")}
    value_sets = {item["id"]: codes for item in read(folder, "ValueSet") if (codes := list_codes(item, systems))}
    types: dict[str, dict[str, str]] = {}
    primitives: dict[str, str] = {}
    resources: list[str] = []
    used: set[str] = set()
    for item in read(folder, "StructureDefinition"):
        if item.get("derivation") == "constraint" or item["kind"] == "logical":
            continue
        elements = item["snapshot"]["element"]
        if item["kind"] == "primitive-type":
            parts = elements[-1]["type"][0].get("extension", [])
            primitives[item["type"]] = next((part["valueString"] for part in parts if part["url"] == REGEX), "")
            continue
        if item["kind"] == "resource" and not item["abstract"]:
            resources.append(item["type"])
        for element in elements:
            owner, _, name = element["path"].rpartition(".")
            if owner:
                types.setdefault(owner, {})[name] = describe(element, value_sets, used)
            else:
                types.setdefault(name, {})
    codes = {name: value_sets[name] for name in sorted(used)}
    head = {"version": "4.0.1", "resources": sorted(resources), "primitives": primitives}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, table in (("codes", codes), ("types", types)):
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table))
        lines.append(f"{json.dumps(key)}: {{\n{rows}\n}}")
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(resources)} resources, {len(types)} types, {len(codes)} value sets, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
