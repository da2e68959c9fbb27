/** Programs that detach themselves in every way there is, and note which processes they are. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ProcessEntry, processAt } from "../../lib/host/process-table.ts";

/** Ways to get out of the hands of whoever started a program; each runs `$0`, a shell script. */
export const detachments = {
  "in the background": 'sh "$0" &',
  "in a session of its own": 'setsid sh "$0" &',
  "forked twice": '(setsid sh -c \'sh "$0" & exit 0\' "$0" &)',
  "deaf to SIGTERM": `setsid sh -c 'trap "" TERM HUP; sh "$0"' "$0" &`,
  "with nohup": 'nohup sh "$0" >/dev/null 2>&1 &',
  "without its environment": 'env -i PATH="$PATH" sh "$0" &',
} as const;

/** Adds a line "sleeper pid begun" to a file `log` beside itself, then sleeps. */
export function writeSleeper(folder: string): string {
  const path = join(folder, "sleeper");
  writeFileSync(
    path,
    `echo "sleeper $$ $(cut -d' ' -f22 /proc/$$/stat)" >> ${folder}/log\nwhile :; do sleep 0.1; done\n`,
  );
  return path;
}

/** The processes in a log, those that still live and those that do not. */
export function loggedProcesses(log: string): { noted: number; living: ProcessEntry[] } {
  const lines = readOr(log).split("\n").filter(Boolean);
  const living = lines.flatMap((line) => {
    const [pid, begun] = line.split(" ").slice(-2).map(Number);
    const found = processAt(pid ?? 0);
    return found && found.begun === begun && !found.isZombie ? [found] : [];
  });
  return { noted: lines.length, living };
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
