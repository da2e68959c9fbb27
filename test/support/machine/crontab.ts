import type { MemoryProgram } from "../../../lib/host/memory-host.ts";

/** The program `crontab` with the crontabs of users, as Vixie's cron has it; a line without a schedule is refused. */
export function createCrontab(crontabs: Map<string, string>): MemoryProgram {
  return ({ argv, stdin = "" }) => {
    const args = argv.slice(1);
    const user = args[0] === "-u" ? (args[1] ?? "") : "root";
    const text = crontabs.get(user);
    switch (args.at(-1)) {
      case "-l":
        return text === undefined ? { exitCode: 1, stderr: `no crontab for ${user}\n` } : { stdout: text };
      case "-r":
        crontabs.delete(user);
        return {};
      default: {
        if (stdin !== "" && !stdin.endsWith("\n"))
          return { exitCode: 1, stderr: "new crontab file is missing newline before EOF, can't install.\n" };
        const bad = stdin
          .split("\n")
          .findIndex((line) => line !== "" && !/^(#|\w+=|@\w+ |(\S+ ){5}\S)/.test(line));
        if (bad >= 0)
          return { exitCode: 1, stderr: `"-":${bad}: bad minute\nerrors in crontab file, can't install.\n` };
        crontabs.set(user, stdin);
        return {};
      }
    }
  };
}
