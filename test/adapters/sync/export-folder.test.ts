import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planFleetFolder, readFleetFolder, systemCaller } from "fleetwright";
import type { FolderFile, FolderPlan, Orchestrator } from "fleetwright";
import type { Client } from "fleetwright/client";
import { applyPlan } from "../../../adapters/sync/apply-plan.ts";
import { exportFolder } from "../../../adapters/sync/export-folder.ts";
import { planFolder } from "../../../adapters/sync/plan-folder.ts";
import { readServer } from "../../../adapters/sync/server-things.ts";
import { writeFolder } from "../../../adapters/sync/write-folder.ts";
import type { Json } from "../../../lib/json.ts";
import { startCommandLine } from "../../support/command-line.ts";
import { evilNames } from "../../support/evil.ts";
import { clientOf } from "../../support/fleet-folder.ts";
import { MemorySecretsKey } from "../../support/secrets-key.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const hard = [
  "yes",
  "~",
  "null",
  "1.10",
  "- a",
  "a: b",
  "#",
  "*x",
  "&x",
  "!x",
  "%",
  "@",
  "`",
  "'",
  '"',
  "\\",
  "  ",
  "{}",
  "2026-01-31",
  "..",
  "<<",
  "0x1",
  "__proto__",
  "é\u0301",
  "\u2028",
  "👩‍🔧",
];
const word = fc.oneof(
  fc.constantFrom(...hard, ...evilNames.filter(({ length }) => length <= 30)),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }),
);
/** What may stand where one line of text is asked for. */
const title = word.map((text) => text.replaceAll(/\p{C}/gu, "") || "x");
const text = fc
  .array(fc.oneof(word, fc.constantFrom("\n", "\t", " ", "\r\n", "\u0085")))
  .map((parts) => parts.join(""));
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => value as Json);

const scene = fc.record({
  titles: fc.array(title, { minLength: 1, maxLength: 4 }),
  description: text,
  value: json,
  body: text,
});

async function fill(
  { maintenanceWindows, channels, thresholds, assignments, modules }: Orchestrator,
  { titles, description, value, body }: typeof scene extends fc.Arbitrary<infer Scene> ? Scene : never,
  run: number,
): Promise<void> {
  const params = "params:\n  any: { type: object, default: {} }\n";
  const content = `name: m${run}\n${params}resources: []\n# ${JSON.stringify(description)}\n`;
  await modules.upload(systemCaller, { content });
  await assignments.create(systemCaller, {
    name: `a${run}`,
    description: description.slice(0, 500),
    selector: "role in (web,api) and not env=prod",
    modules: [`m${run}@1`],
    params: { any: { value } },
  });
  const ends_at = new Date(Date.now() + 3_600_000).toISOString();
  for (const each of titles) {
    await maintenanceWindows.create(systemCaller, { reason: each, mode: "mute", ends_at });
    await channels.create(systemCaller, {
      name: each,
      type: "webhook",
      config: { url: "https://hooks.example.com/x" },
      template: { body: `{{ title }}${body.replaceAll(/[^\P{C}\n]|[{}]/gu, "").slice(0, 100)}` },
    });
    await thresholds.create(systemCaller, { name: each, metric: "load.1", condition: "above", value: 1.5 });
  }
}

/** What no file in YAML keeps: whole numbers that are not exact. */
function isUnkept(value: unknown): boolean {
  return JSON.stringify(value, (_, inside: unknown) =>
    typeof inside === "number" && Number.isInteger(inside) && Math.abs(inside) > 2 ** 53 - 1
      ? "unkept!"
      : inside,
  ).includes('"unkept!"');
}

async function planOf(files: readonly FolderFile[], client: Client): Promise<FolderPlan> {
  const present = await readServer(client, new Set());
  const options = { takeOver: false, prune: true, allowEmpty: false, operatorId: null, nowMs: Date.now() };
  return planFleetFolder(readFleetFolder(files), present, options);
}

describe("an export", () => {
  it("makes no difference afterwards, whatever people call things and write into them", async () => {
    const line = await startCommandLine();
    const client = clientOf(line);
    let runs = 0;
    const unkept: string[] = [];
    await fc.assert(
      fc.asyncProperty(scene, async (made) => {
        await fill(line.server.orchestrator, made, (runs += 1));
        const { files, leftOut } = await exportFolder(client, {
          label: "shop",
          whole: false,
          sensitive: false,
        });
        const { steps, removals, faults, unmanaged } = await planOf(files, client);
        expect({ steps, removals, faults }).toEqual({ steps: [], removals: [], faults: [] });
        if (isUnkept(made.value)) unkept.push(`a${runs}`);
        expect(leftOut.map(({ name }) => name).sort()).toEqual(unkept.toSorted());
        const things = await readServer(client, new Set());
        expect(unmanaged).toHaveLength(things.length - unkept.length);
      }),
      { numRuns: 25 },
    );
    // Over the disk, too, and then under the label of the folder.
    const folder = join(temporaryFolder(), "fleet");
    const { files } = await exportFolder(client, { label: "shop", whole: false, sensitive: false });
    await writeFolder(folder, files, { overwrite: false });
    const owning = { takeOver: true, prune: true, allowEmpty: false };
    const plan = await planFolder(client, folder, owning);
    const { failed } = await applyPlan(client, plan, { prune: true, onDone: () => {} });
    expect(failed).toBeNull();
    const after = await planFolder(client, folder, owning);
    expect(after).toMatchObject({ steps: [], removals: [], unmanaged: [], faults: [] });
    const again = await exportFolder(client, { label: "shop", whole: false, sensitive: false });
    expect(await planOf(again.files, client)).toMatchObject({
      steps: [],
      removals: [],
      unmanaged: [],
      faults: [],
    });
  });
});

describe("an export of names that differ in case alone", () => {
  it("gives each thing a name of its own, and makes no difference afterwards", async () => {
    const line = await startCommandLine();
    const { maintenanceWindows, channels, thresholds } = line.server.orchestrator;
    const config = { url: "https://hooks.example.com/x" };
    const ends_at = new Date(Date.now() + 3_600_000).toISOString();
    const make = {
      windows: (reason: string, more: object) =>
        maintenanceWindows.create(systemCaller, { reason, mode: "mute", ends_at, ...more }),
      channels: (name: string, more: object) =>
        channels.create(systemCaller, { name, type: "webhook", config, ...more }),
      thresholds: (name: string, more: object) =>
        thresholds.create(systemCaller, { name, metric: "load.1", condition: "above", value: 1, ...more }),
    };
    for (const create of Object.values(make)) {
      await create("before", { managed_by: { label: "shop", name: "night-2" } });
      await create("Night", {});
      await create("one", { managed_by: { label: "shop", name: "night" } });
      await create("NIGHT", {});
    }
    const client = clientOf(line);
    const { files } = await exportFolder(client, { label: "shop", whole: false, sensitive: false });
    for (const kind of Object.keys(make)) {
      const { text: written = "" } = files.find(({ path }) => path === `${kind}.yaml`) ?? {};
      const names = [...written.matchAll(/^ {2}"?([\w-]+)"?:/gm)].map(([, name]) => name);
      expect(names).toEqual(["night", "night-2", "night-3", "night-4"]);
    }
    expect(await planOf(files, client)).toMatchObject({ steps: [], removals: [], faults: [] });
  });
});

describe("an export of very many things", () => {
  it("is of files that can be read again, and tells what no file can hold", async () => {
    const line = await startCommandLine();
    const { assignments, modules } = line.server.orchestrator;
    const content = "name: web\nparams:\n  any: { type: array, default: [] }\nresources: []\n";
    await modules.upload(systemCaller, { content });
    const description = "é".repeat(500);
    const names = Array.from({ length: 600 }, (_, n) => `a${n}`);
    for (const name of names)
      await assignments.create(systemCaller, { name, description, selector: "role=web", modules: ["web"] });
    let nested: Json = Array.from({ length: 30_000 }, () => 1);
    for (let depth = 0; depth < 12; depth += 1) nested = [nested];
    const huge = { name: "huge", selector: "role=web", modules: ["web"], params: { any: nested } };
    await assignments.create(systemCaller, huge);
    const client = clientOf(line);
    const { files, leftOut } = await exportFolder(client, { label: "shop", whole: false, sensitive: false });
    expect(leftOut).toEqual([{ kind: "assignments", name: "huge", why: "it is larger than a file may be" }]);
    const paths = files.map(({ path }) => path).filter((path) => path.startsWith("assignments"));
    expect(paths).toEqual(["assignments.yaml", "assignments-2.yaml", "assignments-3.yaml"]);
    const folder = join(temporaryFolder(), "fleet");
    await writeFolder(folder, files, { overwrite: false });
    const plan = await planFolder(client, folder, { takeOver: false, prune: true, allowEmpty: false });
    expect(plan).toMatchObject({ steps: [], removals: [], faults: [] });
    const kept = plan.unmanaged.filter(({ kind }) => kind === "assignments").map(({ name }) => name);
    expect(kept.toSorted()).toEqual(names.toSorted());
  });
});

describe("an export for another server", () => {
  it("has what every folder manages, can be applied there, and says what can't go over", async () => {
    const line = await startCommandLine({ secretsKey: new MemorySecretsKey() });
    const { maintenanceWindows, channels, thresholds, assignments, modules } = line.server.orchestrator;
    for (const content of ["name: web\nresources: []\n", "name: web\nresources: []\n# newer\n"])
      await modules.upload(systemCaller, { content });
    const assignment = { selector: "role=web", enforce: true } as const;
    await assignments.create(systemCaller, { ...assignment, name: "newest", modules: ["web@2"] });
    await assignments.create(systemCaller, { ...assignment, name: "older", modules: ["web@1"] });
    const ends_at = new Date(Date.now() + 3_600_000).toISOString();
    for (const label of ["net", "shop"]) {
      const managed_by = { label, name: "nightly" };
      await maintenanceWindows.create(systemCaller, { reason: label, mode: "mute", ends_at, managed_by });
    }
    const config = { url: "https://hooks.example.com/x" };
    await channels.create(systemCaller, { name: "Open", type: "webhook", config });
    const signed = { ...config, headers: { authorization: "Bearer x" } };
    await channels.create(systemCaller, { name: "Signed", type: "webhook", config: signed });
    await thresholds.create(systemCaller, {
      name: "Load",
      metric: "load.1",
      condition: "above",
      value: 1.5,
      managed_by: { label: "net", name: "load" },
    });

    const client = clientOf(line);
    const { files, leftOut } = await exportFolder(client, { label: "rescue", whole: true, sensitive: false });
    expect(leftOut.map(({ name, why }) => [name, why])).toEqual([
      ["older", "it pins an older revision of a module, which the other server never has"],
      ["Signed", "a secret value of it is told to nobody: have the channel name a secret before"],
    ]);
    const folder = join(temporaryFolder(), "fleet");
    await writeFolder(folder, files, { overwrite: false });

    const another = await startCommandLine();
    const there = clientOf(another);
    const owning = { takeOver: false, prune: false, allowEmpty: false };
    const plan = await planFolder(there, folder, owning);
    expect(plan.faults).toEqual([]);
    const { failed, done } = await applyPlan(there, plan, { prune: false, onDone: () => {} });
    expect(failed).toBeNull();
    const made = done
      .map(({ kind, name }) => `${kind} ${name}`)
      .filter((each) => !each.startsWith("operators"));
    expect(made).toEqual([
      "modules web",
      "assignments newest",
      "windows nightly",
      "windows nightly-2",
      "channels open",
      "thresholds load",
    ]);
    expect((await there.assignments.get("newest")).modules).toEqual(["web@1"]);
    expect((await there.modules.get("web")).content).toContain("# newer");
    expect(await planFolder(there, folder, owning)).toMatchObject({ steps: [], removals: [], faults: [] });
  });
});
