"""Programs that speak the exec protocol, and break it: shell scripts, and what tcnum is to make of each."""

from .runs import DEVICE, DONE, REFUSED

OFFER = "read offer\n"
YES = OFFER + "echo '{\"protocol\":2,\"ok\":true,\"name\":\"a program\"}'\n"


def answer(line):
    return OFFER + f"cat <<'EOF'\n{line}\nEOF\ncat > /dev/null\n"


def programs(r):
    """Scripts by what they do: (text, statuses)."""
    number = r.randrange(1, 200)
    junk = "".join(r.choice("{}[]\",:ok true\\u0041 1e9\x01é") for _ in range(r.randrange(200))).replace("'", "")
    return {
        "ends at once": (f"exit {r.choice([0, 1, 2, 7, 127])}", DEVICE),
        "is killed at once": (f"kill -{r.choice(['KILL', 'SEGV', 'TERM', 'INT', 'PIPE'])} $$", DEVICE),
        "ends after the greeting": (OFFER + "exit 3", DEVICE),
        "ends after its answer": (YES + f"exit {r.choice([0, 9])}", DEVICE),
        "is killed after its answer": (YES + "kill -9 $$", DEVICE),
        "answers short": (YES + f"head -c {number} > /dev/null; head -c {number} /dev/zero", DEVICE),
        "answers long": (YES + "head -c 4 > /dev/null; cat /dev/zero", DEVICE | DONE),
        "answers before it is asked": (YES + f"head -c {number} /dev/zero; cat > /dev/null", DEVICE),
        "answers random codes and ends": (YES + f"head -c {number * 50} /dev/urandom", DEVICE),
        "says what is no JSON": (answer(junk), DEVICE),
        "says an empty line": (answer(""), DEVICE),
        "says bytes": (OFFER + f"head -c {number} /dev/urandom; echo; cat > /dev/null", DEVICE),
        "says a line without end": (OFFER + "tr '\\0' x < /dev/zero", DEVICE),
        "says a long line": (OFFER + "printf '{\"ok\":true,\"name\":\"'; head -c 300000 /dev/zero | tr '\\0' x; echo '\"}'; cat > /dev/null", DEVICE | DONE),
        "says the wrong kinds": (
            answer(r.choice(["[]", "1", "null", '{"ok":1}', '{"ok":"yes"}', '{"ok":true,"name":7}', '{"ok":null}', "{}", '{"ok":true,"protocol":"2"}'])),
            DEVICE,
        ),
        "says another protocol": (answer(r.choice(['{"ok":true,"protocol":99}', '{"ok":true,"protocol":-1}', '{"protocol":2}'])), DEVICE),
        "declines": (answer(r.choice(['{"ok":false}', '{"ok":false,"error":""}', '{"protocol":2,"ok":false,"error":"no"}'])), REFUSED | DEVICE),
        "declines at length": (answer('{"protocol":2,"ok":false,"error":"' + "long \\u001b[31m " * 5000 + '"}'), REFUSED | DEVICE),
        "names an unknown model": (answer('{"protocol":2,"ok":true,"model":"' + r.choice(["", "x", "../..", "\\u0000", "/dev/zero", "."]) + '"}'), REFUSED | DEVICE),
        "closes its output": (YES + "exec >&-; cat > /dev/null; sleep 30", DEVICE),
        "closes its input": (YES + "exec <&-; sleep 30", DEVICE),
        "closes both at once": ("exec <&- >&-; sleep 30", DEVICE),
        "says nothing": ("sleep 30", DEVICE),
        "answers the greeting only": (YES + "cat > /dev/null; sleep 30", DEVICE),
        "never reads": (YES + "sleep 30", DEVICE),
        "drips": (YES + "while :; do printf x; sleep 0.2; done", DEVICE),
        "drips its greeting": ("while :; do printf x; sleep 0.2; done", DEVICE),
        "leaves children": ("sleep 30 & sleep 30 &\n" + YES + "exit 1", DEVICE),
        "leaves a child that holds its output": (YES + "sleep 30 & exit 0", DEVICE),
        "hears no signal": ("trap '' TERM INT HUP PIPE\n" + YES + "sleep 30; sleep 30", DEVICE),
        "floods standard error": ("yes error | head -c 3000000 >&2\n" + OFFER + "exit 1", DEVICE),
        "floods standard error for ever": ("yes error >&2 &\n" + YES + "sleep 30", DEVICE),
        "says control characters on standard error": ("printf 'error: \\033[31m\\007 x\\n' >&2; exit 1", DEVICE),
        "says bytes on standard error": ("head -c 5000 /dev/urandom >&2; exit 1", DEVICE),
        "says a long line on standard error": ("head -c 200000 /dev/zero | tr '\\0' y >&2; exit 1", DEVICE),
        "stops itself": (YES + "kill -STOP $$", DEVICE),
    }


# Programs that cannot be started, or are none: the value of --device.
NONE = [
    "exec:", "exec: ", "exec:./nowhere", "exec:/", "exec:.", "exec:'", 'exec:"', "exec:\\", "exec:./data", "exec:sh -c 'exit 1", "exec:" + "x" * 5000,
    "exec:\x1b[31m", "exec:''", "exec:/dev/null", "exec:$(true)", "exec:é",
]
