/** The laws that every type of resource keeps, on a machine in memory and on this one. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Host } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { lawFolder, type LawSubject, resourceLaws } from "../../lib/testing/resource-laws.ts";
import {
  beginning,
  endResource,
  killResource,
  takeBack,
  takeBackSecret,
  untoldPaths,
} from "./ended-resources.ts";
import { interruptResource } from "./interrupted-resources.ts";
import { memoryShell } from "./memory-shell.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Makes machines for the laws, each with an empty {@link lawFolder}. */
export type LawHosts = Readonly<Record<string, () => Host>>;

/** Machines that are one for all tests, where each trial would begin with what the one before left, and takes seconds. */
const real = /^on (?:this machine$|a machine with )/;

/** Runs the laws for each subject, by what it is, on each host, by where that is. Default: in memory and on this machine. */
export function describeLaws(
  subjects: Readonly<Record<string, LawSubject>>,
  hosts: LawHosts = { "in memory": memoryHost, "on this machine": localHost },
): void {
  for (const [where, create] of Object.entries(hosts)) {
    for (const [what, subject] of Object.entries(subjects)) {
      describe(`${what}, ${where}`, () => {
        for (const { name, run } of resourceLaws(subject, create)) test(name, run);
        if (real.test(where)) return;
        test("whichever call fails once, nothing is half done, and the next apply and removal make it good", async () => {
          expect(await interruptResource(subject, create)).toEqual([]);
        });
        const begin = beginning(subject, create);
        test("whichever call it is ended at, it does no more than where the call after it fails", async () => {
          expect(await endResource(subject, begin)).toEqual([]);
        });
        test("whichever call it is killed at, the next try leaves what an unbroken one does", async () => {
          expect(await killResource(subject, begin)).toEqual([]);
        });
        test("every path that it changes is one that it says", async () => {
          expect(await untoldPaths(subject, begin)).toEqual([]);
        });
        test("its removal makes the changes that its plan says", async () => {
          const { planned, done } = await takeBack(subject, begin);
          expect(done).toEqual(planned);
        });
        const { secret } = subject;
        test.runIf(secret !== undefined)("a secret is in nothing that is told of its removal", async () => {
          expect(await takeBackSecret(subject, begin)).not.toContain(secret);
        });
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

/** This machine, confined to a temporary folder. */
export function localHost(): LocalHost {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "root", lawFolder), { recursive: true });
  return new LocalHost({ root: join(folder, "root"), stateFolder: join(folder, "state") });
}

/** Bytes of a text. */
export const text = (content: string): Uint8Array => Buffer.from(content);
