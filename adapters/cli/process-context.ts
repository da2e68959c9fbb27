/** The real process as the surroundings of the command line. */
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { StringDecoder } from "node:string_decoder";
import { codeOf } from "../client/system-error.ts";
import type { CommandContext } from "./context.ts";
import { LogSink, openStandardError } from "./log-sink.ts";
import { decodeText } from "./read-text.ts";

// Whoever reads may stop reading, as `head` does, and a disk may be full: that ends neither a server nor an apply in the middle of it.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

/** Servers and agents serve on, whoever reads what they said at their start. */
let isService = false;

/** Why the result of the command did not get through, as a system error's name; null where it did, or where the reader left early. */
export function unwrittenOutput(): Promise<string | null> {
  if (isService) return Promise.resolve(null);
  return new Promise((resolve) => {
    process.stdout.write("", (error) => {
      const code = error ? codeOf(error) : null;
      resolve(code === "EPIPE" ? null : code);
    });
  });
}

/** Reads one line from the terminal. The terminal edits it, so that no key is left in a state of ours when the process is killed. */
function askAtTerminal(question: string): Promise<string | null> {
  return new Promise((resolve) => {
    // As a file that was typed in leaves it: nothing more comes.
    if (process.stdin.readableEnded) return resolve(null);
    const lines = createInterface({ input: process.stdin, terminal: false });
    let answer: string | null = null;
    const stop = (): void => lines.close();
    process.on("SIGINT", stop);
    lines.once("line", (line) => {
      answer = line;
      lines.close();
    });
    lines.once("close", () => {
      process.off("SIGINT", stop);
      // Whoever did not end the line left the cursor in it.
      if (answer === null) process.stderr.write("\n");
      resolve(answer);
    });
    process.stderr.write(question);
  });
}

/** Reads a line without showing it. The terminal is as it was afterwards, whatever ends it but a kill. */
function askSecretAtTerminal(question: string): Promise<string | null> {
  const { stdin, stderr } = process;
  return new Promise((resolve) => {
    let typed = "";
    // A character may come in pieces.
    const decoder = new StringDecoder("utf8");
    const end = (answer: string | null): void => {
      stdin.off("data", take).setRawMode(false).pause();
      stderr.write("\n");
      resolve(answer);
    };
    const take = (piece: Buffer): void => {
      for (const key of decoder.write(piece)) {
        if (key === "\r" || key === "\n") return end(typed);
        // Ctrl-C and Ctrl-D.
        if (key === "\u0003" || key === "\u0004") return end(null);
        typed = key === "\u007f" || key === "\b" ? [...typed].slice(0, -1).join("") : typed + key;
      }
    };
    // Before the question: who answers it at once must not see what they typed.
    stdin.setRawMode(true).resume().on("data", take);
    stderr.write(question);
  });
}

/** This process: its streams, its environment, its signals. */
export const processContext: CommandContext = {
  stdout: (piece) => void process.stdout.write(piece),
  stderr: (piece) => void process.stderr.write(piece),
  log: new LogSink(openStandardError),
  environment: process.env,
  readInput: async () => decodeText(await buffer(process.stdin), "Standard input"),
  isOutputTerminal: process.stdout.isTTY,
  // A terminal may not know its size: it says 0.
  ...(process.stdout.isTTY && process.stdout.columns > 0 && { columns: process.stdout.columns }),
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask: askAtTerminal, askSecret: askSecretAtTerminal }),
  untilStopped: (unwanted) => {
    isService ||= unwanted === undefined;
    return untilSignalled(unwanted);
  },
  untilHurried: untilSignalled,
  sayWhenEnded,
};

const signals = ["SIGINT", "SIGTERM"] as const;

const longestTimerMs = 2_147_483_647;

/** The process still dies of the signal: a shell ends a loop only where its command did. */
function sayWhenEnded(notice: string): () => void {
  const forget = (): void => {
    for (const signal of signals) process.off(signal, end);
  };
  const end = (signal: NodeJS.Signals): void => {
    forget();
    process.stderr.write(notice, () => process.kill(process.pid, signal));
  };
  for (const signal of signals) process.on(signal, end);
  return forget;
}

function untilSignalled(unwanted?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    // Waiting for a signal keeps no process alive, nor do timers of the library: an agent without a connection would end.
    const alive = setInterval(() => {}, longestTimerMs);
    const stop = (): void => {
      clearInterval(alive);
      // A signal that nobody waits for ends the process at once.
      for (const signal of signals) process.off(signal, stop);
      resolve();
    };
    for (const signal of signals) process.on(signal, stop);
    unwanted?.addEventListener("abort", stop, { once: true });
  });
}
