import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runIn, startSignedIn, startSocketAgent } from "../../support/command-line.ts";
import type { CommandLine } from "../../support/command-line.ts";

const module = `name: web
resources:
  - { id: page, type: file, path: /page, content: "hello\\n" }
  - { id: reload, type: script, run: "echo reloaded", run_on: [page] }
`;

describe("the life of a machine on the command line", () => {
  it("goes from approval over plan, apply and drift to repair", async () => {
    const line = await startSignedIn();
    const { run, print } = line;
    const { agent, root } = await startSocketAgent(line);

    expect(await print("agents", "list")).toMatch(/\n\w{8} +\S+ +pending +yes/);
    expect(await print("agents", "approve", agent.nodeId ?? "", "--name", "web-1")).toBe(
      "web-1 is approved.\n",
    );
    expect(await print("tags", "set", "web-1", "env=prod", "role=web")).toBe("env=prod\nrole=web\n");
    await upload(line, module);
    await print("assignments", "create", "web", "--selector", "env=prod", "--module", "web");

    const plan = await run("plan", "web-1");
    expect(plan).toMatchObject({ code: 3, stderr: "" });
    expect(plan.stdout).toMatch(/^web-1: plan\n {2}\+ file +\/page +create +web\n/);
    expect(plan.stdout).toMatch(/\n {2}~ script {8}web\/reload {22}run {6}web {2}caused by page\n/);
    expect(plan.stdout).toContain("web-1: plan succeeded (2 to change)\n  operation ");
    expect(plan.stdout).toContain("        +hello\n");
    expect(await run("apply", "web-1")).toMatchObject({ code: 0 });
    expect(readFileSync(join(root, "page"), "utf8")).toBe("hello\n");
    expect(await run("plan", "web-1")).toMatchObject({ code: 0 });
    expect(await print("assignments", "apply", "web")).toContain("web: apply succeeded on 1 of 1 agent\n");
    expect(await run("drift", "web-1")).toMatchObject({ code: 0 });

    writeFileSync(join(root, "page"), "broken\n");
    const drift = await run("drift", "web-1");
    expect(drift).toMatchObject({ code: 3, stdout: expect.stringContaining("web-1: drifted") });
    expect(await print("apply", "web-1")).toMatch(/ {2}~ file +\/page +update +web\n/);
    expect(readFileSync(join(root, "page"), "utf8")).toBe("hello\n");

    const list = JSON.parse(await print("operations", "list", "--agent", "web-1", "--json")) as {
      items: { operation_id: string }[];
    };
    expect(list.items).toHaveLength(5);
    const newest = list.items[0]?.operation_id ?? "";
    expect(await print("operations", "output", newest)).toBe("== web/reload stdout\nreloaded\n");
    expect(await print("operations", "show", newest)).toContain(`operation ${newest}\n`);
    expect(await print("audit", "verify")).toMatch(/^The log is whole/);
    expect(await print("audit", "list", "--type", "agent.approved")).toContain("Agent web-1 was approved");
  });

  it("applies exactly what a plan said, with params, and refuses it once it is not true any more", async () => {
    const line = await startSignedIn();
    const { agent } = await startSocketAgent(line);
    await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
    const content =
      "name: greet\nparams: { to: { type: string } }\nresources:\n  - { type: file, path: /greeting, content: 'hi {{ params.to }}' }\n";
    await upload(line, content);
    const planned = await line.run("plan", "web-1", "--module", "greet", "--param", "to=you all");
    const [, id = ""] = /fleetwright apply --plan (\S+)\n/.exec(planned.stdout) ?? [];
    const wrong = await line.run("plan", "web-1", "--module", "greet", "--param", "to=1");
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("must be a text") as string });
    expect(await line.print("apply", "--plan", id)).toContain("+hi you all\n");
    expect(await line.run("apply", "web-1", "--plan", id)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("PLAN_STALE") as string,
    });
  });

  it("rejects strangers by where they come from, and asks for which", async () => {
    const line = await startSignedIn();
    await startSocketAgent(line);
    expect(await line.run("agents", "reject-pending")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Say which: --network, --disconnected, or --all."),
    });
    expect(await line.run("agents", "reject-pending", "--yes", "--network", "10.0.0.0/99")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("/network  an address or a network, such as 10.0.0.0/8"),
    });
    const reject = (...which: string[]) => line.print("agents", "reject-pending", "--yes", ...which);
    expect(await reject("--network", "203.0.113.0/24")).toBe("Rejected: 0\n");
    expect(await reject("--all", "--disconnected")).toBe("Rejected: 0\n");
    expect(await reject("--network", "127.0.0.0/8")).toBe("Rejected: 1\n");
    expect(await line.print("agents", "list")).toContain(" rejected ");
  });

  it("ends with 1 when an apply fails", async () => {
    const line = await startSignedIn();
    const { agent } = await startSocketAgent(line);
    await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
    await upload(line, "name: bad\nresources:\n  - { type: file, path: /no/folder, content: x }\n");
    const result = await line.run("apply", "web-1", "--module", "bad");
    expect(result).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/ {2}! file +\/no\/folder +create +bad {2}HOST_ERROR: missing:/),
    });
  });

  it("does not wait with --no-wait", async () => {
    const line = await startSignedIn();
    const { agent, root } = await startSocketAgent(line);
    await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
    const run = "while [ ! -e go ]; do sleep 0.02; done";
    await upload(line, `name: slow\nresources:\n  - { id: w, type: script, run: "${run}", creates: /go }\n`);
    const result = await line.run("apply", "web-1", "--module", "slow", "--no-wait", "--json");
    writeFileSync(join(root, "go"), "");
    expect(result.code).toBe(5);
    expect(["queued", "running"]).toContain((JSON.parse(result.stdout) as { status: string }).status);
  });
});

describe("a rollout on the command line", () => {
  it("goes in batches, is shown, paused, resumed and cancelled", async () => {
    const line = await startSignedIn();
    const { agent, root } = await startSocketAgent(line);
    await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
    const script = "while [ ! -e go ]; do sleep 0.02; done";
    await upload(
      line,
      `name: slow\nresources:\n  - { id: w, type: script, run: "${script}", creates: /go }\n`,
    );
    const strategy = ["--batch", "50%", "--canary", "1", "--max-failures", "2", "--pause", "3"];
    const schedule = ["--schedule", "0 4 * * *", "--time-zone", "Europe/Berlin", "--enforce"];
    const which = ["--selector", "*", "--module", "slow"];
    await line.print("assignments", "create", "slow", ...which, ...strategy, ...schedule);
    const shown = await line.print("assignments", "show", "slow");
    expect(shown).toMatch(/rollout +batch 50%, max failures 2, canary 1, pause seconds 3\n/);
    expect(shown).toMatch(/schedule +0 4 \* \* \* Europe\/Berlin\nnext run +\d{4}-.*\nenforced +yes\n/);

    const begun = await line.run(
      "assignments",
      "apply",
      "slow",
      "--no-wait",
      "--order",
      "shuffled",
      "--json",
    );
    expect(begun.code).toBe(5);
    const { rollout_id, rollout } = JSON.parse(begun.stdout) as { rollout_id: string; rollout: object };
    expect(rollout).toMatchObject({ batch: "50%", order: "shuffled" });
    expect(await line.print("rollouts", "pause", rollout_id)).toBe(`${rollout_id} is paused.\n`);
    expect(await line.print("rollouts", "resume", rollout_id)).toBe(`${rollout_id} is running.\n`);
    expect(await line.print("rollouts", "list", "--assignment", "slow")).toMatch(
      / slow +apply +running +1\/1 +1 running +(now|\d)/,
    );
    expect(await line.print("rollouts", "cancel", rollout_id)).toBe(`${rollout_id} is stopping.\n`);
    expect(await line.print("rollouts", "show", rollout_id)).toMatch(
      /reason +The rollout was cancelled by admin/,
    );
    writeFileSync(join(root, "go"), "");
  });

  it.each([["many"], ["10%%"], ["-1"]])("refuses a batch of %s as a usage error", async (batch) => {
    const line = await startSignedIn();
    expect(await line.run("assignments", "apply", "web", `--batch=${batch}`)).toMatchObject({ code: 2 });
  });
});

describe("a module with several faults", () => {
  it("is refused with the place of each, and nothing is stored", async () => {
    const line = await startSignedIn();
    const faulty = "name: web\nresources:\n  - { type: file, path: srv }\n  - { type: nope }\n";
    const result = await runIn(line.folder, ["modules", "upload", "-"], undefined, faulty);
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(
      /^fleetwright: MODULE_INVALID: The module has \d faults\.\n(?: {2}[34]:\d+ .+\n)+$/,
    );
    expect(await line.print("modules", "list", "--json")).toBe(
      '{\n  "items": [],\n  "next_cursor": null\n}\n',
    );
  });
});

describe("a command", () => {
  it.each([
    ["that nobody knows", ["nope"]],
    ["without its argument", ["apply"]],
    ["with an unknown option", ["agents", "list", "--nope"]],
    ["with a tag that is none", ["tags", "set", "web-1", "env"]],
    ["with a limit that is no number", ["agents", "list", "--limit", "many"]],
    ["about an unreadable file", ["modules", "upload", "/nonexistent.yml"]],
  ])("%s is a usage error", async (_, args) => {
    const line = await startSignedIn();
    expect(await line.run(...args)).toMatchObject({ code: 2, stdout: "" });
  });

  it("about an agent that is not there says so", async () => {
    const { run } = await startSignedIn();
    expect(await run("apply", "web-9")).toMatchObject({
      code: 1,
      stderr: 'fleetwright: NOT_FOUND: There is no agent "web-9".\n',
    });
  });

  it("shows help", async () => {
    const { run } = await startSignedIn();
    expect(await run("--help")).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("serve"),
    });
  });

  it("never lets a machine write to the terminal", async () => {
    const line = await startSignedIn();
    const { agent } = await startSocketAgent(line);
    await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
    const run = "printf '\\\\033[2Jgone\\\\007'";
    await upload(
      line,
      `name: evil\nresources:\n  - { id: e, type: script, run: "${run}; touch e", creates: /e }\n`,
    );
    const applied = await line.print("apply", "web-1", "--module", "evil", "--json");
    const { operation_id } = JSON.parse(applied) as { operation_id: string };
    expect(await line.print("operations", "output", operation_id)).toBe(
      "== evil/e stdout\n\\u{1b}[2Jgone\\u{7}\n",
    );
  });
});

async function upload({ folder }: CommandLine, content: string): Promise<void> {
  const result = await runIn(folder, ["modules", "upload", "-"], undefined, content);
  expect(result).toMatchObject({ code: 0, stderr: "" });
}
