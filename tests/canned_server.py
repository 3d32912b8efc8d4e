"""A real HTTP server in a thread that speaks OpenAI's protocol, or fails in the ways in which servers fail."""

import json
import re
import ssl
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Canned:
    """What the server does.

    answers (list): taken in turn, the last one for good. Each is a dict (what the model says), a string (the same,
        as it is), a number (a status), ("raw", bytes), ("redirect", address), ("slow", seconds), ("drip", seconds)
        (one header after the other), ("cut",) (an answer that reached its length), or a function of the question that
        gives one of these.
    asked (list): the requests.
    most (int): the most requests that were open at the same time.
    """

    def __init__(self, answers, models=("tiny",)):
        self.answers, self.models = list(answers), models
        self.asked, self.headers, self.open, self.most = [], [], 0, 0
        self.lock = threading.Lock()

    def next(self, body):
        with self.lock:
            self.asked.append(body)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(body) if callable(answer) else answer


def question(body):
    """The text of the note that a request asks about."""
    return body["messages"][-1]["content"]


def with_canaries(answer):
    """What a model says that did its task: an answer, and the names and numbers on lines of their own."""

    def say(body):
        found = answer(body) if callable(answer) else answer
        lines = re.findall(r"^[^\n:#-]+: ([^\W\d_]+ [^\W\d_]+|\d{3} \d{3} \d{3})\.?$", question(body), re.MULTILINE)
        return {**found, "PATIENT": [*found.get("PATIENT", ()), *lines]}

    return say


def said(content, reason="stop"):
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": reason}
    return json.dumps({"object": "chat.completion", "choices": [choice]}).encode()


def respond(handler, answer):
    status, headers, body = 200, {}, b"{}"
    match answer:
        case dict():
            body = said(json.dumps(answer, ensure_ascii=False))
        case str():
            body = said(answer)
        case int():
            status = answer
        case ("raw", data):
            body = data
        case ("redirect", place):
            status, headers = 307, {"Location": place}
        case ("slow", seconds):
            time.sleep(seconds)
        case ("drip", seconds):
            for i in range(int(seconds * 20)):
                handler.wfile.write(b"%sX-%d: y\r\n" % (b"" if i else b"HTTP/1.1 200 OK\r\n", i))
                handler.wfile.flush()
                time.sleep(0.05)
            return
        case ("cut",):
            body = said('{"PATIENT": ["Ana', "length")
    handler.send_response(status)
    for name, value in ({"Content-Length": str(len(body)), "Content-Type": "application/json"} | headers).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def canned_server(*answers, models=("tiny",), certificate=None):
    """Start a server, with HTTPS if it has a certificate. YIELDS: its address and its `Canned`."""
    canned = Canned(answers, models)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            respond(self, ("raw", json.dumps({"data": [{"id": name} for name in canned.models]}).encode()))

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with canned.lock:
                canned.headers.append(dict(self.headers))
                canned.open += 1
                canned.most = max(canned.most, canned.open)
            try:
                respond(self, canned.next(body))
            except (BrokenPipeError, ConnectionResetError):
                pass
            finally:
                with canned.lock:
                    canned.open -= 1

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):  # of a client that left
            pass

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", canned
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
