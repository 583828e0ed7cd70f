"""Programs that speak the exec protocol and break it."""

OFFER = "read offer\n"
YES = OFFER + "echo '{\"protocol\":2,\"ok\":true,\"name\":\"a program\"}'\n"


def says(line):
    return OFFER + f"cat <<'EOF'\n{line}\nEOF\ncat > /dev/null\n"


# Shell scripts by what they do. @ stands for a random number from 1 to 199.
SCRIPTS = {
    "ends at once": "exit $((@ % 5))",
    "is killed at once": "kill -KILL $$",
    "interrupts itself": "kill -INT $$",
    "ends after the offer": OFFER + "exit 3",
    "ends after its answer": YES + "exit $((@ % 2))",
    "is killed after its answer": YES + "kill -SEGV $$",
    "answers short": YES + "head -c @ > /dev/null; head -c @ /dev/zero",
    "answers long": YES + "head -c 4 > /dev/null; cat /dev/zero",
    "answers before it is asked": YES + "head -c @ /dev/zero; cat > /dev/null",
    "says no JSON": says('{"ok":tru @'),
    "says an empty line": says(""),
    "says bytes": OFFER + "head -c @ /dev/zero; echo; cat > /dev/null",
    "says a line without end": OFFER + "tr '\\0' x < /dev/zero",
    "says a long line": OFFER + "printf '{\"ok\":true,\"name\":\"'; head -c 300000 /dev/zero | tr '\\0' x; echo '\"}'; cat > /dev/null",
    "says a list": says("[]"),
    "says a number for a truth": says('{"ok":1}'),
    "says a number for a name": says('{"ok":true,"name":7}'),
    "says another protocol": says('{"ok":true,"protocol":99}'),
    "names itself with control characters": says('{"protocol":2,"ok":true,"name":"\\u001b[31m\\u202e\\u0000"}'),
    "declines": says('{"protocol":2,"ok":false,"error":""}'),
    "declines at length": says('{"protocol":2,"ok":false,"error":"' + "long \\u001b[31m " * 5000 + '"}'),
    "names an unknown model": says('{"protocol":2,"ok":true,"model":"../.."}'),
    "names an endless file as its model": says('{"protocol":2,"ok":true,"model":"/dev/zero"}'),
    "closes its output": YES + "exec >&-; cat > /dev/null; sleep 600",
    "closes its input": YES + "exec <&-; sleep 600",
    "closes both at once": "exec <&- >&-; sleep 600",
    "says nothing": "sleep 600",
    "never answers": YES + "cat > /dev/null; sleep 600",
    "never reads": YES + "sleep 600",
    "drips": YES + "while :; do printf x; sleep 0.2; done",
    "drips its greeting": "while :; do printf x; sleep 0.2; done",
    "leaves children": "sleep 600 & sleep 600 &\n" + YES + "exit 1",
    "leaves a child that holds its output": YES + "sleep 600 & exit 0",
    "hears no signal": "trap '' TERM INT HUP PIPE\n" + YES + "sleep 600; sleep 600",
    "floods standard error": "yes error | head -c 3000000 >&2\n" + OFFER + "exit 1",
    "floods standard error for ever": "yes error >&2 &\n" + YES + "sleep 600",
    "says control characters on standard error": "printf 'error: \\033[31m\\007 x\\n' >&2; exit 1",
    "says bytes on standard error": "head -c 5000 /dev/zero >&2; exit 1",
    "says a long line on standard error": "head -c 200000 /dev/zero | tr '\\0' y >&2; exit 1",
    "stops itself": YES + "kill -STOP $$",
}

# What the correct program does with its answer d instead of writing it. `served` counts answers and `answer(d)` writes one.
LIES = {
    "zeros": "answer([0] * len(d))",
    "NaN": "answer([(1 << 8 * width) - 1] * len(d))",
    "infinity": "answer([encode(math.inf)] * len(d))",
    "one constant": "answer([encode(1.5)] * len(d))",
    "random codes": "answer([random.getrandbits(8 * width) for _ in d])",
    "the last bit at random": "answer([x ^ random.getrandbits(1) for x in d])",
    "another order": "answer(d[::-1])",
    "one bit wrong": "answer([d[0] ^ 1] + d[1:])",
    "wrong after a while": "answer([d[0] ^ (served > @)] + d[1:])",
    "the answer before": "answer((last + d)[:len(d)]); last = d",
    "c back": "answer([encode(x) for x in c])",
    "slow": "time.sleep(0.3); answer(d)",
    "slower and slower": "time.sleep(served * 0.05); answer(d)",
    "dies after a while": "served < @ / 20 or sys.exit(3); answer(d)",
    "sleeps after a while": "time.sleep(600 * (served > @ / 20)); answer(d)",
    "half an answer": "write(struct.pack(f'<{len(d) // 2}{letter}', *d[:len(d) // 2])); sys.exit(0)",
    "an answer and more": "answer(d + d)",
}
ANSWER = 'write(struct.pack(f"<{len(d)}{letter}", *d))'
# Values of --device that name no program, or a program that cannot be started.
NONE = [
    "exec:", "exec: ", "exec:./nowhere", "exec:/", "exec:.", "exec:'", 'exec:"', "exec:\\", "exec:./c.npy", "exec:sh -c 'exit 1", "exec:" + "x" * 5000,
    "exec:\x1b[31m", "exec:''", "exec:/dev/null", "exec:$(true)", "exec:é", "exec:true", "exec:yes", "exec:cat", "exec:sleep 600",
]
# Other values of --device.
OTHERS = [
    "", ":", "model:", "model:nowhere", "model:/dev/zero", "model:/", "model:device", "model:hopper/", "model:hopper/" + "x" * 300, "model:any.toml",
    "model:hopper/wgmma.m64n8k16.f32.f16.f16", "trace:", "trace:nowhere", "trace:/dev/zero", "trace:device", "trace:scaled.safetensors", "cuda:0", "cuda:-1",
    "cuda:99999999999999999999", "cuda:all", "cuda", "cpu", "cpu:1", "cublaslt", "cublaslt:0", "hopper", "H100", "sm_90", "\x1b[31m", "é", "x" * 70000,
]


def broken(r, good):
    """Returns a program that breaks the protocol or gives wrong answers: a description and its text. `good` is a correct program."""
    number = str(r.randrange(1, 200))
    if r.random() < 0.5:
        what = r.choice(list(SCRIPTS))
        return what, ("#!/bin/sh\n" + SCRIPTS[what].replace("@", number) + "\n").encode()
    what = r.choice(list(LIES))
    text = good.decode()
    assert ANSWER in text, "the good program has changed: ANSWER is not in it"
    lie = "served += 1; " + LIES[what].replace("@", number)
    state = f"    served, last, width = 0, [], FORMATS[offer['d']][0]\n    answer = lambda d: {ANSWER}\n"
    text = text.replace(ANSWER, lie).replace("    while tiles", state + "    while tiles").replace("import json", "import json, random, time")
    return what, text.encode()
