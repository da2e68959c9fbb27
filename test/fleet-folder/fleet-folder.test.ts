import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planFleetFolder, readFleetFolder, toPresentThing } from "fleetwright";
import type { FolderPlan, FolderPlanOptions, PresentThing } from "fleetwright";
import { evilName, evilNames, evilPaths } from "../support/evil.ts";

const now = Date.parse("2030-01-01T00:00:00Z");
const standard: FolderPlanOptions = {
  takeOver: false,
  prune: false,
  allowEmpty: false,
  operatorId: null,
  nowMs: now,
};

/** Plans a folder of one file, and modules by name. */
function plan(
  text: string,
  present: readonly PresentThing[] = [],
  options: Partial<FolderPlanOptions> = {},
): FolderPlan {
  const read = readFleetFolder([{ path: "fleet.yaml", text: `label: shop\n${text}` }]);
  return planFleetFolder(read, present, { ...standard, ...options });
}

function faultsOf({ faults }: Pick<FolderPlan, "faults">): string[] {
  return faults.map(({ line, column, path, message }) => `${line}:${column} ${path.join(".")} ${message}`);
}

function stepsOf({ steps }: FolderPlan): unknown[] {
  return steps.map(({ action, name, id, changes }) => [action, name, id, changes.map(({ field }) => field)]);
}

const module = toPresentThing("modules", { name: "web", revision: 3, content_hash: "0" });
const window = { reason: "backups", mode: "mute", starts_at: "2029-01-01T00:00:00.000Z", version: 7 };
const id = "0197a5b4-6d1e-7c3a-9f00-0123456789ab";
const recurring = { schedule: { cron: "0 2 * * *", time_zone: "UTC", duration_minutes: 60 } };
const nightly =
  'windows:\n  nightly: { reason: backups, mode: mute, schedule: { cron: "0 2 * * *", duration_minutes: 60 } }\n';

describe("a plan of a fleet folder", () => {
  it("knows the revisions that there are, with those that it makes", () => {
    const assignment = (reference: string) =>
      `assignments:\n  web: { selector: "*", modules: [${reference}] }\n`;
    expect(faultsOf(plan(assignment("web@3"), [module]))).toEqual([]);
    expect(faultsOf(plan(assignment("web@4"), [module]))).toEqual([
      "3:35 assignments.web.modules.0 There is no revision 4 of module web: the newest is 3.",
    ]);
  });

  it("finds a window by its name in the folder, by the id, and by what people call it", () => {
    const ours = { ...window, ...recurring, id, managed_by: { label: "shop", name: "nightly" } };
    expect(stepsOf(plan(nightly, [toPresentThing("windows", ours)]))).toEqual([]);
    const free = { ...window, ...recurring, id };
    const called = plan(nightly, [toPresentThing("windows", free)]);
    expect([stepsOf(called), called.unmanaged]).toEqual([[], [{ kind: "windows", name: "nightly" }]]);
    const taken = plan(nightly, [toPresentThing("windows", free)], { takeOver: true });
    expect(stepsOf(taken)).toEqual([["change", "nightly", id, ["managed_by"]]]);
    const renamed = nightly.replace("nightly: {", `backup: { id: ${id},`);
    expect(stepsOf(plan(renamed, [toPresentThing("windows", ours)]))).toEqual([
      ["change", "backup", id, ["managed_by"]],
    ]);
    const two = [free, { ...free, id: id.replace("ab", "ac") }].map((each) =>
      toPresentThing("windows", each),
    );
    expect(stepsOf(plan(nightly, two))).toEqual([["create", "nightly", null, []]]);
    // What is over for good, and managed by nobody, is not meant.
    const over = toPresentThing("windows", { ...free, status: "ended" });
    expect(stepsOf(plan(nightly, [over]))).toEqual([["create", "nightly", null, []]]);
    const [step] = plan(nightly, [over, two[1]!], { takeOver: true }).steps;
    expect(step).toMatchObject({ action: "change", id: two[1]!.id });
  });

  it("makes no window that is over, and leaves it the beginning that it got", () => {
    const once = (endsAt: string) =>
      `windows:\n  move: { reason: move, mode: freeze, ends_at: "${endsAt}" }\n`;
    expect(stepsOf(plan(once("2029-12-31T23:00:00Z")))).toEqual([]);
    expect(stepsOf(plan(once("2030-01-01T01:00:00Z")))).toEqual([["create", "move", null, []]]);
    const yearly = (endsAt: string) =>
      `windows:\n  move: { reason: move, mode: freeze, starts_at: "2028-01-01T00:00:00Z", ends_at: "${endsAt}", schedule: { cron: "0 0 1 6 *", duration_minutes: 5 } }\n`;
    expect(stepsOf(plan(yearly("2030-05-31T00:00:00Z")))).toEqual([]);
    expect(stepsOf(plan(yearly("2030-06-02T00:00:00Z")))).toEqual([["create", "move", null, []]]);
  });

  it("refuses times of a window that is there which the server would refuse by now", () => {
    const there = {
      ...window,
      reason: "move",
      ends_at: "2031-01-01T00:00:00.000Z",
      id,
      starts_at: "2030-06-01T00:00:00.000Z",
    };
    const present = toPresentThing("windows", { ...there, managed_by: { label: "shop", name: "move" } });
    const moved = (times: string) =>
      plan(`windows:\n  move: { reason: move, mode: mute, ${times} }\n`, [present]);
    expect(faultsOf(moved('starts_at: "2029-06-01T00:00:00Z", ends_at: "2029-07-01T00:00:00Z"'))).toEqual([
      "3:81 windows.move.ends_at has passed",
    ]);
    // The beginning stays what the server has.
    expect(faultsOf(moved('ends_at: "2030-05-01T00:00:00Z"'))).toEqual([
      "3:46 windows.move.ends_at must be after starts_at",
    ]);
    expect(faultsOf(moved('ends_at: "2030-07-01T00:00:00Z"'))).toEqual([]);
  });

  it("says of fields of a channel's config that are missing what it says of others", () => {
    const header = plan(
      'channels:\n  c: { name: C, type: webhook, config: { url: "https://x.example/", headers: { "A B": x } } }\n',
    );
    expect(faultsOf(header).at(-1)).toMatch(/^3:\d+ channels\.c\.config\.headers\.A B (?!Invalid key).*\w/);
    expect(faultsOf(plan("channels:\n  c: { name: C, type: slack, config: {} }\n"))).toEqual([
      '3:38 channels.c.config.url "url" is missing.',
    ]);
  });

  it("removes no module that something needs", () => {
    const managed_by = { label: "shop", name: "web" };
    const listed = { name: "web", revision: 3, content_hash: "0", managed_by };
    const used = toPresentThing("modules", {
      ...listed,
      used_by: ["site", "gone", "disk", "module app", "rollout 7"],
    });
    const gone = toPresentThing("assignments", {
      name: "gone",
      selector: "*",
      modules: ["web"],
      managed_by: { label: "shop", name: "gone" },
    });
    // A user is known by the name of its kind alone.
    const site =
      'assignments:\n  site: { selector: "*", modules: [web] }\nthresholds:\n  disk: { name: D, metric: load.5, condition: above, value: 1 }\n';
    const prune = { prune: true };
    expect(faultsOf(plan(site, [used, gone], prune))).toEqual([
      "1:8 modules.web --prune would remove the module web, which is used by disk, module app, rollout 7.",
      "3:36 assignments.site.modules.0 --prune would remove the module web, which the folder does not have any more.",
    ]);
    expect(faultsOf(plan(site, [used, gone]))).toEqual([]);
    const emptied = plan("", [gone], prune);
    expect(faultsOf(emptied)[0]).toContain("The folder has nothing any more");
    expect(faultsOf(plan("", [gone], { ...prune, allowEmpty: true }))).toEqual([]);
  });

  it("takes two entries for one thing as a fault", () => {
    const entry = (name: string, said: string) =>
      `  ${name}: { ${said} reason: r, mode: mute, ends_at: "2031-01-01T00:00:00Z" }\n`;
    const byId = `windows:\n${entry("a", `id: ${id},`)}${entry("b", `id: ${id},`)}`;
    expect(faultsOf(plan(byId))).toEqual([`4:12 windows.b.id The maintenance window a has this id, too.`]);
    const managed_by = { label: "shop", name: "a" };
    const present = { ...window, reason: "r", ends_at: "2031-01-01T00:00:00.000Z", id, managed_by };
    const twice = `windows:\n${entry("a", "")}${entry("b", `id: ${id},`)}`;
    expect(faultsOf(plan(twice, [toPresentThing("windows", present)]))).toEqual([
      `4:3 windows.b Another entry of the folder is the same maintenance window ${id}.`,
    ]);
  });

  it("refuses another type of a channel, and a secret that is nowhere or that nobody could compare", () => {
    const channel = (config: string) =>
      `channels:\n  c: { name: C, type: own-type, config: { ${config} } }\n`;
    const present = (config: object, type = "own-type") =>
      toPresentThing("channels", {
        id,
        name: "C",
        type,
        config,
        events: ["*"],
        min_severity: "info",
        enabled: true,
        source: "notifications",
        version: 1,
        managed_by: { label: "shop", name: "c" },
      });
    expect(faultsOf(plan(channel("key: x"), [present({ key: "x" }, "other")]))[0]).toContain(
      "channels.c.type The type of a channel stays what it is",
    );
    expect(faultsOf(plan(channel('key: "********"')))[0]).toContain(
      "The server has no value that could stay",
    );
    expect(faultsOf(plan(channel("key: x"), [present({ key: "********" })]))[0]).toContain(
      "The server reads it back to nobody",
    );
    expect(stepsOf(plan(channel('key: "********"'), [present({ key: "********" })]))).toEqual([]);
    const named = plan(channel('key: "secret:hook"'), [present({ key: "********" })]);
    expect(stepsOf(named)).toEqual([["change", "c", id, ["config.key"]]]);
    expect(JSON.stringify(named.steps[0]!.changes)).not.toContain("secret:hook");
  });

  it("tells no difference of a param whose value the caller may not see", () => {
    const present = toPresentThing("assignments", {
      name: "web",
      selector: "*",
      modules: ["web"],
      params: { password: "(sensitive)", port: 80 },
      version: 1,
      managed_by: { label: "shop", name: "web" },
    });
    const assignment = (port: number) =>
      `assignments:\n  web: { selector: "*", modules: [web], params: { password: x, port: ${port} } }\n`;
    expect(stepsOf(plan(assignment(80), [module, present]))).toEqual([]);
    expect(stepsOf(plan(assignment(81), [module, present]))).toEqual([
      ["change", "web", "web", ["params.port"]],
    ]);
  });

  it.each([
    [
      "a list where the things of a kind have names",
      "windows: [a]\n",
      '2:10 windows "windows" must be a map: each maintenance window under its name.',
    ],
    [
      "a list where an entry has fields",
      "windows:\n  w: [a]\n",
      "3:6 windows.w This must be a map, not a list.",
    ],
    ["an entry without fields", "windows:\n  w:\n", "3:5 windows.w This must be a map, and is empty."],
    [
      "a text where a list belongs",
      'assignments:\n  a: { selector: "*", modules: base }\n',
      "3:32 assignments.a.modules This must be a list, not text.",
    ],
    ["a key that is none", "windows:\n  __proto__: {}\n", '3:3 windows A key can\'t be "__proto__".'],
  ])("says what is wrong with %s", (_, text, fault) => {
    expect(faultsOf(plan(text))).toEqual([fault]);
  });

  it("says of a value of another type what it must be, where it is", () => {
    const text = [
      "assignments: { web: { selector: 5, modules: [3] } }",
      "channels: { hook: { type: webhook, name: hook, config: { url: 5 } } }",
      "operators: { ada: { public_key: true, role: King } }",
    ];
    expect(faultsOf(plan(text.join("\n")))).toEqual([
      "2:33 assignments.web.selector This must be text, not a number; quote it.",
      "2:46 assignments.web.modules.0 This must be text, not a number; quote it.",
      "3:63 channels.hook.config.url This must be text, not a number; quote it.",
      "4:33 operators.ada.public_key This must be text, not a boolean; quote it.",
      '4:45 operators.ada.role This must be "Viewer", "Operator" or "Admin".',
    ]);
    const labels = readFleetFolder([
      { path: "fleet.yaml", text: "label: 5" },
      { path: "modules/a.yaml", text: "name: 5\nresources: []" },
    ]);
    expect(faultsOf(labels)).toEqual([
      "1:8 label This must be text, not a number; quote it.",
      "1:7 name This must be text, not a number; quote it.",
    ]);
  });

  it("says where a module belongs", () => {
    const { faults } = readFleetFolder([
      { path: "fleet.yaml", text: "label: shop\n" },
      { path: "base.yaml", text: "name: base\nresources: []\n" },
    ]);
    expect(faults.map(({ message }) => message)).toEqual(["This is a module: have its file below modules/."]);
  });

  it("needs one label", () => {
    expect(readFleetFolder([]).faults.map(({ message }) => message)).toEqual([
      '"label" is missing: one file says whose folder it is, e.g. label: shop',
    ]);
    const twice = readFleetFolder([
      { path: "a.yaml", text: "label: shop\n" },
      { path: "b.yaml", text: "label: shop\n" },
    ]);
    expect(twice.faults.map(({ file, message }) => `${file} ${message}`)).toEqual([
      "b.yaml The label is said in a.yaml:1:8 already.",
    ]);
  });
});

it("whatever stands in the files, reading and planning throw nothing, and every fault has a place", () => {
  const piece = fc.constantFrom(
    "label: shop\n",
    "assignments:\n",
    "  web:\n",
    "    selector: ",
    "role=web\n",
    "    modules: [web]\n",
    "operators:\n",
    "channels:\n",
    "windows: 1\n",
    "  a: {}\n",
    "  a: [",
    "__proto__: x\n",
    "constructor: {}\n",
    "- x\n",
    "{",
    "}",
    "&a *a\n",
    "!!js x\n",
    "\t",
    "\u0000",
    "    params: { a: 1e999 }\n",
    "    config: null\n",
  );
  const file = fc.record({
    path: fc.oneof(
      fc.constantFrom("a.yaml", "modules/a.yaml", "b/c.yml", "modules"),
      fc.constantFrom(...evilPaths, ...evilNames.map((name) => `modules/${name}.yaml`)),
    ),
    text: fc.oneof(
      fc.array(piece).map((pieces) => pieces.join("")),
      fc.string({ unit: "binary" }),
    ),
  });
  fc.assert(
    fc.property(fc.array(file, { maxLength: 4 }), (files) => {
      const { faults } = planFleetFolder(readFleetFolder(files), [module], standard);
      for (const fault of faults) {
        expect(fault.line).toBeGreaterThanOrEqual(1);
        expect(fault.column).toBeGreaterThanOrEqual(1);
      }
    }),
    { numRuns: 500 },
  );
});

it("whatever fields an entry has, reading tells faults and throws nothing", () => {
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom<unknown>(
      "secret:s",
      "********",
      "*",
      "0 0 30 2 *",
      "@daily",
      "Europe/Berlin",
      "UTC",
      -1,
      1e300,
    ),
    fc.constantFrom<unknown>("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2030-01-01T00:00:00+14:00"),
  );
  const or = (valid: unknown) => fc.oneof({ weight: 3, arbitrary: fc.constant(valid) }, odd);
  const schedule = fc.record(
    { cron: or("0 2 * * *"), time_zone: or("UTC"), duration_minutes: or(5) },
    { requiredKeys: ["cron"] },
  );
  const entries: Record<string, Record<string, fc.Arbitrary<unknown>>> = {
    assignments: {
      selector: or("*"),
      modules: or(["web"]),
      params: or({ port: 1 }),
      schedule: fc.oneof(schedule, odd),
    },
    windows: {
      reason: or("r"),
      mode: or("mute"),
      starts_at: odd,
      ends_at: odd,
      schedule: fc.oneof(schedule, odd),
    },
    channels: {
      name: or("C"),
      type: fc.oneof(fc.constantFrom("webhook", "email", "slack", "ntfy", "syslog", "constructor"), odd),
      config: fc.oneof(
        fc.record(
          { url: odd, headers: odd, password: odd, host: odd, topic: odd, to: odd },
          { requiredKeys: [] },
        ),
        odd,
      ),
    },
    thresholds: {
      name: or("T"),
      metric: or("load.5"),
      condition: or("above"),
      value: or(1),
      recovery_value: or(2),
    },
    operators: { public_key: odd, role: or("Viewer") },
  };
  const module = "name: web\nparams:\n  port: { type: integer, maximum: 9 }\nresources: []\n";
  const folder = fc.record(
    Object.fromEntries(
      Object.entries(entries).map(([kind, fields]) => [
        kind,
        fc.dictionary(
          fc.oneof(fc.constantFrom("a", "b", "A", "__proto__"), evilName),
          fc.record(fields, { requiredKeys: [] }),
        ),
      ]),
    ),
  );
  fc.assert(
    fc.property(folder, (value) => {
      const read = readFleetFolder([
        { path: "modules/web.yaml", text: module },
        { path: "fleet.yaml", text: JSON.stringify({ label: "shop", ...value }) },
      ]);
      const { faults } = planFleetFolder(read, [], standard);
      for (const { code, line, column } of faults) {
        expect(code).toMatch(/^[A-Z_]+$/);
        expect(Math.min(line!, column!)).toBeGreaterThanOrEqual(1);
      }
    }),
    { numRuns: 300 },
  );
});
