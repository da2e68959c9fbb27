/** The laws that every type of resource keeps, on a machine in memory and on this one. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import type { Host } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { lawFolder, type LawSubject, resourceLaws } from "../../lib/testing/resource-laws.ts";
import { memoryShell } from "./memory-shell.ts";

/** Makes machines for the laws, each with an empty {@link lawFolder}. */
export type LawHosts = Readonly<Record<string, () => Host>>;

/** Runs the laws for each subject, by what it is, on each host, by where that is. Default: in memory and on this machine. */
export function describeLaws(
  subjects: Readonly<Record<string, LawSubject>>,
  hosts: LawHosts = { "in memory": memoryHost, "on this machine": localHost },
): void {
  for (const [where, create] of Object.entries(hosts)) {
    for (const [what, subject] of Object.entries(subjects)) {
      describe(`${what}, ${where}`, () => {
        for (const { name, run } of resourceLaws(subject, create)) test(name, run);
      });
    }
  }
}

/** A machine in memory with a small shell. */
export function memoryHost(): MemoryHost {
  const host: MemoryHost = new MemoryHost({
    programs: { "/bin/sh": (command) => memoryShell(command, host.files) },
  });
  host.files.makeDirectory(lawFolder, {});
  return host;
}

const folders: string[] = [];
afterAll(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** This machine, confined to a temporary folder. */
export function localHost(): LocalHost {
  const folder = mkdtempSync(join(tmpdir(), "fleetwright-laws-"));
  folders.push(folder);
  mkdirSync(join(folder, "root", lawFolder), { recursive: true });
  return new LocalHost({ root: join(folder, "root"), stateFolder: join(folder, "state") });
}

/** Bytes of a text. */
export const text = (content: string): Uint8Array => Buffer.from(content);
