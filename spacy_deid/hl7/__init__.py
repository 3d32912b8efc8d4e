"""De-identify messages of HL7 v2: ORU, MDM and ADT, in files with one message or many, also in MLLP frames.

    messages      bytes to messages, segments, fields and components, and back; escape sequences
    profile       the allow-list: what is done with each field
    identities    the persons of messages: the dictionary of the notes, and who a message is about
    message       a message, split into what is kept and values to de-identify, and put together again
    run           files in, files out
    framing       MLLP frames and answers
    listener      messages in over MLLP, files out

The package only prepares the input of `Deidentifier` and puts its output into a message. It has its own parser: a
released message must have the separators, escape sequences and empty fields of the original, byte for byte, and an
escape sequence that cannot be read must be an error. Parsers that normalize a message or skip what they do not know
cannot give this.
"""
