/** A machine in memory with the account files and programs of a small Linux. */
import type { Host } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";
import { accountPrograms, prepareAccounts } from "./accounts.ts";
import { kernelPrograms, prepareKernel } from "./kernel.ts";

/** Makes one, with an empty {@link lawFolder}. */
export function memoryMachine(): MemoryHost {
  const programs = { ...accountPrograms(() => host), ...kernelPrograms(() => host) };
  const host: MemoryHost = new MemoryHost({ programs });
  prepareAccounts(host);
  prepareKernel(host);
  for (const folder of [lawFolder, "/home", "/root"]) host.files.makeDirectory(folder, { mode: 0o755 });
  return host;
}

/** The account files, line by line in the order of the alphabet: which line is last is nobody's property. */
export function observeAccounts(host: Host): JsonObject {
  return Object.fromEntries(
    ["/etc/passwd", "/etc/group", "/etc/shadow"].map((path) => {
      const lines = Buffer.from(host.files.readFile(path)).toString().split("\n");
      return [path, lines.filter(Boolean).sort()];
    }),
  );
}

/** The content of files, null where there is none. */
export function observeFiles(...paths: string[]): (host: Host) => JsonObject {
  return ({ files }) =>
    Object.fromEntries(
      paths.map((path) => [path, files.stat(path) ? Buffer.from(files.readFile(path)).toString() : null]),
    );
}
