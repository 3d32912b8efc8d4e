"""De-identify resources of FHIR R4: single resources, Bundles and bulk NDJSON files.

    definitions   the elements of every type of R4, and the check of a resource against them
    json_values   JSON without a change of numbers
    profile       the allow-list: what is done with each element
    identities    patients and other persons of an export: the dictionary of the notes, and who a resource is about
    references    surrogates of ids and references
    resource      a resource, split into what is kept and values to de-identify
    joining       the release of these values, and the resource put together again
    run           files in, files out

The package only prepares the input of `Deidentifier` and puts its output into a resource.
"""
