import type { HostCommand, HostCommandResult, HostFiles } from "../../lib/host/host.ts";

/** A shell that knows `test -e`, `touch` and `rm` of one path, relative to `/`, for scripts on a machine in memory. */
export function memoryShell({ argv, stdin }: HostCommand, files: HostFiles): Partial<HostCommandResult> {
  const script = stdin ?? argv.at(-1) ?? "";
  const [, verb, name] = /^(test -e|touch|rm) (\S+)/.exec(script) ?? [];
  const path = `/${name}`;
  if (verb === "test -e") return { exitCode: files.stat(path) ? 0 : 1 };
  if (verb === "touch") files.writeFile(path, new Uint8Array(), { mode: 0o644 });
  else if (verb === "rm") files.removeFile(path);
  else return { exitCode: 127, stderr: `not found: ${script}` };
  return {};
}
