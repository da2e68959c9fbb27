import { expect, it } from "vitest";
import { applyPlan } from "../../../adapters/sync/apply-plan.ts";
import { planFolder } from "../../../adapters/sync/plan-folder.ts";
import { startCommandLine } from "../../support/command-line.ts";
import { clientOf, makeFolder, newPublicKey, putFile } from "../../support/fleet-folder.ts";

const options = { takeOver: false, prune: true, allowEmpty: false };
const pageSize = 500;

function repeat(count: number, entry: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => entry(at)).join("");
}

it("a plan of 2,000 things reads lists, and asks for no thing by itself", async () => {
  const line = await startCommandLine();
  const sent: string[] = [];
  const client = clientOf(line, (url, init) => {
    sent.push(`${init.method} ${new URL(url).pathname}`);
    return fetch(url, init);
  });
  const counts = {
    modules: 550,
    windows: 1_000,
    assignments: 200,
    channels: 100,
    thresholds: 50,
    operators: 100,
  };
  const folder = makeFolder({
    "fleet.yaml": "label: shop\n",
    "windows.yaml": `windows:\n${repeat(counts.windows, (at) => `  w${at}: { reason: r, mode: mute, schedule: { cron: "@daily", duration_minutes: 5 } }\n`)}`,
    "assignments.yaml": `assignments:\n${repeat(counts.assignments, (at) => `  a${at}: { selector: role=r${at}, modules: [m${at}] }\n`)}`,
    "channels.yaml": `channels:\n${repeat(counts.channels, (at) => `  c${at}: { name: C, type: webhook, config: { url: "https://h.example/${at}" } }\n`)}`,
    "thresholds.yaml": `thresholds:\n${repeat(counts.thresholds, (at) => `  t${at}: { name: T, metric: load.5, condition: above, value: ${at} }\n`)}`,
    "operators.yaml": `operators:\n${repeat(counts.operators, (at) => `  o${at}: { public_key: ${newPublicKey()} }\n`)}`,
  });
  for (let at = 0; at < counts.modules; at += 1)
    putFile(folder, `modules/m${at}.yaml`, `name: m${at}\nresources: []\n`);
  const plan = await planFolder(client, folder, options);
  expect(plan.faults).toEqual([]);
  expect(plan.steps).toHaveLength(2_000);
  const { failed } = await applyPlan(client, plan, { prune: true, onDone: () => {} });
  expect(failed).toBeNull();
  sent.length = 0;
  const again = await planFolder(client, folder, options);
  expect(again).toMatchObject({ steps: [], removals: [], unmanaged: [], faults: [] });
  const pages = Object.values(counts).map((count) => Math.ceil(count / pageSize));
  expect(sent).toHaveLength(1 + pages.reduce((sum, count) => sum + count, 0));
  expect(new Set(sent)).toEqual(
    new Set(
      [
        "auth/session",
        "modules",
        "assignments",
        "maintenance-windows",
        "channels",
        "thresholds",
        "operators",
      ].map((path) => `GET /api/v1/${path}`),
    ),
  );
}, 240_000);
