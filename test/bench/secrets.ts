/** What secrets cost an apply: 50 of them in 50 files, beside the same files without; and what looking for them in output costs. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { systemClock } from "../../lib/clock.ts";
import { Redactor } from "../../lib/secret-format/redactor.ts";
import { startApprovedAgent } from "../support/fleet.ts";

const count = 50;
const rounds = 40;
const names = Array.from({ length: count }, (_, at) => `secret-${at}`);
const value = (at: number): string => `value-${at}-${"x".repeat(20)}`;
const fileWith = (content: string, at: number): string =>
  `  - { id: f${at}, type: file, path: /f${at}, content: ${JSON.stringify(content)}, sensitive: true }\n`;

const test = await createTestOrchestrator({ clock: systemClock, secretsKey: new Uint8Array(32).fill(1) });
const { orchestrator } = test;
for (const [at, name] of names.entries())
  await orchestrator.secrets.create(systemCaller, { name, value: value(at) });
const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
const root = join(folder, "root");
mkdirSync(root);
const agent = await startApprovedAgent(test, { root, stateDir: join(folder, "state"), clock: systemClock });

async function upload(name: string, resources: string[]): Promise<void> {
  await orchestrator.modules.upload(systemCaller, {
    content: `name: ${name}\nresources:\n${resources.join("")}`,
  });
}

async function apply(name: string): Promise<number> {
  const begun = performance.now();
  const { status } = await orchestrator.operations.apply(systemCaller, {
    node_id: agent.nodeId,
    modules: [name],
  });
  if (status !== "succeeded") throw new Error(status);
  return performance.now() - begun;
}

const own = names.map((name, at) => fileWith(`{{ secrets.${name} }} ROUND`, at));
const others = names.map((_, at) => fileWith(`${value(at)} ROUND`, at + count));
const times = { changed: [[], []] as number[][], unchanged: [[], []] as number[][] };
for (let round = 0; round < rounds; round += 1) {
  const versions = [own, others].map((files) => files.map((file) => file.replace("ROUND", String(round))));
  await upload("with", versions[0]!);
  await upload("without", versions[1]!);
  // In turns, and each first as often as the other.
  for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
    const name = ["with", "without"][which]!;
    times.changed[which]!.push(await apply(name));
    times.unchanged[which]!.push(await apply(name));
  }
}
for (const [what, [withSecrets, without]] of Object.entries(times)) {
  const [a, b] = [median(withSecrets!), median(without!)];
  console.log(
    `apply of ${count} files, ${what}: ${a.toFixed(1)} ms with secrets, ${b.toFixed(1)} ms without: ${(a / b).toFixed(2)}`,
  );
}
const redactor = new Redactor(names.map((_, at) => Buffer.from(value(at))));
const output = "An ordinary line of a log with a value in it, of the usual length and form.\n".repeat(13_500);
const begun = performance.now();
redactor.redact(output);
console.log(`looking for them in 1 MB of output: ${(performance.now() - begun).toFixed(0)} ms`);
await agent[Symbol.asyncDispose]();
await test[Symbol.asyncDispose]();
rmSync(folder, { recursive: true });

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[all.length >> 1]!;
}
