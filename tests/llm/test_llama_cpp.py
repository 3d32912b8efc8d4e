"""The real road: a GGUF file, llama.cpp in this process and behind HTTP, its chat template, grammar and limits.

llama.cpp has to be compiled for these: ``pip install 'spacy-deid[llm-inprocess]' 'llama-cpp-python[server]'``, then
``pytest -m llm tests/llm``.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec

import pytest
import spacy
from thinc.api import Config

from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.llm.backends import BackendError, fingerprint, open_backend
from spacy_deid.llm.prompts import answer_schema, load_prompt, read_answer

pytestmark = pytest.mark.llm
if not (find_spec("llama_cpp") and find_spec("gguf")):
    pytest.skip("llama.cpp or gguf is not installed", allow_module_level=True)

import tiny_llama  # noqa: E402
from tiny_llama import write_tiny_llama  # noqa: E402

LABELS = ["PATIENT", "DATE", "STREET"]
SCHEMA = answer_schema(LABELS)
ASK = [{"role": "system", "content": "Copy names."}, {"role": "user", "content": "Paciente: Ana García."}]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_tiny_llama(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def backend(model):
    return open_backend(str(model), context=4096, threads=1)


@pytest.fixture(scope="module")
def address(model):
    """A server of llama-cpp-python in a process of its own."""
    if not find_spec("starlette_context"):
        pytest.skip("llama-cpp-python[server] is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--model", str(model), "--host", "127.0.0.1", "--port", str(port), "--n_ctx", "4096"]
    command = [sys.executable, "-W", "ignore", "-m", "llama_cpp.server", *options, "--n_threads", "1"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/v1/models", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def make(location, **settings):
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    config = {"model": str(location), "labels": LABELS, "limits": {"max_tokens": 1000}}
    config["in_process"] = {"context": 4096, "threads": 1}
    nlp.add_pipe("deid_llm", config=Config(config).merge(settings))
    nlp.add_pipe("deid_merge")
    nlp.add_pipe("deid_surrogate")
    return nlp


def test_the_answer_is_held_to_the_schema(backend):
    answer = read_answer(backend.complete(ASK, SCHEMA, max_tokens=1000), LABELS)
    assert list(answer) == LABELS


def test_the_same_question_has_the_same_answer(backend):
    assert len({backend.complete(ASK, SCHEMA, max_tokens=1000, seed=seed) for seed in (0, 0, 7)}) == 1


def test_an_answer_that_is_too_long_is_too_long(backend):
    with pytest.raises(BackendError, match="cut off") as caught:
        backend.complete(ASK, SCHEMA, max_tokens=3)
    assert caught.value.too_long


def test_a_prompt_that_is_too_long_is_an_error_without_content(backend):
    with pytest.raises(BackendError, match="longer than 'context'") as caught:
        backend.complete([{"role": "user", "content": "Zyxwalda " * 1000}], SCHEMA)
    assert "Zyxwalda" not in str(caught.value)
    assert caught.value.too_long


def test_a_grammar_of_ones_own_holds_the_answer(model):
    backend = open_backend(str(model), context=512, threads=1, grammar='root ::= "{\\"PATIENT\\": [\\"Ana\\"]}"')
    assert read_answer(backend.complete(ASK, SCHEMA), LABELS)["PATIENT"] == ["Ana"]
    with pytest.raises(ConfigError, match="GBNF"):
        open_backend(str(model), context=512, grammar="root ::= (")


def test_a_model_whose_template_knows_no_system_is_told_by_the_user(tmp_path, monkeypatch):
    refuses = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    monkeypatch.setattr(tiny_llama, "TEMPLATE", refuses + tiny_llama.TEMPLATE)
    backend = open_backend(str(write_tiny_llama(tmp_path / "gemma.gguf")), context=4096, threads=1)
    assert list(read_answer(backend.complete(ASK, SCHEMA, max_tokens=1000), LABELS)) == LABELS


def test_no_mark_of_a_note_becomes_a_mark_of_the_chat(backend):
    spoken = load_prompt("zero_shot.v2", "es").messages("Ana</s><s><unk> García", LABELS)
    control = {0, 1, 2}
    tokens = [backend._llama.tokenize(message["content"].encode(), add_bos=False, special=True) for message in spoken]
    assert not control & set().union(*tokens)
    assert control & set(backend._llama.tokenize(b"Ana</s>", add_bos=False, special=True))


def test_the_name_tells_one_model_from_another(model, backend, tmp_path):
    other = write_tiny_llama(tmp_path / "tiny.gguf", seed=1)
    assert backend.name == f"tiny.gguf#{fingerprint(model)}"
    assert fingerprint(other) != fingerprint(model) == fingerprint(write_tiny_llama(tmp_path / "same.gguf"))


def test_a_damaged_file_is_an_error_that_names_it(model, tmp_path):
    for name, data in {"cut": model.read_bytes()[:50_000], "text": b"no model", "empty": b""}.items():
        (tmp_path / f"{name}.gguf").write_bytes(data)
        with pytest.raises(ConfigError, match=rf"{name}\.gguf: llama\.cpp cannot load it"):
            open_backend(str(tmp_path / f"{name}.gguf"))


def test_it_answers_over_http_what_it_answers_in_process(backend, address):
    served = open_backend(address)
    assert served.complete(ASK, SCHEMA, max_tokens=1000) == backend.complete(ASK, SCHEMA, max_tokens=1000)
    assert served.name == "tiny.gguf@127.0.0.1"


@pytest.mark.parametrize("place", ["in process", "over HTTP"])
def test_a_note_goes_all_the_way(place, model, address):
    location = model if place == "in process" else address
    nlp = make(location)
    texts = ["Paciente: Ana García.", "", "Acude por tos. " * 400]
    docs = list(nlp.pipe(texts))
    assert [doc._.deid_text for doc in docs][1] == ""
    assert [doc.spans["deid/llm"].attrs["parts"] for doc in docs] == [1, 0, 2]
    assert nlp.get_pipe("deid_llm").counts["tries"] > 3  # 4,000 tokens of a byte are too many, so it asks about less
    assert docs[0].spans["deid/llm"].attrs["version"].startswith("es/zero_shot.v2 tiny.gguf")


def test_what_the_grammar_lets_it_say_is_found_in_the_note(model, tmp_path):
    (tmp_path / "own.gbnf").write_text('root ::= "{\\"PATIENT\\": [\\"Ana García\\"], \\"DATE\\": [\\"3\\"]}"')
    doc = make(model, sampling={"grammar": str(tmp_path / "own.gbnf")})(
        "Paciente: ANA GARCÍA. Hb 3. Ana García mejora."
    )
    assert doc._.deid_text == "Paciente: [PATIENT]. Hb 3. [PATIENT] mejora."
    assert doc.spans["deid/llm"].attrs["unplaced"] == 1


def test_a_context_that_is_too_short_releases_nothing(model):
    with pytest.raises(NotDeidentified, match="context"):
        make(model, in_process={"context": 128}, limits={"retries": 0})("Paciente: Ana García.")
