/** Which thing of a server an entry means, and what no two entries may be. */
import { expect, it } from "vitest";
import { planFleetFolder, readFleetFolder, toPresentThing } from "fleetwright";
import { mayHoldPlainSecret } from "../../lib/fleet-folder/module-content.ts";
import { mostThresholds } from "../../lib/thresholds/threshold-rules.ts";

const ids = ["ab", "ac", "ad"].map((end) => `0197a5b4-6d1e-7c3a-9f00-0123456789${end}`);
const options = { takeOver: false, prune: false, allowEmpty: false, operatorId: null, nowMs: 0 };
const read = (text: string, modules: { path: string; text: string }[] = []) =>
  readFleetFolder([{ path: "fleet.yaml", text: `label: shop\n${text}` }, ...modules]);

/** Kinds whose things have names that several may have: an entry of each, and the thing that it means. */
const kinds = {
  windows: {
    entry: 'reason: shown, mode: mute, ends_at: "2031-01-01T00:00:00Z"',
    listed: { reason: "shown", mode: "mute", ends_at: "2031-01-01T00:00:00.000Z" },
  },
  channels: {
    entry: 'name: shown, type: webhook, config: { url: "https://a.example/" }',
    listed: { name: "shown", type: "webhook", config: { url: "https://a.example/" } },
  },
  thresholds: {
    entry: "name: shown, metric: load.1, condition: above, value: 5",
    listed: { name: "shown", metric: "load.1", condition: "above", value: 5 },
  },
} as const;
const each = (["windows", "channels", "thresholds"] as const).map((kind) => [kind, kinds[kind]] as const);

it.each(each)(
  "of %s the name in the folder counts before the id, and the id before what people call it",
  (kind, { entry, listed }) => {
    const thing = (at: number, managed?: string) =>
      toPresentThing(kind, {
        ...listed,
        id: ids[at],
        version: 1,
        ...(managed !== undefined && { managed_by: { label: "shop", name: managed } }),
      });
    const meant = (present: ReturnType<typeof thing>[], id?: string): unknown[] => {
      const folder = read(`${kind}:\n  it: { ${id === undefined ? "" : `id: ${id}, `}${entry} }\n`);
      expect(folder.faults).toEqual([]);
      const { steps, removals } = planFleetFolder(folder, present, { ...options, takeOver: true });
      return [steps.map((step) => step.id), removals.map((step) => step.id)];
    };
    const [named, other] = [thing(0, "it"), thing(1, "other")];
    expect(meant([named, other, thing(2)], ids[1])).toEqual([[], [ids[1]]]);
    expect(meant([other, thing(2)], ids[1])).toEqual([[ids[1]], []]);
    expect(meant([other, thing(2)])).toEqual([[ids[2]], [ids[1]]]);
    expect(meant([thing(0), thing(2)])).toEqual([[null], []]);
  },
);

it.each(each)("no two %s have one id", (kind, { entry }) => {
  const text = `${kind}:\n  first: { id: ${ids[0]}, ${entry} }\n  second: { id: ${ids[0]}, ${entry} }\n  third: { id: ${ids[1]}, ${entry} }\n`;
  expect(read(text).faults.map(({ code, path, line }) => [code, path.join("."), line])).toEqual([
    ["ALREADY_EXISTS", `${kind}.second.id`, 4],
  ]);
});

it("the first threshold that is one too many is told, and no other", () => {
  const thresholds = (count: number): string =>
    `thresholds:\n${Array.from({ length: count }, (_, at) => `  t${at}: { ${kinds.thresholds.entry} }\n`).join("")}`;
  const told = (count: number): unknown[] => read(thresholds(count)).faults.map(({ path }) => path.join("."));
  expect(told(mostThresholds)).toEqual([]);
  expect(told(mostThresholds + 1)).toEqual([`thresholds.t${mostThresholds}`]);
  expect(told(mostThresholds + 2)).toEqual([`thresholds.t${mostThresholds}`]);
});

it("nothing is said of revisions and requirements of a module whose text has faults", () => {
  const broken = { path: "modules/base.yaml", text: "name: base\nresources: 7\n" };
  const web = { path: "modules/web.yaml", text: "name: web\nrequires: [base]\nresources: []\n" };
  const text = 'assignments:\n  web: { selector: "*", modules: [base@9] }\n';
  const { faults } = planFleetFolder(read(text, [broken, web]), [], options);
  expect(faults.map(({ file }) => file)).toEqual(["modules/base.yaml"]);
  const { faults: missing } = planFleetFolder(read(text, [web]), [], options);
  expect(missing.map(({ file }) => file)).toEqual(["fleet.yaml", "modules/web.yaml"]);
});

it.each([
  [
    "a param without a default that is secret",
    "name: a\nparams:\n  p: { type: string, sensitive: true }\nresources: []\n",
    false,
  ],
  [
    "a default that is secret",
    "name: a\nparams:\n  p: { type: string, sensitive: true, default: x }\nresources: []\n",
    true,
  ],
  ["a default that is none", "name: a\nparams:\n  p: { type: string, default: x }\nresources: []\n", false],
  [
    "a resource that is sensitive",
    "name: a\nresources:\n  - { id: f, type: file, path: /a, content: x, sensitive: true }\n",
    true,
  ],
  [
    "a resource that is not",
    "name: a\nresources:\n  - { id: f, type: file, path: /a, content: x, sensitive: false }\n",
    false,
  ],
  ["what can't be read", "name: [", true],
])("a module may hold a secret as it is, by %s", (_, content, may) => {
  expect(mayHoldPlainSecret(content)).toBe(may);
});

it.each([
  ["starts_at", "2031-01-01T02:00:00+02:00", "2031-01-01T00:00:00.000Z"],
  ["ends_at", "2031-06-01T00:00:00.5-05:30", "2031-06-01T05:30:00.500Z"],
])("a window whose %s is the same instant in another zone is as it was", (field, written, kept) => {
  const times = { starts_at: "2031-01-01T00:00:00.000Z", ends_at: "2031-06-01T05:30:00.500Z" };
  const present = toPresentThing("windows", {
    reason: "shown",
    mode: "mute",
    ...times,
    id: ids[0],
    version: 1,
    managed_by: { label: "shop", name: "it" },
  });
  const folder = (value: string) => {
    const { starts_at, ends_at } =
      field === "starts_at" ? { ...times, starts_at: value } : { ...times, ends_at: value };
    return read(
      `windows:\n  it: { reason: shown, mode: mute, starts_at: "${starts_at}", ends_at: "${ends_at}" }\n`,
    );
  };
  expect(folder(written).things[0]!.values).toMatchObject({ [field]: kept });
  expect(planFleetFolder(folder(written), [present], options)).toMatchObject({ steps: [], faults: [] });
  const other = planFleetFolder(folder("2031-05-01T00:00:00Z"), [present], options);
  expect(other.steps.map(({ changes }) => changes.map((change) => change.field))).toEqual([[field]]);
});
