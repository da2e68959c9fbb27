import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FolderPlan, FolderStep } from "fleetwright";
import { ApiError, type Client } from "fleetwright/client";
import { createKeyFile } from "fleetwright/client/node";
import { applyPlan, type Applied } from "../../../adapters/sync/apply-plan.ts";
import { planFolder } from "../../../adapters/sync/plan-folder.ts";
import { startCommandLine } from "../../support/command-line.ts";
import {
  clientOf,
  losing,
  makeFolder,
  operatorKey,
  putFile,
  wholeFleet,
} from "../../support/fleet-folder.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const pruning = { takeOver: false, prune: true, allowEmpty: false };

async function apply(client: Client, plan: FolderPlan): Promise<Applied & { told: FolderStep[] }> {
  expect(plan.faults).toEqual([]);
  const told: FolderStep[] = [];
  return { ...(await applyPlan(client, plan, { prune: true, onDone: (step) => told.push(step) })), told };
}

function nameOf({ action, kind, name }: FolderStep): string {
  return `${action} ${kind} ${name}`;
}

/** What is still to be done. */
async function openSteps(client: Client, folder: string): Promise<string[]> {
  const { steps, removals, faults } = await planFolder(client, folder, pruning);
  expect(faults).toEqual([]);
  return [...steps, ...removals].map(nameOf);
}

/** Another key for the operator, other contents and fields, and nothing of some. */
function change(folder: string): void {
  putFile(folder, "modules/web.yaml", wholeFleet["modules/web.yaml"].replace("hello", "good day"));
  putFile(folder, "assignments.yaml", "assignments:\n  site: { selector: '*', modules: [web] }\n");
  const { publicKey } = createKeyFile(join(temporaryFolder(), "key"));
  putFile(folder, "rest.yaml", `operators:\n  ada: { public_key: ${publicKey} }\n`);
}

const changed = [
  "change modules web",
  "create assignments site",
  "replace operators ada",
  "remove thresholds disk",
  "remove channels on-call",
  "remove windows nightly",
  "remove assignments web",
];

describe("an apply of a fleet folder that is cut off", () => {
  for (const lost of ["request", "answer"] as const)
    for (let at = 1; at <= 8; at += 1)
      it(`at change ${at}, whose ${lost} is lost, tells what was done, and the next one does the rest`, async () => {
        const line = await startCommandLine();
        const client = clientOf(line);
        const folder = makeFolder(wholeFleet);
        await apply(client, await planFolder(client, folder, pruning));
        change(folder);
        expect(await openSteps(client, folder)).toEqual(changed);
        const failing = clientOf(line, losing(at, lost));
        const plan = await planFolder(failing, folder, pruning);
        const { done, failed, left, half, told } = await apply(failing, plan);
        expect(told).toEqual(done);
        expect(failed?.error).toBeInstanceOf(ApiError);
        expect([...done, failed!.step, ...left].map(nameOf)).toEqual(changed);
        // A replacement is two calls, of which the first is the fourth change.
        expect(nameOf(failed!.step)).toBe(changed[at <= 3 ? at - 1 : at - 2]);
        expect(half).toEqual(at === 4 ? [failed!.step] : []);
        // What is told as done is done, what was not begun is not, and only of the one that failed nobody can tell.
        const open = await openSteps(client, folder);
        for (const step of done) expect(open).not.toContain(nameOf(step));
        for (const step of left) expect(open).toContain(nameOf(step));
        const second = await apply(client, await planFolder(client, folder, pruning));
        expect(second.failed).toBeNull();
        expect(await openSteps(client, folder)).toEqual([]);
        expect((await client.operators.list({})).items.map(({ username }) => username)).toContain("ada");
      });
});

async function raced(
  write: (client: Client) => Promise<unknown>,
  edit: (folder: string) => void = change,
): Promise<{ failed: string; code: string; done: string[]; rest: string[] }> {
  const line = await startCommandLine();
  const client = clientOf(line);
  const folder = makeFolder(wholeFleet);
  await apply(client, await planFolder(client, folder, pruning));
  edit(folder);
  const plan = await planFolder(client, folder, pruning);
  await write(clientOf(line));
  const { done, failed } = await apply(client, plan);
  const { code } = failed!.error as ApiError;
  const rest = await openSteps(client, folder);
  const second = await apply(client, await planFolder(client, folder, pruning));
  expect(second.failed).toBeNull();
  expect(await openSteps(client, folder)).toEqual([]);
  return { failed: nameOf(failed!.step), code, done: done.map(nameOf), rest };
}

describe("somebody who writes between a plan and its apply", () => {
  it("is not overwritten in a module", async () => {
    const content = wholeFleet["modules/web.yaml"].replace("hello", "hullo");
    const result = await raced((client) => client.modules.upload({ content }));
    expect(result).toEqual({
      failed: "change modules web",
      code: "PRECONDITION_FAILED",
      done: [],
      rest: changed,
    });
  });

  it("is not overwritten in an assignment, of which what it changed is seen next", async () => {
    const result = await raced(
      (client) => client.assignments.update("web", { enforce: true }),
      (folder) =>
        putFile(folder, "assignments.yaml", wholeFleet["assignments.yaml"].replace("role=web", "role=api")),
    );
    expect(result).toMatchObject({ failed: "change assignments web", code: "PRECONDITION_FAILED" });
  });

  it("keeps what would have been removed, after all that came before it", async () => {
    const result = await raced(async (client) => {
      const [window] = (await client.maintenanceWindows.list({})).items;
      await client.maintenanceWindows.update(window!.id, { reason: "still needed" });
    });
    expect(result.failed).toBe("remove windows nightly");
    expect(result.code).toBe("PRECONDITION_FAILED");
    expect(result.done).toEqual(changed.slice(0, 5));
    expect(result.rest).toEqual(changed.slice(5));
  });

  it("keeps what would have been replaced, with all that came before it", async () => {
    const result = await raced(async (client) => {
      const ada = (await client.operators.list({})).items.find(({ username }) => username === "ada");
      await client.operators.setRole(ada!.operator_id, { role: "Viewer" });
    });
    expect(result).toMatchObject({ failed: "replace operators ada", code: "PRECONDITION_FAILED" });
    expect(result.rest).toContain("replace operators ada");
  });

  it("makes each thing of the folder once, whatever kind it is", async () => {
    const line = await startCommandLine();
    const folder = makeFolder(wholeFleet);
    const client = clientOf(line);
    const plan = await planFolder(client, folder, pruning);
    const plans = plan.steps.map((step) => ({ ...plan, steps: [step] }));
    for (const each of plans) {
      expect((await apply(client, each)).failed).toBeNull();
      const twice = await apply(client, each);
      const { code } = twice.failed!.error as ApiError;
      expect([each.steps[0]!.kind, code]).toEqual([
        each.steps[0]!.kind,
        each.steps[0]!.kind === "modules" ? "PRECONDITION_FAILED" : "ALREADY_EXISTS",
      ]);
    }
    expect(await openSteps(client, folder)).toEqual([]);
  });
});

describe("modules that are removed together", () => {
  it("go after those that require them, whatever they are called", async () => {
    const line = await startCommandLine();
    const client = clientOf(line);
    const module = (name: string, requires: string): string =>
      `name: ${name}\nrequires: [${requires}]\nresources: []\n`;
    const folder = makeFolder({
      "fleet.yaml": "label: shop\n",
      "modules/a.yaml": module("a", "m"),
      "modules/m.yaml": module("m", "z"),
      "modules/z.yaml": module("z", ""),
    });
    const first = await apply(client, await planFolder(client, folder, pruning));
    expect(first.done.map(nameOf)).toEqual(["create modules z", "create modules m", "create modules a"]);
    rmSync(join(folder, "modules"), { recursive: true });
    const emptied = { ...pruning, allowEmpty: true };
    const { done, failed } = await apply(client, await planFolder(client, folder, emptied));
    expect(failed).toBeNull();
    expect(done.map(nameOf)).toEqual(["remove modules a", "remove modules m", "remove modules z"]);
  });

  it("stay, and are told, where somebody else uses one", async () => {
    const line = await startCommandLine();
    const client = clientOf(line);
    const folder = makeFolder(wholeFleet);
    await apply(client, await planFolder(client, folder, pruning));
    await client.assignments.create({ name: "other", selector: "*", modules: ["base"] });
    for (const path of ["modules", "assignments.yaml"]) rmSync(join(folder, path), { recursive: true });
    const refused = await planFolder(client, folder, pruning);
    expect(refused.faults.map(({ code, message }) => `${code} ${message}`)).toEqual([
      "IN_USE --prune would remove the module base, which is used by other.",
    ]);
    await client.assignments.remove("other");
    const plan = await planFolder(client, folder, pruning);
    await client.assignments.create({ name: "other", selector: "*", modules: ["base"] });
    const { done, failed } = await apply(client, plan);
    expect(done.map(nameOf)).toEqual(["remove assignments web", "remove modules web"]);
    expect(nameOf(failed!.step)).toBe("remove modules base");
    expect((failed!.error as ApiError).code).toBe("IN_USE");
  });
});

it("an operator is found by the key that the folder has in either form", async () => {
  const line = await startCommandLine();
  const client = clientOf(line);
  const base64 = Buffer.from(operatorKey, "hex").toString("base64");
  const folder = makeFolder({
    "fleet.yaml": `label: shop\noperators:\n  ada: { public_key: "${base64}" }\n`,
  });
  await apply(client, await planFolder(client, folder, pruning));
  expect(await openSteps(client, folder)).toEqual([]);
});
