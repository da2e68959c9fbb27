/** Ways round the hiding of secrets in modules: errors, comments, and templates that say what they use by other names. */
import { describe, expect, it, vi } from "vitest";
import { checkModule, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { finish, WorkBudget } from "../../lib/internal/work.ts";
import { hideModule } from "../../lib/module-format/hidden-module.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import { evaluateModule, resolveKnown, resolveResources } from "../../lib/module-format/module-resources.ts";
import { requireUsable } from "../../lib/module-format/module-use.ts";
import { YamlText } from "../../lib/module-format/yaml-text.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

/** A module whose only resource is after eight lines. */
function moduleOf(resource: string): string {
  return `name: web
params:
  zone: { type: string, sensitive: true }
  list: { type: array, sensitive: true }
  map: { type: object, sensitive: true }
  open: { type: string, default: x }
  none: { type: array, default: [] }
resources:
  - { id: a, ${resource} }
`;
}

function errorOf(work: () => unknown): { code: string; message: string; issues: { message: string }[] } {
  try {
    work();
  } catch (error) {
    return error as ReturnType<typeof errorOf>;
  }
  throw new Error("it did not fail");
}

describe("an error about a template with a secret", () => {
  const given = { zone: "HUNTER2", list: ["HUNTER2"], map: { HUNTER2: ["HUNTER2"] } };

  function evaluate(resource: string): void {
    const content = parseModule(moduleOf(resource));
    const budget = new WorkBudget();
    const scope = { params: given, attributes: {}, tags: {} };
    const evaluation = finish(evaluateModule(content, { scope, budget }, [null]));
    finish(resolveResources(content, evaluation, { types: resourceTypes, budget }));
  }

  it.each([
    `type: file, path: /a, content: "{{ attributes[params.zone] }}"`,
    `type: file, path: /a, content: "{{ params[params.zone] }}"`,
    `type: file, path: /a, content: "{{ tags.x[params.zone] }}"`,
    `type: file, path: /a, content: "x{{ params.list }}"`,
    `type: file, path: /a, content: x, mode: "{{ params.zone }}"`,
    `type: file, path: /a, content: "{{ params.list }}"`,
    `type: script, run: x, creates: /x, environment: "{{ params.map }}"`,
    `type: file, path: /a, content: "{{ attributes.HUNTER2 }}", sensitive: true`,
    `type: script, run: x, creates: /x, sensitive: true, environment: { HUNTER2: "{{ attributes.x }}" }`,
  ])("tells the place alone: %s", (resource) => {
    const error = errorOf(() => evaluate(resource));
    expect(JSON.stringify({ ...error, message: error.message })).not.toContain("HUNTER2");
    expect(error).toMatchObject({ code: "TEMPLATE_FAILED", issues: [{ line: 9 }] });
  });

  it("tells it where nothing of the agent is asked for, too", () => {
    const content = parseModule(moduleOf('type: file, path: /a, content: x, mode: "{{ params.zone }}"'));
    const error = errorOf(() =>
      finish(resolveKnown(content, { given, types: resourceTypes, budget: new WorkBudget() })),
    );
    expect(JSON.stringify({ ...error, message: error.message })).not.toContain("HUNTER2");
  });

  it("still says what is wrong where nothing is secret", () => {
    const error = errorOf(() => evaluate('type: file, path: /a, content: "{{ attributes.region }}"'));
    expect(error.message).toContain("attributes.region is not there");
  });

  it("is in no rollout that a Viewer reads", async () => {
    await using test = await createTestOrchestrator();
    const { agents, assignments, modules, rollouts } = test.orchestrator;
    const viewer = (await test.signIn("Viewer", "joan")).caller;
    await using agent = await connectScriptedAgent(test, undefined, test.clock);
    await agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
    await modules.upload(systemCaller, {
      content: moduleOf('type: file, path: /a, content: "{{ attributes[params.zone] }}"'),
    });
    const params = { zone: "HUNTER2", list: [], map: {} };
    await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"], params });
    const { rollout_id } = await rollouts.apply(systemCaller, { name: "web" });
    await vi.waitUntil(async () => (await rollouts.get(viewer, { rollout_id })).status === "failed", 30_000);
    const seen = JSON.stringify([
      await rollouts.get(viewer, { rollout_id }),
      await rollouts.agents(viewer, { rollout_id }),
    ]);
    expect(seen).toContain("TEMPLATE_FAILED");
    expect(seen).not.toContain("HUNTER2");
  });
});

it.each([
  ["type: string, enum: [HUNTER2]", "x"],
  ["type: string, pattern: HUNTER2", "x"],
  ["type: integer, minimum: 424242", 1],
  ["type: integer, maximum: 424242", 500_000],
])("a param that goes into a sensitive resource does not tell what it may be: %s", (param, value) => {
  const content = parseModule(`name: web
params: { token: { ${param} } }
resources:
  - { id: a, type: file, path: /a, sensitive: true, content: "{{ params.token | json }}" }
`);
  const error = errorOf(() => finish(requireUsable([content], { token: value }, resourceTypes)));
  expect(error.issues).toHaveLength(1);
  expect(JSON.stringify(error)).not.toMatch(/HUNTER2|424242/);
});

describe("a comment in a module with a secret", () => {
  const secret = `type: file, path: /x, content: "{{ params.t }}"`;
  it.each([
    `# HUNTER2\nname: m # HUNTER2\nparams:\n  t:\n    type: string\n    sensitive: true\n    # HUNTER2\n  # HUNTER2\n  o: { type: string, default: "a # kept" }\n    # HUNTER2\nresources:\n  - { ${secret} } # HUNTER2\n# HUNTER2\n...\n# HUNTER2\n`,
    `name: m\nparams: {t: {type: string, sensitive: true}, # HUNTER2\n  o: {type: string, default: 'a # kept'}} #HUNTER2\nresources: [{${secret}}, # HUNTER2\n # HUNTER2\n {type: file, path: /y, content: b}]\n`,
    `name: m\r\nparams: # HUNTER2\r\n  t: { type: string, sensitive: true }\r\nresources:\r\n  - { ${secret} }\r\n  - type: file # HUNTER2\r\n    path: /y\r\n    content: | # HUNTER2\r\n      # kept\r\n`,
    `name: m\nparams: { t: { type: string, sensitive: true } }\nresources:\n  - type: file\n    path: /y\n    content: a#kept\n      # HUNTER2 deeper\n  - # HUNTER2\n    { ${secret} }\n  - type: file\n    path: /z\n    content: |+\n      # kept\n\n    # HUNTER2\n`,
    `%HUNTER2 x # HUNTER2\n---\nname: m # kept is HUNTER2\nparams: { t: { type: string, sensitive: true } }\nresources:\n  - { ${secret} }\n  - { type: file, path: /y, content: "# kept" }\n`,
  ])("is not shown, and what looks like one in a value stays: %j", (text) => {
    expect(checkModule(text).faults).toEqual([]);
    const shown = finish(hideModule(text, parseModule(text), resourceTypes))!.content;
    expect(shown).not.toContain("HUNTER2");
    const read = (content: string) =>
      finish(YamlText.read(content, { bytes: 65_536, depth: 20 }, new WorkBudget())).value as {
        resources: unknown[];
        params: Record<string, unknown>;
      };
    expect(shown).toMatch(/# ?kept|#kept/);
    expect(read(shown).resources.slice(1)).toEqual(
      read(text)
        .resources.slice(1)
        .map((each, at) =>
          JSON.stringify(each).includes("params.t") ? read(shown).resources[at + 1] : each,
        ),
    );
    expect(read(shown).params["o"]).toEqual(read(text).params["o"]);
  });
});

describe("a loop", () => {
  it.each(["params", "attributes", "tags", "secrets"])("can't name its items %s", (name) => {
    for (const template of [
      `{% for ${name} in params.none %}{% else %}{{ ${name}.zone }}{% endfor %}`,
      `{% if params.open %}{% for i in params.none %}{% else %}{% for ${name} in params.none %}{% endfor %}{% endfor %}{% endif %}`,
      `{% case params.open %}{% when 'x' %}a{% else %}{% unless params.open %}{% for ${name} in params.none %}{% endfor %}{% endunless %}{% endcase %}`,
    ]) {
      const { faults } = checkModule(moduleOf(`type: file, path: /a, content: "${template}"`));
      expect(faults).toMatchObject([
        { path: ["resources", 0, "content"], line: 9, message: `A loop can't name its items "${name}".` },
      ]);
    }
  });

  it("can name them anything else", () => {
    const template = "{% for param in params.none %}{{ param.params }}{% endfor %}";
    expect(checkModule(moduleOf(`type: file, path: /a, content: "${template}"`)).faults).toEqual([]);
  });
});
