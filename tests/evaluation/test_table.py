from spacy_deid.evaluation import AnnotatedText, Entity, evaluate, format_table

GOLD = [AnnotatedText("a", "Ana Rueda", (Entity(0, 3, "PATIENT"), Entity(4, 9, "PATIENT")))]
PRED = [AnnotatedText("a", "Ana Rueda", (Entity(0, 3, "PATIENT"),))]


def test_table_has_a_line_for_each_score_and_label():
    lines = format_table(evaluate(GOLD, PRED, bootstrap=10)).splitlines()
    # One of two entities; 3 of 8 letters.
    assert "entity and label, strict          1.0000  0.5000  0.6667   [0.5000, 0.5000]" in lines
    assert "character                         1.0000  0.3750  0.5455   [0.3750, 0.3750]" in lines
    assert "PATIENT                             1.0000  0.5000  0.6667  0.3750        2" in lines


def test_table_does_without_intervals_and_labels():
    table = format_table(evaluate(GOLD, PRED, bootstrap=0), labels=False)
    assert "[" not in table
    assert "PATIENT" not in table
