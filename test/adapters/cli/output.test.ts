import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { printerOf, toNames } from "../../../adapters/cli/output.ts";
import { startSignedIn, startSocketAgent } from "../../support/command-line.ts";

describe("--output", () => {
  it("prints agents as a table of 80 columns, whole, as JSON, as YAML and as names", async () => {
    const line = await startSignedIn();
    const { agent } = await startSocketAgent(line);
    const nodeId = agent.nodeId ?? "";
    await line.print("agents", "approve", nodeId, "--name", "web-1");
    const table = await line.print("agents", "list");
    expect(table).toContain(`\n${nodeId.slice(0, 8)}  web-1 `);
    expect(Math.max(...table.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(await line.print("agents", "list", "-o", "wide")).toContain(`\n${nodeId}  web-1 `);
    expect(await line.print("agents", "list", "-o", "name")).toBe(`${nodeId}\n`);
    expect(await line.print("agents", "show", "web-1", "-o", "name")).toBe(`${nodeId}\n`);
    const json = await line.print("agents", "show", "web-1", "-o", "json");
    expect(json).toBe(await line.print("agents", "show", "web-1", "--json"));
    expect(parse(await line.print("agents", "show", "web-1", "-o", "yaml"))).toEqual(JSON.parse(json));
    expect(await line.run("agents", "list", "-o", "xml")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Allowed choices are table, wide, json, yaml, name"),
    });
  });

  it("tells times as how long ago, and exactly where it is wide", async () => {
    const line = await startSignedIn();
    expect(await line.print("operators", "list")).toMatch(/ (now|\d+ s ago) /);
    expect(await line.print("operators", "list")).toMatch(/ADDED +LAST SIGN-IN\n/);
    expect(await line.print("operators", "list", "-o", "wide")).toMatch(/\d{4}-\d\d-\d\dT[\d:.]+Z/);
  });

  it("prints YAML that readers of YAML 1.1 take for the same", async () => {
    const tags = { no: "no", on: "yes", time: "12:30:00", day: "2026-11-25", octal: "0777", empty: "" };
    const printed = (await printerOf("yaml"))({ tags });
    expect(parse(printed, { version: "1.1" })).toEqual({ tags });
    expect(parse(printed)).toEqual({ tags });
  });

  it.each(["json", "yaml"] as const)("%s keeps what a terminal would obey as text", async (format) => {
    const hostile = { items: [{ name: "\u001b[2J\u009b31m\u202e😀\u{e0001}\tx\ny", "\u0007": 1 }] };
    const printed = (await printerOf(format))(hostile);
    expect(printed).not.toMatch(/[^\P{C}\n]/u);
    expect(format === "json" ? JSON.parse(printed) : parse(printed)).toEqual(hostile);
  });
});

describe("the name of a result", () => {
  const [operation_id, rollout_id, drift_id, session_id] = ["operation", "rollout", "drift", "session"];
  const [id, node_id, operator_id, name, key, path] = ["id", "node", "operator", "name", "key", "path"];
  it.each([
    ["an operation of a rollout", { node_id, rollout_id, operation_id, name }, "operation"],
    ["a rollout", { rollout_id, name, assignment: "web" }, "rollout"],
    ["a drift check", { drift_id, node_id }, "drift"],
    ["a terminal", { session_id, node_id, operator_id }, "session"],
    ["a window, threshold, channel, token or notification", { name, id, operator_id }, "id"],
    ["an agent", { name, node_id, key }, "node"],
    ["an operator", { name, key, operator_id }, "operator"],
    ["a module, assignment or secret", { name, path }, "name"],
    ["a tag", { key, value: "x" }, "key"],
    ["a file", { path }, "path"],
    ["a group of agents", { changes: "group", operation_id, rollout_id }, "group"],
    ["what has numbers in the place of names", { id: 7, name }, "name"],
  ])("of %s is its own, in whatever order its fields come", (_what, fields, own) => {
    expect(toNames(fields)).toBe(`${own}\n`);
    expect(toNames({ items: [Object.fromEntries(Object.entries(fields).toReversed()), fields] })).toBe(
      `${own}\n${own}\n`,
    );
  });
});

describe("a failure", () => {
  it("says that a command is missing", async () => {
    const { stderr } = await (await startSignedIn()).run("--json", "agents");
    expect(JSON.parse(stderr)).toMatchObject({ code: "USAGE", detail: expect.stringContaining("--help") });
  });

  it("is a problem object with --json, and with --output json", async () => {
    const { run } = await startSignedIn();
    for (const asked of [["--json"], ["--output", "json"], ["--output=json"], ["-ojson"]]) {
      const { code, stdout, stderr } = await run("modules", "show", "web", ...asked);
      expect([code, stdout]).toEqual([1, ""]);
      expect(JSON.parse(stderr)).toMatchObject({
        type: "/problems/not-found",
        status: 404,
        code: "NOT_FOUND",
        detail: expect.any(String) as string,
        exit_code: 1,
      });
    }
  });

  it.each([
    [["agents", "lst"], 2, "unknown command 'lst'"],
    [["agents", "list", "--limit", "many"], 2, "Not a whole number"],
    [["modules", "upload", "/nonexistent.yml"], 2, "/nonexistent.yml can't be read"],
  ])("of usage is one, too: %j", async (args, code, detail) => {
    const { run } = await startSignedIn();
    const told = await run(...args, "--json");
    expect(told.code).toBe(code);
    expect(JSON.parse(told.stderr)).toMatchObject({
      code: "USAGE",
      exit_code: code,
      detail: expect.stringContaining(detail) as string,
    });
  });

  it("of one of several things names it", async () => {
    const { run } = await startSignedIn();
    const { code, stderr } = await run("agents", "reject", "--yes", "web-1", "web-2", "--json");
    expect(code).toBe(1);
    const told = stderr
      .trimEnd()
      .split("\n")
      .map((each) => JSON.parse(each) as object);
    expect(told).toMatchObject([{ about: "web-1", code: "NOT_FOUND" }, { about: "web-2" }]);
  });
});

it("names of what was done to many leave out those for which nothing was", () => {
  const items = (["changed", "unchanged", "failed", "left_out"] as const).map((outcome) => ({
    node_id: outcome,
    outcome,
  }));
  expect(toNames({ items })).toBe("changed\nunchanged\n");
});
