/** What somebody types at a real terminal who is asked for a secret: keys that edit it, characters that come in pieces, and who sees it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { hasPrograms } from "../../support/programs.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const program = fileURLToPath(new URL("../../support/asking-process.ts", import.meta.url));

/** Runs a command at a terminal of its own, types the pieces of one answer each time it asks, and tells what was shown and how it ended. */
const terminal = `
import json, os, pty, signal, sys, time
answers, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown = b""

# What never ends is ended, with the terminal: the program gets SIGHUP.
def give_up(*_):
    sys.exit("Nothing more came behind: " + shown.decode(errors="replace"))

signal.signal(signal.SIGALRM, give_up)
signal.alarm(60)

def read():
    global shown
    try:
        data = os.read(fd, 1024)
    except OSError:
        data = b""
    shown += data
    return data != b""

for asked, pieces in enumerate(answers):
    while shown.count(b"Passphrase: ") <= asked:
        if not read():
            give_up()
    for piece in pieces:
        os.write(fd, bytes.fromhex(piece))
        time.sleep(0.05)
while read():
    pass
print(json.dumps({"shown": shown.decode(), "status": os.waitpid(pid, 0)[1]}))
`;

const rows: [what: string, typed: string[], answer: string | null][] = [
  ["a text", ["hunter2\r"], "hunter2"],
  ["a line feed at its end", ["hunter2\n"], "hunter2"],
  ["what stands behind its end", ["hunter2\rmore\r"], "hunter2"],
  ["nothing", ["\r"], ""],
  ["a key that takes back", ["abc\u007fd\r"], "abd"],
  ["the other key that takes back", ["abc\bd\r"], "abd"],
  ["more taken back than there is", ["ab\u007f\u007f\u007fc\r"], "c"],
  ["a letter with two bytes, taken back", ["aä\u007fb\r"], "ab"],
  ["an emoji, taken back", ["a😀\u007fb\r"], "ab"],
  ["an emoji, kept", ["a😀b\r"], "a😀b"],
  ["Ctrl-C", ["abc\u0003"], null],
  ["Ctrl-D", ["abc\u0004"], null],
];

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

it.runIf(hasPrograms("secrets that are typed at a terminal", "python3", "stty"))(
  "secrets are read as they were typed, none is shown, and the terminal is as before each",
  () => {
    const path = join(temporaryFolder(), "answers");
    const answers = rows.map(([, typed]) => typed.map((piece) => toHex(Buffer.from(piece))));
    // A character may come byte by byte.
    answers.push([...Buffer.from("ß😀x\r")].map((byte) => toHex(Buffer.of(byte))));
    const command = [process.execPath, "--import", "tsx", program, path, String(answers.length)];
    const { stdout, stderr } = spawnSync("python3", ["-c", terminal, JSON.stringify(answers), ...command], {
      timeout: 90_000,
      killSignal: "SIGKILL",
    });
    expect(stderr.toString()).toBe("");
    const told = JSON.parse(stdout.toString()) as unknown;
    expect(told).toEqual({ shown: "Passphrase: \r\n".repeat(answers.length), status: 0 });
    const read = JSON.parse(readFileSync(path, "utf8")) as { answers: unknown[]; set: string[] };
    expect(rows.map(([what], at) => [what, read.answers[at]])).toEqual(
      rows.map(([what, , answer]) => [what, answer]),
    );
    expect(read.answers.slice(rows.length)).toEqual(["ß😀x"]);
    expect(read.set).toHaveLength(answers.length + 1);
    expect(new Set(read.set).size).toBe(1);
  },
);
