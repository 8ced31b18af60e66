"""The client of a service against what no service gives on demand: connections that break, answers that come later, wrong answers."""

import asyncio
import json
import pickle
from decimal import Decimal

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cenote import _service_http, _service_values, _service_views
from cenote._types import Scalar

TOKEN = "cenote_c2VjcmV0"
JOB = {
    "id": "ab" * 16,
    "origin": "own",
    "program": "less",
    "digest": "cd" * 32,
    "state": "submitted",
    "reason": None,
    "select": {},
    "priority": 0,
    "submitted_at": 1_700_000_000_123,
}


def view(state, **more):
    return {**JOB, "state": state, **more}


def problem(status, kind, **headers):
    body = {"type": f"urn:cenote:problem:{kind}", "title": "x", "status": status, "detail": "cause and remedy"}
    headers = {"content-type": "application/problem+json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx.Response(status, headers=headers, content=json.dumps(body))


class Script:
    """Answers, or what is raised instead, one for each request; the last of them for all that follow."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, type):
            raise answer("broken", request=request)
        if isinstance(answer, httpx.Response):
            # A response serves once.
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)
        return httpx.Response(200, json=answer)

    def bodies(self):
        return [json.loads(request.content) for request in self.requests]


def client(*answers, timeout=5.0):
    script = Script(*answers)
    return cn.Client("http://127.0.0.1:7780/", TOKEN, timeout=timeout, transport=httpx.MockTransport(script)), script


def stream(*views, end=b""):
    lines = "".join(f": alive\n\nevent: job\ndata: {json.dumps(one)}\n\n" for one in views)
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=lines.encode() + end)


@pytest.mark.parametrize("first", [httpx.ConnectError, httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError, 503, 429, 502, 504])
def test_a_submission_is_sent_again_under_its_key(first):
    service, script = client(problem(first, "unavailable") if isinstance(first, int) else first, view("queued"))
    job = service.submit("less", x=1, select={"row": 7})
    assert job.state == "queued"
    one, two = script.bodies()
    assert one == two
    assert len(one["idempotency_key"]) == 36
    assert (one["inputs"], one["select"]) == ({"x": 1}, {"row": "7"})
    service.submit("less", x=1)
    assert script.bodies()[-1]["idempotency_key"] != one["idempotency_key"]


@pytest.mark.parametrize(("first", "sent"), [(httpx.ReadError, 1), (httpx.ReadTimeout, 1), (502, 1), (503, 2), (httpx.ConnectError, 2)])
def test_an_approval_is_sent_again_only_if_it_cannot_have_arrived(first, sent):
    service, script = client(problem(first, "unavailable") if isinstance(first, int) else first, problem(400, "invalid"))
    with pytest.raises(cn.Error) as raised:
        service.approve("less")
    assert len(script.requests) == sent
    assert isinstance(raised.value, cn.ServiceError if sent == 2 or first == 502 else cn.ConnectionFailed)


def test_a_service_of_before_receivers_were_a_term_hears_of_none_unless_they_are_named():
    service, script = client(problem(400, "invalid"), problem(400, "invalid"))
    for named in ({}, {"receivers": "own"}):
        with pytest.raises(cn.ServiceError):
            service.approve("less", **named)
    unnamed, named = script.bodies()
    assert "receivers" not in unnamed
    assert named["receivers"] == "own"


def test_giving_up_says_what_went_wrong_last():
    service, script = client(httpx.ConnectError, timeout=0.4)
    with pytest.raises(cn.ConnectionFailed, match=r"http://127.0.0.1:7780 does not answer: .*`cenote serve`"):
        service.status()
    assert 2 <= len(script.requests) < 10
    service, script = client(problem(503, "unavailable", retry_after="60"), timeout=0.4)
    with pytest.raises(cn.ServiceError, match="cause and remedy") as raised:
        service.status()
    assert (raised.value.status, raised.value.kind, raised.value.detail) == (503, "unavailable", "cause and remedy")
    assert len(script.requests) == 1
    for status, kind in ((400, "invalid"), (401, "unauthorised"), (409, "conflict"), (500, "internal")):
        service, script = client(problem(status, kind))
        with pytest.raises(cn.ServiceError, match=f"{kind}, HTTP {status}"):
            service.status()
        assert len(script.requests) == 1


def test_no_means_no_and_is_asked_once():
    service, script = client(problem(503, "unavailable"))
    assert service.ready() is False
    assert len(script.requests) == 1
    with pytest.raises(cn.ConnectionFailed):
        client(httpx.ConnectError)[0].ready()
    with pytest.raises(cn.ServiceError, match="HTTP 404"):
        client(problem(404, "not-found"))[0].ready()


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, html="<p>hello</p>"),
        httpx.Response(200, headers={"content-type": "application/json"}, content=b"{"),
        httpx.Response(200, headers={"content-type": "application/json"}, content=b"[" * 100_000),
        httpx.Response(404, html="<p>what?</p>"),
        httpx.Response(400, json={"type": 1}),
        httpx.Response(301, headers={"location": "http://elsewhere/"}),
        [],
        "text",
        {name: value for name, value in JOB.items() if name != "state"},
        view(7),
        view("done", submitted_at=True),
        view("done", submitted_at=10**30),
        view("done", select={"a": 1}),
        view("done", cost={"ands": 1}),
    ],
)
def test_what_is_no_answer_of_the_api_is_called_so(answer):
    service, _ = client(answer)
    with pytest.raises(cn.ServiceError, match="cenote serve") as raised:
        service.job("1")
    assert raised.value.kind == "malformed"


def test_fields_and_states_of_a_newer_service_are_taken():
    service, _ = client(view("paused", fresh=[1], result={"z": 1}, cost=None))
    job = service.job("1")
    assert job.view.ended
    assert job.view.submitted_at.isoformat() == "2023-11-14T22:13:20.123000+00:00"
    assert "'z'" not in repr(job.view)
    with pytest.raises(cn.JobFailed, match="ended as paused"):
        job.result()
    terms = {"program": "a", "peer": "b", "submitters": "own", "inputs": {"x": {"from": "moon", "day": 1}, "y": {"from": "table"}}}
    approval = {"id": 1, "terms": terms, "given_at": 0, "withdrawn_at": None, "spent": 0, "signature": ""}
    with pytest.raises(cn.ServiceError, match=r"lacks Source.dataset"):
        client([approval])[0].approvals()
    terms["inputs"]["y"]["dataset"] = "d"
    [found] = client([approval])[0].approvals()
    assert found.terms.inputs == {"x": {"from": "moon", "day": 1}, "y": cn.Table("d")}


def test_names_do_not_become_paths():
    service, script = client(view("done"))
    service.job("../programs?x#y")
    assert script.requests[0].url.raw_path == b"/v1/jobs/..%2Fprograms%3Fx%23y"


def test_events_go_on_after_a_stream_broke_off():
    half = b"event: job\ndata: {"
    service, script = client(
        view("submitted"),
        stream(view("submitted"), view("queued"), end=half),
        httpx.ReadError,
        problem(503, "unavailable"),
        stream(view("queued"), view("running")),
        stream(view("done", result={"z": 1})),
    )
    job = service.job("1")
    assert [one.state for one in job.events()] == ["submitted", "queued", "running", "done"]
    assert job.result() == {"z": 1}
    assert len(script.requests) == 6
    for answer, kind in (
        (problem(404, "not-found"), "not-found"),
        (httpx.Response(200, json=JOB), "malformed"),
        (httpx.Response(200, headers={"content-type": "text/event-stream"}, content=b"data: {\n\n"), "malformed"),
    ):
        with pytest.raises(cn.ServiceError) as raised:
            list(client(view("queued"), answer)[0].job("1").events())
        assert raised.value.kind == kind
    with pytest.raises(cn.ConnectionFailed, match="before the job did"):
        list(client(view("queued"), stream(view("queued")), stream(), timeout=0.3)[0].job("1").events())


def test_a_wait_asks_again_and_does_not_hammer():
    service, script = client(view("queued"), view("queued"), httpx.ReadTimeout, view("running"), view("done", result={"z": True}))
    assert service.job("1").result(timeout=20) == {"z": True}
    assert [int(request.url.params["wait_s"]) for request in script.requests[1:]] == pytest.approx([19] * 4, abs=2)
    # A service that is stopping answers at once.
    service, script = client(view("queued"))
    with pytest.raises(cn.JobUnfinished, match="still queued"):
        service.job("1").wait(timeout=1.5)
    assert 3 <= len(script.requests) < 20
    with pytest.raises(cn.JobUnfinished):
        service.job("1").wait(timeout=0)


def test_a_cancellation_whose_answer_was_lost_is_one():
    service, script = client(view("queued"), httpx.ReadError, problem(409, "conflict"), view("cancelled"))
    assert service.job("1").cancel().state == "cancelled"
    assert len(script.requests) == 4


def test_the_asynchronous_client_takes_the_same_steps():
    async def go():
        script = Script(httpx.ReadError, view("queued"), stream(view("queued")), httpx.ReadError, stream(view("failed", reason="why")))
        async with cn.AsyncClient(token=TOKEN, transport=httpx.MockTransport(script)) as service:
            job = await service.submit("less", x=1)
            assert len({body["idempotency_key"] for body in script.bodies()}) == 1
            assert [one.state async for one in job.events()] == ["queued", "failed"]
            with pytest.raises(cn.JobFailed, match="failed: why"):
                await job.result()
            script.answers = [httpx.ConnectError]
            service._calls.timeout = 0.3
            with pytest.raises(cn.ConnectionFailed):
                await service.status()

    asyncio.run(go())


def test_the_token_goes_to_the_service_and_nowhere_else(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    service, script = client(httpx.ConnectError, timeout=0.2)
    with pytest.raises(cn.ConnectionFailed) as raised:
        service.status()
    assert script.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in f"{service!r} {vars(service)} {raised.value!r} {raised.value.__context__!r}"
    # Without a transport of its own it takes no proxy of the environment.
    with cn.Client(token=TOKEN) as plain:
        assert not plain._sender._mounts


@pytest.mark.parametrize("token", ["", "cenote_x\n", "a b", "tökén", None])
def test_what_is_no_token_is_refused_and_not_shown(token):
    with pytest.raises(cn.InputError, match="the token is empty or not") as raised:
        cn.Client(token=token)
    assert not token or token not in str(raised.value)


@pytest.mark.parametrize("url", ["127.0.0.1:7780", "ftp://a", "http://", "http://u:p@a", "http://a?b", "http://a#b", "http://a:x", None])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(cn.InputError, match="not that of a service"):
        cn.Client(url, TOKEN)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), True, "3"])
def test_what_is_no_timeout_is_refused(timeout):
    with pytest.raises(cn.InputError, match="positive number of seconds"):
        cn.Client(token=TOKEN, timeout=timeout)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cenote.toml").write_text('name = "a"\n')
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "token").chmod(0o600)
    return tmp_path


@pytest.mark.parametrize(
    ("listen", "url"),
    [
        (None, "http://127.0.0.1:7780"),
        ("127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("[::]:9000", "http://[::1]:9000"),
        ("localhost:9000", "http://localhost:9000"),
    ],
)
def test_a_directory_says_where_its_service_is(folder, listen, url):
    if listen:
        (folder / "cenote.toml").write_text(f'[api]\nlisten = "{listen}"\n')
    with cn.Client.of(folder) as service:
        assert repr(service) == f"<client of {url}>"


@pytest.mark.parametrize("config", ["[api", "api = 3\n", "[api]\nlisten = 3\n", '[api]\nlisten = "a"\n', '[api]\nlisten = "a:0"\n'])
def test_a_configuration_that_cannot_be_used_is_named(folder, config):
    (folder / "cenote.toml").write_text(config)
    with pytest.raises(cn.InputError, match=r"cenote.toml: "):
        cn.Client.of(folder)


def test_a_token_that_others_may_read_is_refused(folder):
    for mode in (0o640, 0o604, 0o620):
        (folder / "token").chmod(mode)
        with pytest.raises(cn.PolicyError, match="chmod 600"):
            cn.Client.of(folder)
    (folder / "token").chmod(0o600)
    for text in ("", "\n", "x" * 5000, "tökén"):
        (folder / "token").write_text(text)
        with pytest.raises(cn.InputError, match="no token"):
            cn.Client.of(folder)
    (folder / "token").unlink()
    with pytest.raises(cn.InputError, match="give the token yourself"):
        cn.Client.of(folder)
    with pytest.raises(cn.InputError, match="cenote init"):
        cn.Client.of(folder / "nowhere")


@cn.program
def more(x: cn.A[cn.UInt[8]], y: cn.B[cn.UInt[8]]) -> cn.Both[cn.UInt[8]]:
    return x + y


def test_programs_are_read_before_they_are_sent(tmp_path):
    made = more.compile()
    registered = {"name": "more", "digest": made.digest, "ands": 7, "inputs": [], "outputs": [], "registered_at": 0}
    made.save(tmp_path / "mine.txt")
    made.save(tmp_path / "mine.prog")
    for form, name in (
        (more, "more"),
        (made, "more"),
        (made.to_bytes(), "more"),
        (made.show().encode(), "more"),
        (tmp_path / "mine.txt", "mine"),
        (str(tmp_path / "mine.prog"), "mine"),
    ):
        service, script = client(registered)
        assert service.register(form).digest == made.digest
        assert (script.requests[0].url.params["name"], script.requests[0].content) == (name, made.to_bytes())
        script.answers = [view("done", digest=made.digest, result={"result": 5})]
        assert service.submit("more", x=1).result() == 5
    service, script = client({**registered, "digest": "00"})
    with pytest.raises(cn.ServiceError, match="another program"):
        service.register(made)
    for wrong, error in ((b"cenote nonsense", cn.CompileError), (b"\xff", cn.CompileError), ("nowhere", cn.InputError), (7, cn.InputError)):
        with pytest.raises(error):
            service.register(wrong)
    with pytest.raises(cn.InputError, match="no program"):
        service.submit(7)
    assert len(script.requests) == 1


@pytest.mark.parametrize("answer", [b"\xff", {"text": "cenote 1"}])
def test_a_text_is_text(answer):
    kind = "text/plain; charset=utf-8" if isinstance(answer, bytes) else "application/json"
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    service, script = client(httpx.Response(200, headers={"Content-Type": kind}, content=body))
    with pytest.raises(cn.ServiceError, match="text"):
        service.program_text("a/b")
    assert script.requests[0].url.raw_path == b"/v1/programs/a%2Fb/text"


@pytest.mark.parametrize("result", [{}, {"result": "x"}, {"result": True}, {"result": 256}, {"result": [1]}, {"result": 1.5}, [], 3])
def test_a_result_of_another_program_is_none_of_this(result):
    service, _ = client(view("done", digest=more.compile().digest, result=result))
    job = service.submit(more, x=1)
    with pytest.raises(cn.ServiceError, match="has another output") as raised:
        job.result()
    assert raised.value.kind == "malformed"


def test_what_is_no_json_is_refused_without_its_value():
    service, script = client(view("done"))
    service.submit("less", x=Decimal("0.1"))
    assert script.bodies()[0]["inputs"] == {"x": "0.1"}
    for value in (float("nan"), {1, 2}, b"secret"):
        with pytest.raises(cn.InputError, match="JSON") as raised:
            service.submit("less", x=value)
        assert "secret" not in str(raised.value)
    with pytest.raises(cn.InputError, match="has a zone"):
        service.approve("less", expires_at=_service_views._EPOCH.replace(tzinfo=None))
    with pytest.raises(cn.InputError, match=r"cn.Submitter\(\)"):
        service.approve("less", {"x": "people"})


def test_errors_survive_a_queue_between_processes():
    job = _service_views.read(cn.JobView, view("refused", reason="no"))
    for error in (cn.ServiceError(400, "invalid", "x"), cn.JobRefused(job), cn.JobUnfinished(job)):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy)) == (type(error), str(error))


SCALARS = st.one_of(
    st.just(Scalar("bool", 1)),
    st.builds(Scalar, st.sampled_from(["uint", "int"]), st.integers(1, 200)),
    st.integers(1, 120).flatmap(lambda width: st.builds(Scalar, st.just("fixed"), st.just(width), st.integers(0, width))),
)


@given(SCALARS.flatmap(lambda elem: st.tuples(st.just(elem), st.integers(elem.low, elem.high))))
def test_a_word_in_json_is_that_word(case):
    elem, number = case
    word = json.loads(_service_http.encoded(_service_values._word(number, elem)))
    if elem.kind != "fixed" and elem.width > 53 and number < 0:
        # Hexadecimal with a sign goes to the service alone, which reads it as a number.
        assert int(word, 16) == number
        return
    assert _service_values._units(word, elem) == number
    if elem.kind == "fixed" and elem.width <= 53:
        assert _service_values._units(json.loads(json.dumps(float(word))), elem) == number
