"""De-identify documents of CDA R2, such as those of C-CDA.

    structure    a safe parser, the elements that CDA requires, and references between elements
    profile      the allow-list: what is done with each element and attribute
    identities   the persons of documents: the dictionary of the texts, and whom a document is about
    narrative    the text of narrative blocks and other texts of a document
    splitting    a document, split into what is kept and values to de-identify, and put together again
    run          files in, files out

The package only prepares the input of `Deidentifier` and puts its output into a document.
"""
