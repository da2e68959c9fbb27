/** Operators whose names and keys change places, and in which order and how often what differs is told. */
import nacl from "tweetnacl";
import { expect, it } from "vitest";
import { planFleetFolder, readFleetFolder, toPresentThing } from "fleetwright";
import type { FolderPlan, FolderPlanOptions, PresentThing } from "fleetwright";

const keys = [0, 1, 2, 3].map((at) =>
  Buffer.from(nacl.sign.keyPair.fromSeed(Buffer.alloc(32, at + 1)).publicKey).toString("hex"),
);

function planned(
  text: string,
  present: readonly PresentThing[],
  options: Partial<FolderPlanOptions> = {},
): FolderPlan {
  const read = readFleetFolder([{ path: "fleet.yaml", text: `label: shop\n${text}` }]);
  expect(read.faults).toEqual([]);
  const standard = { takeOver: false, prune: false, allowEmpty: false, operatorId: null, nowMs: 0 };
  return planFleetFolder(read, present, { ...standard, ...options });
}

/** An operator of the server; one that this folder manages, under its own name or another. */
function operator(
  username: string,
  key: number,
  managed: string | null = username.toLowerCase(),
): PresentThing {
  return toPresentThing("operators", {
    operator_id: `id of ${username}`,
    username,
    public_key: keys[key],
    role: "Viewer",
    version: 2,
    ...(managed !== null && { managed_by: { label: "shop", name: managed } }),
  });
}

/** The operators of a folder, by their keys. */
const declared = (operators: Record<string, number>): string =>
  `operators:\n${Object.entries(operators)
    .map(([name, key]) => `  ${name}: { public_key: ${keys[key]}, role: Viewer }\n`)
    .join("")}`;

const told = ({ steps, removals, faults }: FolderPlan) => ({
  steps: steps.map(({ action, name, id, changes }) => [action, name, id, changes.map(({ field }) => field)]),
  removals: removals.map(({ name }) => name),
  faults: faults.map(({ code, message }) => `${code} ${message}`),
});

it("an operator who has another name now is replaced for that alone", () => {
  expect(told(planned(declared({ bob: 0 }), [operator("alice", 0)]))).toEqual({
    steps: [["replace", "bob", "id of alice", ["username"]]],
    removals: [],
    faults: [],
  });
  const other = toPresentThing("operators", {
    operator_id: "it",
    username: "alice",
    public_key: keys[0],
    role: "Viewer",
    version: 2,
    managed_by: { label: "shop", name: "once" },
  });
  expect(told(planned(declared({ alice: 0 }), [other])).steps).toEqual([
    ["change", "alice", "it", ["managed_by"]],
  ]);
});

it("who is in the folder under a name of other case has no other name now, though another has the key", () => {
  const { steps, faults } = told(planned(declared({ alice: 1, bob: 0 }), [operator("Alice", 0)]));
  expect(faults).toEqual([]);
  expect(steps).toEqual([
    ["replace", "alice", "id of Alice", ["public_key", "username"]],
    ["create", "bob", null, []],
  ]);
});

it("who is removed so that another gets the key is removed once, before", () => {
  const present = [operator("bob", 1), operator("old", 0), operator("older", 2)];
  expect(told(planned(declared({ bob: 0 }), present, { prune: true }))).toEqual({
    steps: [
      ["remove", "old", "id of old", []],
      ["replace", "bob", "id of bob", ["public_key"]],
    ],
    removals: ["older"],
    faults: [],
  });
  const kept = told(planned(declared({ bob: 0 }), present));
  expect([kept.removals, kept.faults]).toEqual([
    ["older", "old"],
    [
      "ALREADY_EXISTS The operator old of the server has this key. --prune removes that one, which the folder does not have any more.",
    ],
  ]);
});

it("who keeps the key and is another folder's, or nobody's, is not said to be removed by this one", () => {
  const hint =
    "ALREADY_EXISTS The operator old of the server has this key. Have the folder say what becomes of that one.";
  for (const managed_by of [undefined, { label: "other", name: "old" }]) {
    const old = { ...operator("old", 0, null), managedBy: managed_by ?? null };
    expect(told(planned(declared({ bob: 0 }), [operator("bob", 1), old])).faults).toEqual([hint]);
    expect(told(planned(declared({ bob: 0 }), [operator("bob", 1), old], { prune: true })).faults).toEqual([
      hint,
    ]);
  }
});

it("params that differ are told by their names, in order, without their values", () => {
  const module = toPresentThing("modules", { name: "web", revision: 1, content_hash: "0" });
  const present = toPresentThing("assignments", {
    name: "web",
    selector: "*",
    modules: ["web"],
    params: { zone: 1, port: 2, same: 3 },
    version: 1,
    managed_by: { label: "shop", name: "web" },
  });
  const text =
    'assignments:\n  web: { selector: "*", modules: [web], params: { same: 3, port: 4, zone: 5, age: 6 } }\n';
  const [step] = planned(text, [module, present]).steps;
  expect(step!.changes).toEqual(["age", "port", "zone"].map((name) => ({ field: `params.${name}` })));
});

it("of a channel's config and words, which may be secret, only what differs is named", () => {
  const present = toPresentThing("channels", {
    id: "0197a5b4-6d1e-7c3a-9f00-0123456789ab",
    name: "hook",
    type: "webhook",
    config: { url: "https://old.example/" },
    template: { title: "old", body: "same" },
    events: ["*"],
    min_severity: "info",
    enabled: true,
    source: "notifications",
    version: 1,
    managed_by: { label: "shop", name: "hook" },
  });
  const text =
    'channels:\n  hook: { name: hook, type: webhook, enabled: false, config: { url: "https://new.example/" }, template: { title: new, body: same } }\n';
  const [step] = planned(text, [present]).steps;
  expect(step!.changes.toSorted((a, b) => (a.field < b.field ? -1 : 1))).toEqual([
    { field: "config.url" },
    { field: "enabled", before: true, after: false },
    { field: "template.title" },
  ]);
});
