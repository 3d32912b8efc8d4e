"""Users, roles, trusted proxies and the audit log, in an application whose workers are not started."""

import json
import sqlite3
from contextlib import closing

import anyio
import httpx
import pytest
from typer.testing import CliRunner

from spacy_deid.app.access import RULES, find_rule
from spacy_deid.app.audit_log import AuditLog
from spacy_deid.app.pages import make_pages
from spacy_deid.app.service import make_service
from spacy_deid.app.settings import ServiceSettings
from spacy_deid.app.storage import Database
from spacy_deid.app.users import UserFile
from spacy_deid.app.workers import files_key, open_store
from spacy_deid.cli import app as commands
from spacy_deid.errors import ConfigError, InputError
from spacy_deid.surrogates.keys import ProjectKey

from .conftest import CANARY, NOTE, TOKEN

RELEASED = NOTE.replace(CANARY, "[PATIENT]").encode()
ROLES = {"ada": ["submit"], "ben": ["submit"], "cleo": ["review"], "dora": ["release"], "eve": ["administrate"]}


class Client:
    """Sends requests to an application without a server. Cookies are kept."""

    def __init__(self, app, peer, headers):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(peer, 5000))
        self.made = {"transport": transport, "headers": headers, "base_url": "http://127.0.0.1"}
        self.cookies = httpx.Cookies()

    def request(self, method, path, **more):
        async def send():
            async with httpx.AsyncClient(cookies=self.cookies, **self.made) as client:
                answer = await client.request(method, path, **more)
                self.cookies = client.cookies
                return answer

        return anyio.run(send)

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, **more):
        return self.request("POST", path, **more)


class House:
    """A service with users, encrypted files and a finished job of the user "ada"."""

    def __init__(self, folder):
        (folder / "keys").mkdir()
        ProjectKey.make().to_file(folder / "keys" / "files.key")
        self.users = UserFile(folder / "keys" / "users.json")
        self.tokens = {name: self.users.add(name, roles) for name, roles in ROLES.items()}
        self.settings = ServiceSettings(
            folder / "data",
            users=self.users.path,
            proxies=("10.0.0.0/24",),
            files_key=folder / "keys" / "files.key",
            token=TOKEN,
        )
        self.app = make_service(self.settings)
        self.store = open_store(self.settings)
        self.audit = AuditLog(self.store.database, files_key(self.settings))
        job = self.client("ada").post("/v1/jobs", files={"files": (f"{CANARY}.txt", NOTE.encode())})
        self.job, self.file = job.json()["id"], job.json()["files"][0]["id"]
        pipeline = {"name": "es", "version": "1", "fingerprint": "0"}
        findings = {"pipeline": pipeline, "spacy_deid": "1", "settings": {}, "spans": []}
        for part, data in (
            ("findings", json.dumps(findings).encode()),
            ("released", RELEASED),
            ("text", NOTE.encode()),
        ):
            self.store.put(self.file, part, data)
        with self.store.database.change() as database:
            database.execute("UPDATE file SET state = 'done', task = NULL")

    def client(self, name="", peer="127.0.0.1", **headers):
        if name:
            headers["authorization"] = f"Bearer {self.tokens[name]}"
        return Client(self.app, peer, headers)

    def log(self):
        return list(self.audit.verify())


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def test_every_route_has_a_rule(house):
    pages = make_pages(house.settings, house.store, None, house.audit)
    paths = [(method, route.path) for route in pages.routes for method in route.methods]
    described = house.app.openapi()["paths"]
    paths += [(method.upper(), path) for path, methods in described.items() for method in methods]
    assert len(paths) > 30
    assert [given for given in paths if find_rule(*given)[0] not in RULES] == []


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/jobs", "ada ben cleo dora eve"),
        ("GET", "/v1/jobs/JOB", "ada cleo dora eve"),
        ("GET", "/jobs/JOB", "ada cleo dora eve"),
        ("POST", "/v1/jobs/JOB/cancel", "ada eve"),
        ("GET", "/v1/jobs/JOB/decisions", "cleo dora eve"),
        ("GET", "/v1/jobs/JOB/download", "dora"),
        ("GET", "/v1/files/FILE", "ada cleo dora eve"),
        ("GET", "/v1/files/FILE/text", "cleo"),
        ("GET", "/files/FILE", "cleo"),
        ("GET", "/v1/files/FILE/findings", "cleo"),
        ("GET", "/v1/files/FILE/download", "dora"),
        ("GET", "/files/FILE/download", "dora"),
        ("POST", "/v1/files/FILE/apply", "cleo"),
        ("GET", "/v1/audit", "eve"),
        ("GET", "/metrics", "eve"),
        ("GET", "/v1/me", "ada ben cleo dora eve"),
        ("GET", "/v1/openapi.json", "ada ben cleo dora eve"),
    ],
)
def test_roles_allow_exactly_their_routes(house, method, path, allowed):
    path = path.replace("JOB", house.job).replace("FILE", house.file)
    codes = {name: house.client(name).request(method, path).status_code for name in ROLES}
    assert {name for name, code in codes.items() if code < 400} == set(allowed.split())
    assert {code for code in codes.values() if code >= 400} <= {403, 404}


def test_texts_are_released_to_users_who_can_release(house):
    for path in ("/v1/deidentify", "/v1/deidentify/batch", "/v1/fhir/$de-identify"):
        for name in ("ada", "cleo", "eve"):
            assert house.client(name).post(path, json={"text": NOTE}).status_code == 403


def test_users_who_can_only_submit_see_their_own_jobs(house):
    assert [job["id"] for job in house.client("ada").get("/v1/jobs").json()["items"]] == [house.job]
    assert house.client("ben").get("/v1/jobs").json()["items"] == []
    assert house.job not in house.client("ben").get("/").text
    answer = house.client("ben").request("DELETE", f"/v1/jobs/{house.job}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert house.store.job(house.job)


def test_unknown_paths_and_methods_do_not_exist(house):
    assert house.client("dora").get("/v1/nothing").status_code == 404
    assert house.client("dora").request("PUT", f"/v1/jobs/{house.job}").status_code == 404
    assert house.client("eve").request("PUT", f"/v1/jobs/{house.job}").status_code == 405


def test_originals_in_the_archive_need_the_role_review(house):
    path = f"/v1/jobs/{house.job}/download?with_text=true"
    assert house.client("dora").get(path).status_code == 403
    house.users.add("dora", ["release", "review"], with_token=False)
    assert house.client("dora").get(path).status_code == 200


def test_trusted_proxy_names_the_user(house):
    answer = house.client(peer="10.0.0.7", **{"x-forwarded-user": "cleo"}).get("/v1/me")
    assert answer.json() == {"name": "cleo", "roles": ["review"]}


def test_header_of_a_user_is_ignored_from_other_addresses(house):
    given = {"x-forwarded-user": "cleo", "x-forwarded-for": "10.0.0.7"}
    assert house.client(peer="10.0.1.7", **given).get("/v1/me").status_code == 401
    assert house.client(peer="127.0.0.1", **given).get("/v1/me").status_code == 401


def test_user_whom_the_proxy_does_not_name_once_is_refused(house):
    assert house.client(peer="10.0.0.7", **{"x-forwarded-user": "nobody"}).get("/v1/me").status_code == 403
    twice = [("x-forwarded-user", "cleo"), ("x-forwarded-user", "eve")]
    assert Client(house.app, "10.0.0.7", twice).get("/v1/me").status_code == 403


def test_proxies_are_networks_and_need_users(tmp_path):
    with pytest.raises(ConfigError, match="no address"):
        ServiceSettings(tmp_path, users=tmp_path.parent / "users.json", proxies=("proxy.example",))
    with pytest.raises(ConfigError, match="--users"):
        ServiceSettings(tmp_path, proxies=("10.0.0.7",))


def test_token_of_the_service_has_all_roles(house):
    answer = house.client(authorization=f"Bearer {TOKEN}").get("/v1/me").json()
    assert (answer["name"], len(answer["roles"])) == ("(service)", 5)


def test_session_ends_when_its_user_is_removed(house):
    client = house.client()
    assert client.post("/login", data={"token": house.tokens["cleo"]}).status_code == 303
    assert client.get("/v1/me").json()["name"] == "cleo"
    house.users.revoke("cleo")
    assert client.get("/v1/me").status_code == 401


def test_file_of_users_has_no_token_and_is_private(house):
    content = house.users.path.read_text()
    assert [token for token in house.tokens.values() if token[-20:] in content] == []
    assert house.users.path.stat().st_mode & 0o077 == 0
    house.users.path.chmod(0o644)
    with pytest.raises(ConfigError, match="other users"):
        UserFile(house.users.path).load()


def test_revoked_expired_and_wrong_tokens_are_refused(house, monkeypatch):
    from spacy_deid.app import users

    more = house.users.add("cleo", [], days=1)
    assert house.users.find_token(more).name == "cleo"
    assert house.users.find_token(more[:-1] + ("a" if more[-1] != "a" else "b")) is None

    class Later(users.datetime):
        @classmethod
        def now(cls, zone=None):
            return super().now(zone) + users.timedelta(days=3)

    monkeypatch.setattr(users, "datetime", Later)
    assert house.users.find_token(more) is None
    assert house.users.find_token(house.tokens["cleo"]).name == "cleo"
    house.users.revoke("cleo", house.tokens["cleo"].split("_")[1])
    assert house.users.find_token(house.tokens["cleo"]) is None


def test_damaged_file_of_users_allows_nobody(house):
    house.users.path.write_text('{"version": 1, "users": {"eve": {"roles": ["everything"], "tokens": []}}}')
    assert house.client("eve").get("/v1/me").status_code == 401
    with pytest.raises(ConfigError, match="damaged"):
        make_service(house.settings)


@pytest.mark.parametrize(
    ("name", "role"), [("", "review"), ("a b", "review"), ("(service)", "review"), ("anna", "all")]
)
def test_invalid_users_are_refused(house, name, role):
    with pytest.raises(ConfigError):
        house.users.add(name, [role])


def test_audit_log_names_who_released_what(house):
    path = f"/v1/files/{house.file}/download"
    assert house.client("dora").get(path).content == RELEASED
    assert house.client("dora").get(f"/v1/jobs/{house.job}/download").status_code == 200
    assert house.client("cleo").get(path).status_code == 403
    house.client("cleo").post(f"/v1/files/{house.file}/apply")
    found = [(row["user"], row["action"], row["job"], row["file"]) for row in house.log()]
    assert found == [
        ("ada", "submit", house.job, ""),
        ("dora", "release", house.job, house.file),
        ("dora", "release", house.job, house.file),
        ("cleo", "apply", "", house.file),
    ]
    assert house.log()[1]["digest"] == house.audit.digest(RELEASED)
    listed = house.client("eve").get("/v1/audit?limit=3").json()
    assert ([row["number"] for row in listed["items"]], listed["next"]) == ([1, 2, 3], 3)
    assert house.client("eve").get("/v1/audit?after=3").json()["next"] is None
    for file in house.settings.data.rglob("*"):
        assert not file.is_file() or CANARY.encode() not in file.read_bytes()


def test_audit_log_has_sign_ins_and_refused_ones_without_tokens(house):
    wrong = "wrong-wrong-wrong-wrong"
    browser = house.client(peer="192.0.2.7")
    assert browser.post("/login", data={"token": wrong}).status_code == 401
    assert browser.post("/login", data={"token": house.tokens["cleo"]}).status_code == 303
    assert browser.post("/logout").status_code == 303
    assert house.client(peer="192.0.2.8", authorization=f"Bearer {wrong}").get("/v1/me").status_code == 401
    assert house.client().get("/v1/me").status_code == 401  # without a token, nobody signs in
    named = {"x-forwarded-for": CANARY, "authorization": f"Bearer {wrong}"}
    assert house.client(**named).get("/v1/me").status_code == 401
    assert [(row["user"], row["action"]) for row in house.log()[1:]] == [
        ("(192.0.2.7)", "refused sign-in"),
        ("cleo", "sign in"),
        ("cleo", "sign out"),
        ("(192.0.2.8)", "refused sign-in"),
        ("(unknown)", "refused sign-in"),
    ]
    logged = json.dumps(house.log())
    assert not any(text in logged for text in (wrong, house.tokens["cleo"], CANARY))


def test_guesses_do_not_fill_the_audit_log(house):
    for _ in range(15):
        house.client(authorization="Bearer wrong-wrong-wrong").get("/v1/me")
    assert [row["action"] for row in house.log()[1:]] == ["refused sign-in"] * 10


def test_nobody_signs_in_without_an_entry(house):
    with house.store.database.change() as database:
        database.execute("DROP TABLE event")
    browser = house.client()
    assert browser.post("/login", data={"token": house.tokens["cleo"]}).status_code == 507
    assert browser.get("/v1/me").status_code == 401


def test_nothing_is_released_without_an_entry(house):
    with house.store.database.change() as database:
        database.execute("DROP TABLE event")
    with pytest.raises(AssertionError):  # the archive breaks off before its first file
        house.client("dora").get(f"/v1/jobs/{house.job}/download")
    assert house.client("dora").get(f"/v1/files/{house.file}/download").status_code == 507
    assert house.client("ada").post("/v1/jobs", files={"files": ("a.txt", b"a")}).status_code == 500


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event SET user = 'eve' WHERE number = 2",
        "DELETE FROM event WHERE number = 2",
        "DELETE FROM event WHERE number = 1",
        "UPDATE event SET number = number + 5",
    ],
)
def test_changed_audit_log_is_detected(house, change):
    for _ in range(2):
        house.client("dora").get(f"/v1/files/{house.file}/download")
    assert len(house.log()) == 3
    with closing(sqlite3.connect(house.settings.data / "jobs.sqlite")) as database, database:
        database.execute(change)
    with pytest.raises(InputError, match="changed or removed"):
        house.log()


def test_entries_cut_off_are_detected_with_a_noted_seal(house):
    house.client("dora").get(f"/v1/files/{house.file}/download")
    noted = house.log()[-1]["seal"]
    assert list(house.audit.verify(noted))
    with closing(sqlite3.connect(house.settings.data / "jobs.sqlite")) as database, database:
        database.execute("DELETE FROM event WHERE number = 2")
    assert len(house.log()) == 1
    with pytest.raises(InputError, match="noted seal"):
        list(house.audit.verify(noted))


def test_seals_need_the_files_key(house):
    other = AuditLog(Database(house.settings.data / "jobs.sqlite"), None)
    with pytest.raises(InputError, match="files key"):
        list(other.verify())


def test_users_and_the_log_on_the_command_line(house, tmp_path):
    def run(*arguments):
        result = CliRunner().invoke(commands, ["user", *arguments])
        return result.exit_code, result.output

    file = ("--users", str(tmp_path / "users.json"))
    code, token = run("add", "anna", *file, "--role", "review", "--role", "release", "--days", "30")
    assert (code, token.startswith("deid_")) == (0, True)
    assert UserFile(tmp_path / "users.json").find_token(token.strip()).roles == {"review", "release"}
    assert run("list", *file)[1].startswith("anna\trelease, review\t")
    assert run("add", "anna", *file, "--role", "all")[0] == 1
    assert run("revoke", "anna", *file) == (0, "1 token(s) revoked\n")
    assert run("revoke", "anna", *file)[0] == 1
    key = ("--files-key", str(house.settings.files_key))
    code, shown = run("log", str(house.settings.data), *key)
    assert code == 0
    assert json.loads(shown.splitlines()[0])["user"] == "ada"
    assert run("log", str(house.settings.data), *key, "--seal", "0" * 64)[0] == 1
    assert run("log", str(tmp_path))[0] == 1
