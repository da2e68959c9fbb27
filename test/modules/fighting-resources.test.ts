/** Resources that undo each other's changes are refused as soon as both are known: in an upload, an assignment, and in every plan. */
import { describe, expect, it } from "vitest";
import { isOrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { createScene, type Scene } from "../support/rollout-scene.ts";

const conflict = { code: "RESOURCE_CONFLICT", details: { identity: "path:/etc/conf" } };
const file = (content: string, more = ""): string =>
  `{ id: f, type: file, path: /etc/conf, content: "${content}"${more} }`;
const line = (text: string, more = ""): string =>
  `{ id: l, type: line, path: /etc/conf, line: "${text}"${more} }`;
const module = (name: string, resources: readonly string[], params = ""): string =>
  `name: ${name}\n${params}resources:\n${resources.map((each) => `  - ${each}\n`).join("")}`;

async function issuesOf(content: string): Promise<string[]> {
  await using test = await createTestOrchestrator();
  const uploading = test.orchestrator.modules.upload(systemCaller, { content });
  const error: unknown = await uploading.then(
    () => null,
    (refusal: unknown) => refusal,
  );
  if (error === null) return [];
  if (!isOrchestratorError(error, "MODULE_INVALID")) throw error;
  return error.issues.map((issue) => `${issue.line}: ${issue.message}`);
}

describe("one module with two of them", () => {
  it("is refused at its upload, with the places of both and what to do", async () => {
    expect(await issuesOf(module("m", [file("a\\n"), "{ type: file, path: /x }", line("b")]))).toEqual([
      "5: This and the resource on line 3 undo each other's changes of /etc/conf. " +
        "One of them says the whole text: put there what the other wants, or leave the text to the other.",
    ]);
    const two = [line("k=1"), `{ id: l2, type: line, path: /etc/conf, line: k=2, match: "k=*" }`];
    expect(await issuesOf(module("m", two))).toEqual([
      "4: This and the resource on line 3 undo each other's changes of /etc/conf. Let only one of them say it.",
    ]);
  });

  it("is refused where one is in a folder that the other has gone", async () => {
    const folder = (more = "") => `{ type: directory, path: /srv/old, ensure: absent${more} }`;
    const inside = (more = "") => `{ type: file, path: /srv/old/a, content: x${more} }`;
    const told = "This is in /srv/old, which the resource on line 3 has gone.";
    expect(await issuesOf(module("m", [folder(), inside()]))).toEqual([`4: ${told}`]);
    expect(await issuesOf(module("m", [folder(', when: "os=linux"'), inside()]))).toEqual([`4: ${told}`]);
    const apart = [folder(', when: "os=linux"'), inside(', when: "os=darwin"')];
    expect(await issuesOf(module("m", apart))).toEqual([]);
  });

  it("is refused where one condition implies the other, and taken where they may exclude each other", async () => {
    const when = (tag: string): string => `, when: "os=${tag}"`;
    expect(await issuesOf(module("m", [file("a\\n"), line("b", when("linux"))]))).toHaveLength(1);
    expect(await issuesOf(module("m", [file("a\\n", when("linux")), line("b", when("linux"))]))).toHaveLength(
      1,
    );
    expect(await issuesOf(module("m", [file("a\\n", when("linux")), line("b", when("darwin"))]))).toEqual([]);
  });

  it("is taken where the line stands in the content, or a value is not known yet", async () => {
    expect(await issuesOf(module("m", [file("a\\nb\\n"), line("b")]))).toEqual([]);
    const params = "params: { n: { type: string, default: x } }\n";
    expect(await issuesOf(module("m", [file("{{ params.n }}\\n"), line("b")], params))).toEqual([]);
    expect(await issuesOf(module("m", [file("{{ attributes.os }}\\n"), line("b")]))).toEqual([]);
  });
});

async function scene(...modules: string[]): Promise<Scene> {
  const made = await createScene(2, (at) => ({ env: at === 0 ? "prod" : "dev" }));
  for (const content of modules) await made.test.orchestrator.modules.upload(systemCaller, { content });
  return made;
}

const params = "params: { n: { type: string, default: b } }\n";

describe("modules of one assignment", () => {
  it("are refused when it is made, with the values that it gives", async () => {
    await using made = await scene(
      module("one", [file("{{ params.n }}\\n")], params),
      module("two", [line("b")]),
    );
    const { assignments } = made.test.orchestrator;
    const create = (n: string) =>
      assignments.create(systemCaller, { name: n, selector: "*", modules: ["one", "two"], params: { n } });
    await expect(create("c")).rejects.toMatchObject({
      ...conflict,
      message: expect.stringContaining("one/f and two/l undo each other's changes of /etc/conf") as string,
    });
    await create("b");
  });

  it("are refused when one of them is uploaded again", async () => {
    await using made = await scene(module("one", [file("b\\n")]), module("two", [line("b")]));
    const { assignments, modules } = made.test.orchestrator;
    await assignments.create(systemCaller, { name: "both", selector: "*", modules: ["one", "two"] });
    const upload = modules.upload(systemCaller, { content: module("one", [file("c\\n")]) });
    await expect(upload).rejects.toMatchObject(conflict);
  });
});

describe("modules of two assignments", () => {
  it.each([
    ["a line", line("b")],
    ["a line with a param", line("{{ params.n }}")],
    ["an entry that it lacks", `{ id: l, type: block, path: /etc/conf, content: "b" }`],
  ])("are refused where an agent matches both: a file and %s", async (_what, other) => {
    await using made = await scene(
      module("one", [file("{{ params.n }} c\\n")], params),
      module("two", [other], params),
    );
    const { assignments } = made.test.orchestrator;
    const assign = (name: string, selector: string) =>
      assignments.create(systemCaller, { name, selector, modules: [name] });
    await assign("one", "env=prod");
    await expect(assign("two", "*")).rejects.toMatchObject(conflict);
    await assign("two", "env=dev");
  });

  it("are taken where the line stands in the content", async () => {
    await using made = await scene(module("one", [file("a\\nb\\n")]), module("two", [line("b")]));
    const { assignments } = made.test.orchestrator;
    for (const name of ["one", "two"])
      await assignments.create(systemCaller, { name, selector: "*", modules: [name] });
    expect((await assignments.list(systemCaller)).items).toHaveLength(3);
  });
});

describe("a plan or an apply", () => {
  it("is refused where the agent decides about a value", async () => {
    await using made = await scene(module("one", [file("{{ tags.env }}\\n")]), module("two", [line("prod")]));
    const { assignments, operations } = made.test.orchestrator;
    await assignments.create(systemCaller, { name: "both", selector: "*", modules: ["one", "two"] });
    const node_id = made.agents[1]!.nodeId;
    await expect(operations.plan(systemCaller, { node_id })).rejects.toMatchObject(conflict);
    await made.test.orchestrator.agents.tags.set(systemCaller, { node_id, key: "env", value: "prod" });
    const applying = operations.apply(systemCaller, { node_id });
    await made.finish(made.agents[1]);
    expect(await applying).toMatchObject({ status: "succeeded" });
  });
});
