/**
 * Queries of the audit log over a million events, in files, beside the same over a thousand and beside reading every event: `npm run bench -- audit`.
 *
 * Each line is the median of calls in turns. A rare event is one of its kind in the whole log. BENCH_EVENTS says how many events there are.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemCaller } from "fleetwright";
import type { Storage, Write } from "../../lib/storage/storage.ts";
import "./use-build.ts";

const { systemClock, toTimestamp } = await import("../../lib/clock.ts");
const { FileStorage } = await import("../../lib/storage/file-storage.ts");
const { storageSchema } = await import("../../lib/storage-schema.ts");
const { createTestOrchestrator } = await import("../../lib/testing/test-orchestrator.ts");

const many = Number(process.env["BENCH_EVENTS"] ?? 1_000_000);
const few = 1_000;
const rounds = 30;
const apartMs = 5_000;
const startMs = Date.now() - many * apartMs;
const operator = (name: string) => ({ type: "operator", id: `id-of-${name}`, name });

function eventOf(n: number, rare: number) {
  const isRare = n === rare;
  return {
    id: `0199d3a0-5f3c-725b-8c6d-${String(n).padStart(12, "0")}`,
    timestamp: toTimestamp(startMs + n * apartMs),
    event_type: isRare ? "secret.removed" : n % 2 === 0 ? "operation.requested" : "operation.finished",
    severity: "info",
    actor: operator(isRare ? "grace" : `ada-${n % 7}`),
    target: { type: "operation", id: isRare ? "rare" : `operation-${n >> 1}`, name: `web-${n % 400}` },
    summary: `An apply of web-${n % 400} was requested or has ended`,
    metadata: { node_id: `node-${n % 400}`, kind: "apply" },
  };
}

async function fill(folder: string, count: number): Promise<void> {
  const storage = new FileStorage({ folder });
  await storage.open(storageSchema);
  for (let at = 0; at < count; at += 500)
    await storage.commit(
      Array.from({ length: 500 }, (_, n): Write => {
        const value = eventOf(at + n, Math.floor(count / 3));
        return { kind: "append", log: "audit", at: startMs + (at + n) * apartMs, value };
      }),
    );
  await storage.close();
}

async function open(count: number) {
  const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
  await fill(folder, count);
  const storage = new FileStorage({ folder });
  const begun = performance.now();
  const test = await createTestOrchestrator({ clock: systemClock, storage });
  while ((await storage.count("audit_blocks")) < Math.floor(count / 1000))
    await new Promise((resolve) => setTimeout(resolve, 100));
  const indexedMs = performance.now() - begun;
  return { folder, storage, test, indexedMs, audit: test.orchestrator.audit };
}

async function readAll(storage: Storage): Promise<number> {
  const begun = performance.now();
  for (let from: number | null = 1; from !== null;)
    from = (await storage.readLog("audit", { from, limit: 1000 })).next;
  return performance.now() - begun;
}

const large = await open(many);
const small = await open(few);
console.log(
  `index of ${many.toLocaleString("en-US")} events, made in the background: ${(large.indexedMs / 1000).toFixed(0)} s`,
);
const wholeMs = await readAll(large.storage);
const time = (n: number) => toTimestamp(startMs + n * apartMs);
const queries = (count: number) => {
  const rare = Math.floor(count / 3);
  return {
    "newest page": {},
    "oldest page": { order: "asc" as const },
    "type, rare": { event_type: "secret.removed" },
    "category, rare": { category: "secret" as const },
    "actor, rare": { actor: "grace" },
    "target, rare": { target: "rare" },
    "target, one of 400": { target: "web-17" },
    "actor, frequent": { actor: "ada-3" },
    "10 minutes in the middle": { from: time(rare), to: time(rare + 120) },
  };
};
for (const [name, filter] of Object.entries(queries(many))) {
  const ofFew = queries(few)[name as keyof ReturnType<typeof queries>];
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1)
    for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const { audit } = which === 0 ? large : small;
      const begun = performance.now();
      const { items } = await audit.list(systemCaller, which === 0 ? filter : ofFew);
      times[which]!.push(performance.now() - begun);
      if (items.length === 0) throw new Error(`Nothing was found: ${name}.`);
    }
  const [ofMany, ofSmall] = times.map((list) => list.toSorted((a, b) => a - b)) as [number[], number[]];
  const [a, b] = [ofMany[rounds >> 1]!, ofSmall[rounds >> 1]!];
  const worst = ofMany.at(-1)!.toFixed(1);
  console.log(
    `${name.padEnd(26)} ${a.toFixed(2).padStart(7)} ms (worst ${worst}), ${(a / b).toFixed(1)} times that of ${few}, 1/${(wholeMs / a).toFixed(0)} of reading all`,
  );
}
console.log(`reading all: ${wholeMs.toFixed(0)} ms`);
for (const { test, folder } of [large, small]) {
  await test[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
}
