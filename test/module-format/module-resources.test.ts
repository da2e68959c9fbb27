/** What a module becomes for one agent: what is wrong counts where it is wanted, and of what is skipped the rest is known. */
import { describe, expect, it, test } from "vitest";
import { isOrchestratorError } from "../../lib/errors.ts";
import { finish, WorkBudget } from "../../lib/internal/work.ts";
import type { JsonObject } from "../../lib/json.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import {
  evaluateModule,
  requirePossibleAgreement,
  resolveKnown,
  resolveResources,
} from "../../lib/module-format/module-resources.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resourceTypes as types } from "../../lib/state/resources/index.ts";

const params = {
  mode: { type: "string" },
  env: { type: "string", default: "dev" },
  secret: { type: "string", sensitive: true, default: "x" },
};

const parse = (...resources: object[]) => parseModule(JSON.stringify({ name: "web", params, resources }));

const secrets = new Map([["db", { ok: false, name: "db", message: "the agent has no key" } as const]]);

/** What an agent gets, where these resources are skipped. */
function resolve(resources: readonly object[], skipped: readonly (string | null)[]): ResolvedResource[] {
  const content = parse(...resources);
  const scope = { params: { mode: "no mode" }, attributes: { hostname: "h1" }, tags: {}, secrets };
  const evaluation = finish(evaluateModule(content, { scope, budget: new WorkBudget() }, skipped));
  return finish(resolveResources(content, evaluation, { types, budget: new WorkBudget() }));
}

function errorOf(run: () => unknown): object {
  try {
    run();
  } catch (error) {
    if (!isOrchestratorError(error)) throw error;
    return { code: error.code, issues: error.issues, firstIssue: error.issues[0] };
  }
  return {};
}

const skip = "when: x";
const good = { type: "file", content: "{{ attributes.hostname }}" };

describe.each<[what: string, resource: object, code: string, property: string]>([
  [
    "a template without a value",
    { type: "file", content: "{{ attributes.os }}" },
    "TEMPLATE_FAILED",
    "content",
  ],
  [
    "a secret that can't be used",
    { type: "file", content: "{{ secrets.db }}" },
    "SECRET_UNAVAILABLE",
    "content",
  ],
  ["a value that does not fit", { type: "file", mode: "{{ params.mode }}" }, "TEMPLATE_FAILED", "mode"],
])("%s", (_what, bad, code, property) => {
  const all = [bad, good, bad].map((each, at) => ({ id: `r${at}`, path: `/r${at}`, ...each }));

  it.each([
    [[null, null, null], 0],
    [[skip, null, null], 2],
    [[skip, skip, null], 2],
    [[null, null, skip], 0],
  ])("is told where %j says who is skipped: of resource %i first", (skipped, first) => {
    expect(errorOf(() => resolve(all, skipped))).toMatchObject({
      code,
      firstIssue: { path: ["resources", first, property], line: 1 },
    });
  });

  it("is nobody's business in what is skipped: its name and what it is about are known", () => {
    const [one, two, three] = resolve(all, [skip, null, skip]);
    expect(two).toMatchObject({ resource_id: "r1", spec: { content: "h1" } });
    expect(two).not.toHaveProperty("skip");
    expect([one, three]).toMatchObject(
      ["r0", "r2"].map((id) => ({ resource_id: id, type: "file", identity: `/${id}`, skip: "condition" })),
    );
  });
});

describe("what is skipped", () => {
  it("is marked so, whether or not its templates have a value", () => {
    const bad = ["{{ attributes.os }}", "{{ params.mode }}", "0600"].map((mode) => ({ type: "file", mode }));
    const all = [good, ...bad];
    const named = all.map((each, at) => ({ id: `r${at}`, path: `/r${at}`, ...each }));
    expect(
      resolve(
        named,
        all.map(() => skip),
      ).map((each) => each.skip),
    ).toEqual(all.map(() => "condition"));
  });

  it.each(["{{ params.secret }} {{ attributes.os }}", "{{ secrets.db }}"])(
    "is as sensitive as %s makes it",
    (content) => {
      for (const more of [{}, { mode: "{{ params.mode }}" }]) {
        const [one] = resolve([{ id: "r", type: "file", path: "/r", content, ...more }], [skip]);
        expect(one).toMatchObject({ skip: "condition", sensitive: true });
      }
    },
  );

  it("keeps what it is for others", () => {
    const edges = { requires: ["a"], run_on: ["b"], on_failure: "continue", ignore_drift: ["umask"] };
    const folders = ["a", "b"].map((id) => ({ id, type: "directory", path: `/${id}` }));
    for (const umask of ["022", "{{ params.mode }}"]) {
      const all = [...folders, { id: "r", type: "script", run: "true", umask, ...edges }];
      expect(resolve(all, [null, null, skip])[2]).toMatchObject({ ...edges, skip: "condition" });
    }
  });
});

describe("a fault of a value", () => {
  it("stands at the template that gave it, not at another of the resource", () => {
    const text = [
      "name: web",
      "params: { mode: { type: string } }",
      "resources:",
      "  - type: file",
      "    path: /a",
      "    content: '{{ attributes.hostname }}'",
      "    mode: '{{ params.mode }}'",
    ].join("\n");
    const content = parseModule(text);
    const scope = { params: { mode: "no mode" }, attributes: { hostname: "h" }, tags: {} };
    const evaluation = finish(evaluateModule(content, { scope, budget: new WorkBudget() }, [null]));
    expect(
      errorOf(() => finish(resolveResources(content, evaluation, { types, budget: new WorkBudget() }))),
    ).toMatchObject({ issues: [{ path: ["resources", 0, "mode"], line: 7, column: 12 }] });
  });

  it("tells no key below a property of what is sensitive", () => {
    const environment = { KEY: "{{ params.mode }}", OTHER: "{{ params.secret }}" };
    const job = { id: "r", type: "cron", name: "job", command: "true", hour: 1, environment };
    const content = parse(job);
    const scope = { params: { mode: "a\nb", secret: "x" }, attributes: {}, tags: {} };
    const evaluation = finish(evaluateModule(content, { scope, budget: new WorkBudget() }, [null]));
    const found = errorOf(() =>
      finish(resolveResources(content, evaluation, { types, budget: new WorkBudget() })),
    );
    expect(found).toMatchObject({ issues: [{ path: ["resources", 0, "environment"] }] });
    expect(JSON.stringify(found)).not.toContain("KEY");
  });
});

describe("what is the same on every agent", () => {
  const known = (resources: readonly object[], given: JsonObject) =>
    finish(resolveKnown(parse(...resources), { given, types, budget: new WorkBudget() })).map(
      ({ resource, when }) => [resource.resource_id, when],
    );
  const under = (when: string) => ({ id: "r", type: "directory", path: "/r", when });

  it.each<[when: string, found: string | null | undefined]>([
    ["param.env = dev", null],
    ["param.env = prod", undefined],
    ["param.env = prod and role = web", undefined],
    ["param.env = dev and role = web", "role=web"],
  ])("leaves out what no agent can want: %s", (when, found) => {
    expect(known([under(when)], { mode: "m" })).toEqual(found === undefined ? [] : [["r", found]]);
  });

  it("is not refused for what no agent can want", () => {
    const bad = { ...under("param.env = prod"), mode: "{{ params.mode }}" };
    expect(known([bad], { mode: "no mode" })).toEqual([]);
    expect(errorOf(() => known([{ ...bad, when: "param.env = dev" }], { mode: "no mode" }))).toMatchObject({
      code: "TEMPLATE_FAILED",
    });
  });
});

test("one conflict is told once, however many things the two are about", () => {
  const group = (id: string, gid: number) => ({ id, type: "group", name: "g", gid });
  const wanted = [parse(group("a", 800)), { ...parse(group("b", 801)), name: "other" }].flatMap((content) =>
    finish(resolveKnown(content, { given: {}, types, budget: new WorkBudget() })),
  );
  expect(errorOf(() => requirePossibleAgreement(wanted, types))).toMatchObject({
    code: "RESOURCE_CONFLICT",
    issues: [{ path: ["modules"] }],
  });
});

test("what a module says of its removal goes with each resource", () => {
  const content = parseModule(
    JSON.stringify({ name: "web", removal: "keep", resources: [{ id: "r", type: "file", path: "/r" }] }),
  );
  const evaluation = { skipped: [null], values: [] };
  const [one] = finish(resolveResources(content, evaluation, { types, budget: new WorkBudget() }));
  expect(one).toMatchObject({ resource_id: "r", removal: "keep" });
});
