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
