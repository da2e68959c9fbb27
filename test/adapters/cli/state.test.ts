/** What is believed of a machine on the command line, and having it forget. */
import { beforeEach, describe, expect, it } from "vitest";
import type { BelievedState, OperationDetail } from "fleetwright";
import { describeState } from "../../../adapters/cli/show-state.ts";
import { servicesOf } from "../../../lib/orchestrator.ts";
import { startAskedFleet } from "../../support/asked-fleet.ts";
import type { AskedFleet } from "../../support/asked-fleet.ts";

let fleet: AskedFleet;
const has = (path: string): boolean => fleet.machines[0]?.has(path) === true;
beforeEach(async () => {
  fleet = await startAskedFleet();
  const page = "  - { id: page, type: file, path: /page, content: x }\n";
  const evil = `  - { id: evil, type: file, path: ${JSON.stringify("/e\u001b[2J")}, content: x }\n`;
  await fleet.uploadText(`name: web\nresources:\n${page}${evil}`);
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  await fleet.print("apply", "web-1");
});

it("state show has what goes first, then what comes and what is there", async () => {
  await fleet.uploadText("name: web\nresources:\n  - { id: new, type: file, path: /new, content: x }\n");
  const shown = await fleet.print("state", "show", "web-1");
  expect(shown).toMatch(
    /^agent +web-1\nas of +\d{4}-\S+\noperation +\S+\nresources +2 to remove, 1 to apply, 2 applied\n/,
  );
  const [, removals, missing, applied] = shown.split("\n\n");
  expect(removals).toMatch(/^To remove, with the next apply:\nRESOURCE +TYPE +ON THE MACHINE\n/);
  expect(removals).toMatch(/\nweb\/evil +file +\/e\\u\{1b\}\[2J(\n|$)/);
  expect(missing).toMatch(/^To apply:\n.*\nweb\/new +file +\/new$/);
  expect(applied).toMatch(/^Applied:\n/);
  expect(JSON.parse(await fleet.print("state", "show", "web-1", "--json"))).toMatchObject({
    unapplied: [{ resource_id: "new" }],
  });
});

describe("modules in state show", () => {
  it("stand with their revision and with who brings them", async () => {
    await fleet.upload("base", "/base");
    await fleet.uploadText(
      `name: app\nparams:\n  tls: { type: boolean }\n  port: { type: integer }\n` +
        `resources:\n  - { id: app, type: file, path: /app, content: "{{ params.port }} {{ params.tls }}" }\n`,
    );
    const values = ["--param", "port=8443", "--param", "tls=true"];
    await fleet.print("apply", "web-1", "--module", "app@1", ...values, "--yes");
    await fleet.print("apply", "web-1", "--module", "base", "--module", "web", "--yes");
    const shown = await fleet.print("state", "show", "web-1");
    expect(shown.split("\n\n").at(-1)).toBe(
      "Modules:\n" +
        "MODULE  REVISION  BROUGHT BY\n" +
        "app     1         a call (@1; params port, tls)\n" +
        "base    1         a call\n" +
        "web     1         web, a call\n",
    );
    expect(shown).not.toContain("8443");
    expect(shown).not.toContain("can't be worked out");
  });
});

describe("describeState", () => {
  const state = { node_id: "0", as_of: null, applied: [], pending_removals: [], unapplied: [], modules: [] };

  it("tells a module that is to go, one that never came to be, and nothing of none", () => {
    const going = { name: "going", revision_applied: 3, assignments: [], leaving: true as const };
    const coming = { name: "coming", assignments: ["a", "b"], named: { params: ["port"] } };
    expect(describeState("web-1", { ...state, modules: [going, coming] })).toMatch(
      /\ngoing +3 \(leaving\) +-\ncoming +- +a, b, a call \(params port\)\n$/,
    );
    const { modules: _, ...older } = state;
    for (const bare of [state, older as object as BelievedState])
      expect(describeState("web-1", bare)).toMatch(/\nresources +0 to remove, 0 to apply, 0 applied\n$/);
  });

  it("keeps what a server says of an error on one line", () => {
    const error = { code: "TEMPLATE_FAILED", message: "a\u001b[2J\nb" };
    expect(describeState("web-1", { ...state, error })).toMatch(
      /\nWhat is desired can't be worked out: TEMPLATE_FAILED: a\\u\{1b\}\[2J\\nb\n$/,
    );
  });
});

describe("where what is desired can't be worked out", () => {
  beforeEach(async () => {
    await fleet.upload("app", "/old");
    await fleet.upload("app", "/new");
    await fleet.print("apply", "web-1", "--module", "app@2", "--yes");
    await fleet.print("modules", "remove", "--yes", "app");
    await fleet.upload("app", "/other");
  });

  it("state show says why, in one line, and tells what is applied", async () => {
    const shown = await fleet.print("state", "show", "web-1");
    expect(shown).toMatch(
      /\nresources +3 applied\nWhat is desired can't be worked out: NOT_FOUND: There is no module app in revision 2\.\n\nApplied:\n/,
    );
    expect(shown).toMatch(/\napp +2 +a call \(@2\)\n/);
  });

  it("state forget asks as ever, and what it forgets is the way out", async () => {
    const { code, stderr } = await fleet.answer("y", "state", "forget", "web-1", "app");
    expect(stderr).toMatch(/\n {2}app\/\S+ {2}file {2}\/new\nForget them\? \[y\/N\] $/);
    expect(code).toBe(0);
    expect(await fleet.print("state", "show", "web-1")).not.toMatch(/can't be worked out|\napp /);
    expect(has("new")).toBe(true);
  });
});

it("state forget asks though the state can't be read", async () => {
  const { storage } = servicesOf(fleet.server.orchestrator).operations.parts.context;
  const [{ operation_id } = { operation_id: "" }] = await fleet.operations("apply");
  const { value, revision } = (await storage.get("operations", operation_id))!;
  const lost = { ...value, snapshot: "0".repeat(64) };
  await storage.commit([
    { kind: "put", collection: "operations", key: operation_id, value: lost, expected: revision },
  ]);
  expect(await fleet.run("state", "show", "web-1")).toMatchObject({ code: 1 });
  const no = await fleet.answer("n", "state", "forget", "web-1", "web/page");
  expect(no.stderr).toMatch(
    /\n {2}web\/page\nWhat it has can't be told: STORAGE_CORRUPT: .+\nForget them\? \[y\/N\] fleetwright: Nothing was forgotten\.\n$/,
  );
  expect(await fleet.operations("forget")).toEqual([]);
  expect(await fleet.answer("y", "state", "forget", "web-1", "web/page")).toMatchObject({ code: 0 });
});

describe("state forget", () => {
  it("asks at a terminal, and a no leaves everything owned", async () => {
    const { code, stdout, stderr } = await fleet.answer(
      "n",
      "state",
      "forget",
      "web-1",
      "web",
      "old/\u001b[2J",
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      "web-1 is to forget these, and to leave what is on the machine as it is:\n" +
        "  web/page  file  /page\n  web/evil  file  /e\\u{1b}[2J\n  old/\\u{1b}[2J\n" +
        "Forget them? [y/N] fleetwright: Nothing was forgotten.\n",
    );
    expect(await fleet.operations("forget")).toEqual([]);
  });

  it("drops ownership after a yes, and touches nothing", async () => {
    const { code, stdout } = await fleet.answer("y", "state", "forget", "web-1", "web/page");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^web-1: forget succeeded \(1 forgotten\)\n {2}~ file {2}\/page {2}forget {2}web\n/,
    );
    expect(has("page")).toBe(true);
    await fleet.uploadText("name: web\nresources: []\n");
    await fleet.print("apply", "web-1", "--allow-empty");
    expect([has("page"), has("e\u001b[2J")]).toEqual([true, false]);
  });

  it("asks nobody with --yes, with --json and without a terminal, and says what is not owned", async () => {
    expect(await fleet.answer("", "state", "forget", "web-1", "web/page", "--yes")).toMatchObject({
      code: 0,
      stderr: "",
    });
    const json = await fleet.answer("", "state", "forget", "web-1", "web/evil", "--json");
    expect(JSON.parse(json.stdout) as OperationDetail).toMatchObject({ kind: "forget", status: "succeeded" });
    expect(await fleet.run("state", "forget", "web-1", "web/page")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "NOT_FOUND: The agent owns no web/page. Nothing was forgotten.",
      ) as string,
    });
  });
});
