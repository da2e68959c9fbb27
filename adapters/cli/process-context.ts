/** The real process as the surroundings of the command line. */
import { text } from "node:stream/consumers";
import type { CommandContext } from "./context.ts";

/** This process: its streams, its environment, its signals. */
export const processContext: CommandContext = {
  stdout: (piece) => void process.stdout.write(piece),
  stderr: (piece) => void process.stderr.write(piece),
  environment: process.env,
  readInput: () => text(process.stdin),
  untilStopped: (unwanted) =>
    new Promise((resolve) => {
      // Waiting for a signal keeps no process alive, nor do timers of the library: an agent without a connection would end.
      const alive = setInterval(() => {}, longestTimerMs);
      const stop = (): void => {
        clearInterval(alive);
        if (unwanted?.aborted === true) for (const signal of signals) process.off(signal, stop);
        resolve();
      };
      // Once each: the second signal of a kind ends the process at once.
      for (const signal of signals) process.once(signal, stop);
      unwanted?.addEventListener("abort", stop, { once: true });
    }),
};

const signals = ["SIGINT", "SIGTERM"] as const;

const longestTimerMs = 2_147_483_647;
