"""The supervisor with small real processes: restarts, back-off, output, and an end that leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from interview.serve.child import BACK_OFF_SECONDS, HEALTHY_SECONDS, Child, describe
from interview.serve.listen import ServeFailed, listen
from interview.serve.supervisor import Supervisor


def eventually(holds: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def program(code: str) -> list[str]:
    return [sys.executable, "-u", "-c", textwrap.dedent(code)]


def run_until(children: list[Child], stop: Callable[[], bool], seconds: float = 10) -> Supervisor:
    """Supervise until `stop` says so (looked at with every readiness probe)."""
    deadline = time.monotonic() + seconds
    supervisor = Supervisor(children, ready=lambda: {"part": False}, on_ready=lambda: None)

    def look() -> dict[str, bool]:
        if stop() or time.monotonic() > deadline:
            supervisor.signals += 1
        return {"part": False}

    supervisor.ready = look
    supervisor.run()
    return supervisor


def test_back_off_doubles_to_half_a_minute_and_starts_anew_after_a_healthy_one() -> None:
    child = Child("short", program("raise SystemExit(3)"))
    pauses = []
    for _ in range(8):
        child.start()
        eventually(lambda: child.ended() == 3)
        pauses.append(child.bury())
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30] and BACK_OFF_SECONDS == (1, 2, 4, 8, 16, 30)
    child.start()
    child.started_at -= HEALTHY_SECONDS
    eventually(lambda: child.ended() is not None)
    assert child.bury() == 1


def test_a_child_that_dies_is_started_again_and_its_death_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    deaths: list[int] = []
    child = Child("sleeper", program("print('hello'); import time; time.sleep(60)"), on_death=deaths.append)
    pids: list[int] = []

    def stop() -> bool:
        if child.running and child.pid not in pids and time.monotonic() - child.started_at > 0.5:
            pids.append(child.pid)
            os.kill(child.pid, signal.SIGKILL)
        return len(pids) == 2

    run_until([child], stop)
    assert len(set(pids)) == 2 and deaths == pids
    output = capsys.readouterr().out
    assert output.count("sleeper | hello\n") == 2
    assert "The sleeper process was ended by SIGKILL; it starts again in 1 s." in output


def test_three_deaths_before_ready_end_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    other = Child("other", program("import time; time.sleep(60)"))
    broken = Child("broken", program("print('no such file'); raise SystemExit(7)"))
    supervisor = Supervisor([other, broken], ready=lambda: {"broken": False}, on_ready=lambda: None)
    with pytest.raises(ServeFailed, match="The broken process ended 3 times before the site was ready"):
        supervisor.run()
    assert capsys.readouterr().out.count("broken | no such file") == 3
    assert not other.running and not broken.running


def test_a_command_that_does_not_exist_is_named() -> None:
    supervisor = Supervisor([Child("ghost", ["/no/such/program"])], ready=dict, on_ready=lambda: None)
    with pytest.raises(ServeFailed, match=r"The ghost process can't be started: .*No such file"):
        supervisor.run()


def test_the_one_others_need_stops_last(tmp_path: Path) -> None:
    """And each is asked before it is killed."""
    code = """
        import signal, sys, time
        name, log = sys.argv[1:]
        def end(*_):
            time.sleep(0.3)
            open(log, "a").write(name + " ")
            sys.exit()
        signal.signal(signal.SIGTERM, end)
        open(log + name, "w")
        time.sleep(60)
    """
    log = tmp_path / "log"
    store = Child("store", [*program(code), "store", str(log)], stops_last=True)
    user = Child("user", [*program(code), "user", str(log)])
    began = time.monotonic()
    run_until([store, user], lambda: all((tmp_path / f"log{name}").exists() for name in ("store", "user")))
    assert log.read_text().split() == ["user", "store"]
    assert time.monotonic() - began < 8


def test_a_child_that_ignores_the_request_is_killed_with_what_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("interview.serve.supervisor.STOP_SECONDS", 0.5)
    code = """
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        grandchild = subprocess.Popen(["sleep", "60"])
        open(sys.argv[1], "w").write(f"{os.getpid()} {grandchild.pid}")
        time.sleep(60)
    """
    file = tmp_path / "pids"
    run_until(
        [Child("stubborn", [*program(code), str(file)])], lambda: file.exists() and file.read_text() != ""
    )
    for pid in file.read_text().split():
        eventually(lambda pid=int(pid): gone(pid))  # type: ignore[misc]


def gone(pid: int) -> bool:
    """Ended; a zombie waiting for its reaper counts."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal exists on Linux only")
def test_children_of_a_killed_supervisor_end(tmp_path: Path) -> None:
    code = """
        import sys, time
        sys.path.insert(0, sys.argv[1])
        from interview.serve.child import Child
        child = Child("sleeper", ["sleep", "60"])
        child.start()
        print(child.pid, flush=True)
        time.sleep(60)
    """
    parent = subprocess.Popen([*program(code), str(settings.BASE_DIR)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert not gone(pid)
    parent.kill()
    parent.wait()
    eventually(lambda: gone(pid))


def test_a_line_cut_in_two_is_passed_on_whole(capsys: pytest.CaptureFixture[str]) -> None:
    code = """
        import sys, time
        sys.stdout.write("first "); sys.stdout.flush(); time.sleep(0.6)
        sys.stdout.buffer.write(b"half \\xff\\n"); sys.stdout.flush(); time.sleep(60)
    """
    began = time.monotonic()
    run_until([Child("web", program(code))], lambda: time.monotonic() - began > 1.5)
    assert "web    | first half �\n" in capsys.readouterr().out


def test_exit_statuses_in_words() -> None:
    assert describe(1) == "ended with status 1"
    assert describe(-signal.SIGTERM) == "was ended by SIGTERM"
    assert describe(-63) == "was ended by signal 63"


def test_a_taken_port_is_named_with_a_free_one() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(
            ServeFailed, match=rf"Port {port} on 127\.0\.0\.1 is taken.*make run PORT=\d+"
        ) as caught:
            listen("127.0.0.1", port)
        suggested = int(str(caught.value).rpartition("=")[2])
        listen("127.0.0.1", suggested).close()


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(ServeFailed, match=f"HOST={host} .*Use 127"):
        listen(host, 0)
