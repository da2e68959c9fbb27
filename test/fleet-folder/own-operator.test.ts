/** What a plan refuses of the operator who is signed in: nobody takes their own rights away. */
import nacl from "tweetnacl";
import { expect, test } from "vitest";
import { planFleetFolder, readFleetFolder, toPresentThing } from "fleetwright";
import type { FolderPlan } from "fleetwright";

const own = "0197a5b4-6d1e-7c3a-9f00-0123456789ab";
const other = "0197a5b4-6d1e-7c3a-9f00-0123456789ac";
const [key, newKey] = [1, 2].map((at) =>
  Buffer.from(nacl.sign.keyPair.fromSeed(Buffer.alloc(32, at)).publicKey).toString("hex"),
);

const ada = {
  operator_id: own,
  username: "ada",
  public_key: key!,
  role: "Admin",
  version: 3,
  managed_by: { label: "shop", name: "ada" },
};

/** Plans a folder with one operator, or none, for whoever is signed in. */
function planFor(signedIn: string | null, operator: string | null, present: object = ada): FolderPlan {
  const operators = operator === null ? "" : `operators:\n  ${operator}\n`;
  const read = readFleetFolder([{ path: "fleet.yaml", text: `label: shop\n${operators}` }]);
  const options = { takeOver: true, prune: true, allowEmpty: true, operatorId: signedIn, nowMs: 0 };
  return planFleetFolder(read, [toPresentThing("operators", present)], options);
}

const told = ({ faults }: FolderPlan): string[] =>
  faults.map(({ code, path }) => `${code} ${path.join(".")}`);

test.each<[what: string, operator: string | null, present: object, refused: string[], steps: string[]]>([
  ["nothing", `ada: { public_key: ${key}, role: Admin }`, ada, [], []],
  [
    "the role",
    `ada: { public_key: ${key}, role: Viewer }`,
    ada,
    ["FORBIDDEN operators.ada.role"],
    ["change"],
  ],
  [
    "the key",
    `ada: { public_key: ${newKey}, role: Admin }`,
    ada,
    ["FORBIDDEN operators.ada.role"],
    ["replace"],
  ],
  [
    "the name",
    `eve: { public_key: ${key}, role: Admin }`,
    ada,
    ["FORBIDDEN operators.eve.role"],
    ["replace"],
  ],
  [
    "who manages it",
    `ada: { public_key: ${key}, role: Admin }`,
    { ...ada, managed_by: null },
    [],
    ["change"],
  ],
  ["everything", null, ada, ["FORBIDDEN operators"], ["remove"]],
])("a plan that changes %s of an operator", (_what, operator, present, refused, steps) => {
  const plan = planFor(own, operator, present);
  expect(told(plan)).toEqual(refused);
  for (const [signedIn, operatorId] of [
    ["somebody else", other],
    ["nobody", null],
  ] as const) {
    const free = planFor(operatorId, operator, present);
    expect([signedIn, told(free), free.steps.concat(free.removals).map(({ action }) => action)]).toEqual([
      signedIn,
      [],
      steps,
    ]);
  }
});
