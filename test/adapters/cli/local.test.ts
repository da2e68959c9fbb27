import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { Operation } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import { runCommandLine } from "fleetwright/cli";
import { runIn, type CommandResult } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const web = `name: web
params: { to: { type: string, default: world } }
resources:
  - { type: directory, path: /srv }
  - { type: file, path: /srv/page, content: "hello {{ params.to }}\\n" }
  - { type: file, path: /srv/replica, content: "of the first\\n", when: "role=replica" }
`;
const motd = "name: motd\nresources:\n  - { type: file, path: /motd, content: hi }\n";

let folder: string;
let root: string;

beforeEach(() => {
  folder = temporaryFolder();
  root = temporaryFolder();
});

/** Writes modules into files and runs `fleetwright local` there. */
function local(...args: string[]): Promise<CommandResult> {
  return runIn(folder, ["local", ...args, "--root", root], undefined, motd);
}

function moduleFile(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("this machine alone", () => {
  it("is planned, applied and looked after without a server", async () => {
    const file = moduleFile("web.yaml", web);
    const plan = await local("plan", file);
    expect(plan).toMatchObject({ code: 3, stderr: "" });
    expect(plan.stdout).toMatch(/plan succeeded \(2 to change, 1 skipped\)\n {2}operation [0-9a-f-]{36}\n$/);
    expect(existsSync(join(root, "srv"))).toBe(false);

    expect(await local("apply", file)).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(root, "srv/page"), "utf8")).toBe("hello world\n");
    expect((await local("apply", file)).stdout).toContain("apply succeeded (2 unchanged, 1 skipped)");
    expect(await local("drift")).toMatchObject({ code: 0 });
    writeFileSync(join(root, "srv/page"), "broken\n");
    const drift = await local("drift");
    expect(drift).toMatchObject({ code: 3, stdout: expect.stringContaining(": drifted (1 to change") });
  });

  it("is what it is now, not what it was at the last run", async () => {
    const facts = join(folder, "state/agent/attributes.d");
    const file = moduleFile(
      "row.yaml",
      "name: row\nresources:\n  - { type: file, path: /row, content: '{{ attributes.custom.row }}' }\n",
    );
    mkdirSync(facts, { recursive: true, mode: 0o755 });
    for (const row of ["4", "5", "6"]) {
      writeFileSync(join(facts, "rack"), `#!/bin/sh\nsleep 1; echo '{ "row": "${row}" }'\n`, { mode: 0o755 });
      expect(await local("apply", file, "--state-dir", join(folder, "state"))).toMatchObject({ code: 0 });
      expect(readFileSync(join(root, "row"), "utf8")).toBe(row);
    }
  });

  it("gets params and tags from options, and tags only for this run", async () => {
    const file = moduleFile("web.yaml", web);
    expect(await local("apply", file, "--param", "to=you", "--tag", "role=replica")).toMatchObject({
      code: 0,
    });
    expect(readFileSync(join(root, "srv/page"), "utf8")).toBe("hello you\n");
    expect(existsSync(join(root, "srv/replica"))).toBe(true);
    expect((await local("plan", file)).stdout).toMatch(
      /\. file +\/srv\/replica +none +web {2}condition: when: "role=replica": role is not set\n/,
    );
    expect(await local("plan", file, "--tag", "role")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("key=value"),
    });
  });

  it("is what the files say and nothing else: what an earlier apply made is taken back", async () => {
    writeFileSync(join(root, "motd"), "before");
    expect(await local("apply", moduleFile("web.yaml", web), "-")).toMatchObject({ code: 0 });
    expect(readFileSync(join(root, "motd"), "utf8")).toBe("hi");
    expect(await local("apply", "-")).toMatchObject({ code: 0 });
    expect(existsSync(join(root, "srv"))).toBe(false);

    expect(await local("apply")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("EMPTY_DESIRED_STATE"),
    });
    expect(await local("apply", "--allow-empty")).toMatchObject({ code: 0 });
    expect(readFileSync(join(root, "motd"), "utf8")).toBe("before");
  });

  it("asks at a terminal before it takes something back", async () => {
    const file = moduleFile("web.yaml", web);
    const at = (typed: string, ...args: string[]): Promise<CommandResult> =>
      runIn(folder, ["local", "apply", ...args, "--root", root], undefined, { typed });
    expect(await at("", file)).toMatchObject({ code: 0, stderr: "" });
    const shorter = moduleFile("shorter.yaml", web.replace(/.*page.*\n/, ""));
    const no = await at("n", shorter);
    expect(no).toMatchObject({ code: 1, stdout: "" });
    expect(no.stderr).toMatch(
      /: 1 to remove, .*\n {2}- file {2}\/srv\/page {2}remove {2}web\nRemove it\? \[y\/N\] /,
    );
    expect(existsSync(join(root, "srv/page"))).toBe(true);
    expect(await at("y", shorter)).toMatchObject({ code: 0 });
    expect(existsSync(join(root, "srv/page"))).toBe(false);
    expect(await at("", "--allow-empty", "--yes")).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(join(root, "srv"))).toBe(false);
  });

  it("takes a module without a param that the last run gave", async () => {
    expect(await local("apply", moduleFile("web.yaml", web), "--param", "to=you")).toMatchObject({ code: 0 });
    const fixed = web.replace(/^params.*\n/m, "").replace("{{ params.to }}", "all");
    expect(await local("apply", moduleFile("web.yaml", fixed))).toMatchObject({ code: 0 });
    expect(readFileSync(join(root, "srv/page"), "utf8")).toBe("hello all\n");
  });

  it("answers programs in JSON", async () => {
    const { stdout } = await runIn(folder, ["--json", "local", "plan", "-", "--root", root], undefined, motd);
    expect(JSON.parse(stdout) as Operation).toMatchObject({
      kind: "plan",
      status: "succeeded",
      counts: { would_change: 1 },
      resources: [{ identity: "/motd", outcome: "would_change" }],
    });
  });
});

it("takes modules that require each other in any order of their files", async () => {
  const top = moduleFile("top.yaml", "name: top\nrequires: [mid]\nresources: []\n");
  const mid = moduleFile("mid.yaml", "name: mid\nrequires: [motd]\nresources: []\n");
  const low = moduleFile("low.yaml", motd);
  expect(await local("plan", top, low)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/top\.yaml: .*2:12 requires\.0 There is no module "mid"/),
  });
  expect(await local("plan", top, mid, low)).toMatchObject({ code: 3, stderr: "" });
});

it("ends what runs for longer than --timeout says, and fails then", async () => {
  const [pid, done] = [join(root, "pid"), join(root, "done")];
  const run = `echo $$ > '${pid}'; sleep 60; touch '${done}'`;
  const slow = `name: slow\nresources:\n  - { id: slow, type: script, run: "${run}", creates: "${done}" }\n`;
  const { code, stdout } = await local("apply", moduleFile("slow.yaml", slow), "--timeout", "1");
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining("TIMEOUT") as string });
  expect(Number(readFileSync(pid, "utf8"))).toBeGreaterThan(1);
  const isAlive = (): boolean => {
    try {
      return process.kill(Number(readFileSync(pid, "utf8")), 0);
    } catch {
      return false;
    }
  };
  await expect.poll(isAlive).toBe(false);
  expect(existsSync(done)).toBe(false);
});

it("a check that can't tell whether the machine has drifted fails, as drift does not", async () => {
  expect(await local("apply", moduleFile("web.yaml", web))).toMatchObject({ code: 0 });
  rmSync(join(root, "srv"), { recursive: true });
  // What is outside of the root is nobody's to look at.
  symlinkSync(temporaryFolder(), join(root, "srv"));
  expect(await local("drift")).toMatchObject({ code: 1, stdout: expect.stringContaining(": failed") });
});

describe("what is refused", () => {
  it("is a file with faults, one that is not there, and a check before the first apply", async () => {
    const bad = moduleFile("bad.yaml", "name: bad\nresources:\n  - { type: file, path: relative }\n");
    expect(await local("apply", bad)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/MODULE_INVALID: .*bad\.yaml: .* 3:25 resources\.0\.path must be/),
    });
    expect(await local("apply", join(folder, "none.yaml"))).toMatchObject({ code: 2 });
    expect(await local("drift")).toMatchObject({ code: 1, stderr: expect.stringContaining("NO_BASELINE") });
  });

  it("is a module that two files hold: only the later would count", async () => {
    const [one, two] = [moduleFile("one.yaml", motd), moduleFile("two.yaml", motd.replace("hi", "ho"))];
    expect(await local("apply", one, two)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/one\.yaml and .*two\.yaml both are the module motd/),
    });
    expect(existsSync(join(root, "motd"))).toBe(false);
  });

  it("is a second process in the same folder", async () => {
    const stateDir = join(folder, "state");
    expect(await local("plan", "-", "--state-dir", stateDir)).toMatchObject({ code: 3 });
    const other = createAgent({ url: "ws://127.0.0.1:1", stateDir: join(stateDir, "agent"), root });
    await other.start();
    try {
      expect(await local("plan", "-", "--state-dir", stateDir)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("STORAGE_LOCKED"),
      });
    } finally {
      await other.stop();
    }
  });
});

describe("a signal", () => {
  it("ends the apply after the change in progress, and the next one does the rest", async () => {
    const file = moduleFile(
      "slow.yaml",
      `name: slow
resources:
  - { id: first, type: script, run: "echo begun; while [ ! -e '${root}/go' ]; do sleep 0.05; done; touch '${root}/first'", creates: "${root}/first" }
  - { id: second, type: script, run: "touch '${root}/second'", creates: "${root}/second" }
`,
    );
    let stdout = "";
    let signal: () => void = () => {};
    const signalled = new Promise<void>((resolve) => (signal = resolve));
    const args = ["local", "apply", file];
    const environment = { FLEETWRIGHT_HOME: join(folder, "home") };
    const rest = { environment, stderr: () => {}, readInput: () => Promise.resolve("") };
    const code = await runCommandLine(args, {
      ...rest,
      stdout(text) {
        stdout += text;
        if (!text.includes("first | begun")) return;
        signal();
        // Whoever waits for the signal has heard it by then.
        setTimeout(() => writeFileSync(join(root, "go"), ""), 100);
      },
      untilStopped: () => signalled,
      untilHurried: (unwanted) =>
        new Promise((resolve) => unwanted.addEventListener("abort", () => resolve())),
    });
    expect(code).toBe(1);
    expect(stdout).toContain("apply interrupted (1 changed, 1 skipped)");
    expect([existsSync(join(root, "first")), existsSync(join(root, "second"))]).toEqual([true, false]);

    expect(await runIn(folder, args)).toMatchObject({ code: 0 });
    expect(existsSync(join(root, "second"))).toBe(true);
  });
});
