import type { Host, HostCommand, HostCommandResult } from "../../../lib/host/host.ts";
import { MemoryHost, type MemoryHostOptions } from "../../../lib/host/memory-host.ts";
import type { PackageMachine } from "../../../lib/state/resources/package/provider.ts";

/** What a program answers to a line: what it prints, or more of it. */
export type Answers = Readonly<Record<string, string | Partial<HostCommandResult>>>;

/** A machine whose programs know these lines, and end with 99 at any other; `ran` notes them all. */
export function answering(
  program: string,
  answers: Answers,
  options: Omit<MemoryHostOptions, "programs"> = {},
): { machine: PackageMachine; ran: HostCommand[]; lines: () => string[] } {
  const ran: HostCommand[] = [];
  const answer = (command: HostCommand): Partial<HostCommandResult> => {
    ran.push(command);
    const line = command.argv.join(" ");
    const found = answers[line] ?? { exitCode: 99, stderr: `nobody knows the line "${line}"` };
    return typeof found === "string" ? { stdout: found } : found;
  };
  const names = [program, ...Object.keys(answers).map((line) => line.split(" ", 1)[0] ?? "")];
  const host = new MemoryHost({
    ...options,
    programs: Object.fromEntries(names.map((name) => [name, answer])),
  });
  const { signal } = new AbortController();
  const machine = { host, signal, program };
  return { machine, ran, lines: () => ran.map(({ argv }) => argv.join(" ")) };
}

/** An empty file, with the folders that it is in. */
export function placeFile({ files }: Host, path: string): void {
  let folder = "";
  for (const name of path.split("/").slice(1, -1)) {
    folder += `/${name}`;
    if (!files.stat(folder)) files.makeDirectory(folder, {});
  }
  files.writeFile(path, new Uint8Array(), { mode: 0o755 });
}
