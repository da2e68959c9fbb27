import { readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ShownStep } from "../../../adapters/cli/show-sync.ts";
import { startCommandLine, startSignedIn, type CommandLine } from "../../support/command-line.ts";
import { baseModule, makeFolder, operatorKey, putFile, wholeFleet } from "../../support/fleet-folder.ts";
import { MemorySecretsKey } from "../../support/secrets-key.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function replace(folder: string, path: string, [before, after]: [string, string]): void {
  const text = readFileSync(join(folder, path), "utf8");
  expect(text).toContain(before);
  writeFileSync(join(folder, path), text.replace(before, after));
}

async function planned(
  { run }: CommandLine,
  folder: string,
  ...args: string[]
): Promise<{ code: number; steps: string[]; removals: string[]; unmanaged: number }> {
  const { code, stdout, stderr } = await run("--json", "sync", "plan", folder, ...args);
  expect(stderr).toBe("");
  const { steps, removals, unmanaged } = JSON.parse(stdout) as Record<string, ShownStep[]>;
  const shown = ({ action, kind, name, changes }: ShownStep): string =>
    [action, kind, name, ...changes.map(({ field }) => field)].join(" ");
  return {
    code,
    steps: steps!.map(shown),
    removals: removals!.map(shown),
    unmanaged: unmanaged!.length,
  };
}

describe("a fleet folder beside a server", () => {
  it("is planned, applied in the order of what needs what, and then makes no difference", async () => {
    const line = await startSignedIn();
    const folder = makeFolder(wholeFleet);
    const before = await line.run("sync", "plan", folder);
    expect(before.stdout).toMatchInlineSnapshot(`
      "+ module      base     create
      + module      web      create
      + assignment  web      create
      + window      nightly  create
      + channel     on-call  create
      + threshold   disk     create
      + operator    ada      create
      7 to create
      "
    `);
    expect(before.code).toBe(3);
    const applied = await line.run("sync", "apply", folder);
    expect(applied).toMatchInlineSnapshot(`
      {
        "code": 0,
        "stderr": "",
        "stdout": "+ module  base  create
      + module  web  create
      + assignment  web  create
      + window  nightly  create
      + channel  on-call  create
      + threshold  disk  create
      + operator  ada  create
      Done: 7 created
      ",
      }
    `);
    expect(await planned(line, folder)).toEqual({ code: 0, steps: [], removals: [], unmanaged: 0 });
    const after = await line.run("sync", "plan", folder);
    expect(after).toEqual({ code: 0, stdout: "The server is as the folder says.\n", stderr: "" });
  });

  it("changes the fields that differ and takes away what is not said any more", async () => {
    const line = await startSignedIn();
    const folder = makeFolder(wholeFleet);
    await line.print("sync", "apply", folder);
    replace(folder, "modules/web.yaml", ["hello", "good day"]);
    replace(folder, "assignments.yaml", ['    schedule: { cron: "0 4 * * *" }\n', "    enforce: true\n"]);
    replace(folder, "rest.yaml", ["    percent_of: mount.total_bytes\n", ""]);
    replace(folder, "rest.yaml", ["role: Operator", "role: Viewer"]);
    replace(folder, "rest.yaml", ["reason: backups", "reason: all backups"]);
    const plan = await planned(line, folder);
    expect(plan.steps).toEqual([
      "change modules web content",
      "change assignments web schedule enforce",
      "change windows nightly reason",
      "change thresholds disk percent_of",
      "change operators ada role",
    ]);
    await line.print("sync", "apply", folder);
    expect(await planned(line, folder)).toMatchObject({ code: 0, steps: [] });
    const shown = JSON.parse(await line.print("--json", "assignments", "show", "web")) as object;
    expect(shown).toMatchObject({ enforce: true, managed_by: { label: "shop", name: "web" } });
    expect(shown).not.toHaveProperty("schedule");
  });

  it("removes what it does not have any more only where that is asked for, and nothing of others", async () => {
    const line = await startSignedIn();
    const folder = makeFolder(wholeFleet);
    await line.print("sync", "apply", folder);
    await line.print("modules", "upload", join(folder, "modules/more/base.yml"));
    const other = makeFolder({ "other.yaml": "name: other\nresources: []\n" });
    await line.print("modules", "upload", join(other, "other.yaml"));
    for (const file of ["modules", "assignments.yaml", "rest.yaml"])
      rmSync(join(folder, file), { recursive: true });
    const plan = await planned(line, folder);
    expect(plan.removals).toEqual([
      "remove operators ada",
      "remove thresholds disk",
      "remove channels on-call",
      "remove windows nightly",
      "remove assignments web",
      "remove modules web",
      "remove modules base",
    ]);
    expect(plan.code).toBe(3);
    const kept = await line.run("sync", "apply", folder);
    expect(kept.stdout).toBe("Nothing was to be changed.\n");
    expect(kept.stderr).toBe("Left, for --prune was not given: 7 to remove\n");
    const emptied = await line.run("sync", "apply", folder, "--prune");
    expect(emptied).toEqual({
      code: 1,
      stdout: "",
      stderr: `fleet.yaml:1:8: VALIDATION_FAILED label: The folder has nothing any more: --prune would remove all 7 things that it managed. --allow-empty does so.
fleetwright: The folder has a fault. Nothing was changed.
`,
    });
    const pruned = await line.run("sync", "apply", folder, "--prune", "--allow-empty");
    expect(pruned.stdout).toContain("Done: 7 removed\n");
    expect(pruned.stderr).toBe("");
    expect(await planned(line, folder)).toMatchObject({ code: 0, removals: [] });
    expect(await line.print("modules", "list")).toContain("other");
  });

  it("leaves alone what another folder or nobody manages, until it takes it over", async () => {
    const line = await startSignedIn();
    const shop = makeFolder(wholeFleet);
    await line.print("sync", "apply", shop);
    const other = makeFolder({ ...wholeFleet, "fleet.yaml": "label: office\n" });
    const refused = await line.run("sync", "apply", other, "--yes");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      "assignments.yaml:2:3: ALREADY_EXISTS assignments.web: The folder shop manages the assignment web of the server.",
    );
    expect(await planned(line, shop)).toMatchObject({ code: 0, steps: [], removals: [] });
    const taken = await planned(line, other, "--take-over");
    expect(taken.steps).toContain("change assignments web managed_by");
    await line.print("sync", "apply", other, "--take-over");
    expect(await planned(line, other)).toMatchObject({ code: 0 });
    const fight = await line.run("sync", "plan", shop);
    expect(fight.code).toBe(1);
    expect(fight.stderr).toContain("The folder office manages");
  });

  it("takes nobody's own rights away", async () => {
    const line = await startSignedIn();
    const { username, public_key } = (
      JSON.parse(await line.print("--json", "whoami")) as {
        operator: { username: string; public_key: string };
      }
    ).operator;
    const folder = makeFolder({
      "fleet.yaml": `label: shop\noperators:\n  ${username}: { public_key: ${public_key}, role: Admin }\n`,
    });
    await line.print("sync", "apply", folder, "--take-over");
    replace(folder, "fleet.yaml", ["Admin", "Viewer"]);
    const demoted = await line.run("sync", "apply", folder);
    expect(demoted.code).toBe(1);
    expect(demoted.stderr).toContain("You are signed in as this operator");
    writeFileSync(join(folder, "fleet.yaml"), "label: shop\n");
    const removed = await line.run("sync", "apply", folder, "--prune");
    expect(removed.code).toBe(1);
    expect(removed.stderr).toContain("You are signed in as an operator that would be removed");
    await line.print("operators", "list");
  });
});

describe("names alone, for other commands", () => {
  it("are those of the things of a check, a plan and an apply, and of the files of an export", async () => {
    const line = await startSignedIn();
    const folder = makeFolder(wholeFleet);
    const names = (...args: string[]): Promise<string> => line.print("sync", ...args, "-o", "name");
    expect(await names("check", folder)).toBe("web\nbase\nweb\nnightly\non-call\ndisk\nada\n");
    expect((await line.run("sync", "plan", folder, "-o", "name")).stdout).toBe(
      "base\nweb\nweb\nnightly\non-call\ndisk\nada\n",
    );
    expect(await names("apply", folder)).toBe("base\nweb\nweb\nnightly\non-call\ndisk\nada\n");
    replace(folder, "rest.yaml", ["reason: backups", "reason: all backups"]);
    const [id] = (await line.print("windows", "list", "-o", "name")).split("\n");
    const changed = await line.run("sync", "plan", folder, "-o", "name");
    expect(changed.stdout.startsWith(id!)).toBe(true);
    const exported = join(temporaryFolder(), "fleet");
    expect(await names("export", exported, "--label", "shop")).toContain(`${exported}/modules/web.yaml\n`);
    putFile(folder, "fleet.yaml", "label: Shop\n");
    const faulty = await line.run("sync", "check", folder, "-o", "name");
    expect(faulty).toMatchObject({ code: 1, stdout: "" });
    expect(faulty.stderr).toContain("fleet.yaml:1:8: VALIDATION_FAILED label:");
  });
});

describe("faults of a fleet folder", () => {
  it("are all told at once, with file, line, column and path, and nothing is changed", async () => {
    const line = await startSignedIn();
    const folder = makeFolder({
      "fleet.yaml": "label: shop\nasignments: {}\n",
      "modules/web.yaml": "name: web\nresources:\n  - type: fil\n    path: /x\n",
      "a.yaml": `assignments:
  web: { selector: role=web, modules: [web, wbe, basis] }
  Api: { selector: "role=", modules: [web], enfore: true }
operators:
  ada: { public_key: ${operatorKey} }
`,
      "b.yaml": `assignments:
  web: { selector: "*", modules: [web] }
operators:
  Ada: { public_key: short }
channels:
  chat: { name: Chat, type: slack, config: { url: https://hooks.slack.com/services/T0/B0/x } }
`,
    });
    await line.print("modules", "upload", join(makeFolder({ "base.yaml": baseModule }), "base.yaml"));
    symlinkSync("/etc/passwd", join(folder, "outside.yaml"));
    symlinkSync("/etc", join(folder, "outside"));
    putFile(folder, "huge.yaml", `# ${"x".repeat(600_000)}\n`);
    putFile(folder, "bytes.yaml", "");
    writeFileSync(join(folder, "bytes.yaml"), Buffer.from([0x61, 0xff, 0xfe]));
    putFile(folder, "evil\u001b[31m\nname.yaml", "- 1\n");
    const { code, stdout, stderr } = await line.run("sync", "apply", folder);
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatchInlineSnapshot(`
      "a.yaml:2:45: NOT_FOUND assignments.web.modules.1: There is no module wbe, neither in the folder nor on the server, did you mean web?
      a.yaml:2:50: NOT_FOUND assignments.web.modules.2: There is no module basis, neither in the folder nor on the server, did you mean base?
      a.yaml:3:3: VALIDATION_FAILED assignments.Api: "Api": 1-64 of a-z, 0-9, '.', '_', '-', starting with a letter or digit
      a.yaml:3:20: SELECTOR_INVALID assignments.Api.selector: The selector can't be read at column 6: a value is expected, not the end
      a.yaml:3:45: VALIDATION_FAILED assignments.Api.enfore: "enfore" is not known here, did you mean enforce?
      b.yaml:2:3: ALREADY_EXISTS assignments.web: The assignment web is declared in a.yaml:2:3 already.
      b.yaml:4:3: ALREADY_EXISTS operators.Ada: The operator Ada differs from ada of a.yaml:5:3 in case only.
      b.yaml:4:22: KEY_REFUSED operators.Ada.public_key: The public key is not 32 bytes in hex or base64.
      b.yaml:6:51: VALIDATION_FAILED channels.chat.config.url: The server reads it back to nobody, so that nobody could tell whether it differs: write secret:NAME, or ******** for what is there.
      bytes.yaml:1:1: VALIDATION_FAILED The file is no UTF-8 text.
      evil\\u{1b}[31m\\nname.yaml:1:1: VALIDATION_FAILED The file must be a map.
      fleet.yaml:2:1: VALIDATION_FAILED asignments: "asignments" is not known here, did you mean assignments?
      huge.yaml:1:1: VALIDATION_FAILED The file is larger than 512 KiB.
      modules/web.yaml:3:11: MODULE_INVALID resources.0.type: There is no resource type "fil", did you mean file?
      outside:1:1: VALIDATION_FAILED Links are not followed: have the file itself in the folder.
      outside.yaml:1:1: VALIDATION_FAILED Links are not followed: have the file itself in the folder.
      fleetwright: The folder has 16 faults. Nothing was changed.
      "
    `);
    expect(await line.print("assignments", "list")).not.toContain("web");
    const json = await line.run("--json", "sync", "plan", folder);
    const { faults } = JSON.parse(json.stdout) as { faults: object[] };
    expect(faults).toHaveLength(stderr.trim().split("\n").length - 1);
    expect(json.code).toBe(1);
  });

  it("are told where the server can't be asked, and by a check without one", async () => {
    const line = await startSignedIn();
    const folder = makeFolder({ "fleet.yaml": "label: Shop\n" });
    await line.server.close();
    const told =
      "fleet.yaml:1:8: VALIDATION_FAILED label: 1-64 of a-z, 0-9, '.', '_', '-', starting with a letter or digit\n";
    expect((await line.run("sync", "plan", folder)).stderr).toContain(told);
    const check = await line.run("sync", "check", folder);
    expect(check.stderr).toContain(told);
    expect(check.code).toBe(1);
    const sound = makeFolder({ "fleet.yaml": "label: shop\n" });
    expect((await line.run("sync", "check", sound)).code).toBe(0);
    expect((await line.run("sync", "plan", sound)).stderr).toContain("UNAVAILABLE");
  });

  it("are found in files whose names end in capitals, too", async () => {
    const { run } = await startCommandLine();
    const folder = makeFolder({ "fleet.YML": "label: shop\n", "modules/BASE.YAML": baseModule });
    expect(await run("sync", "check", folder)).toEqual({
      code: 0,
      stdout: `${folder}: shop, 1 thing, no fault\n`,
      stderr: "",
    });
    putFile(folder, "modules/late.Yaml", "name: Late\n");
    expect((await run("sync", "check", folder)).stderr).toContain(
      "modules/late.Yaml:1:7: MODULE_INVALID name",
    );
    expect((await run("module", "check", `${folder}/modules`)).stdout).toContain("modules/BASE.YAML: base, ");
  });

  it("are of its use where the folder is not there", async () => {
    const line = await startSignedIn();
    const missing = join(temporaryFolder(), "missing");
    const stderr = `fleetwright: ${missing} is not there.\n`;
    expect(await line.run("sync", "plan", missing)).toMatchObject({ code: 2, stdout: "", stderr });
    const file = join(makeFolder({ "web.yaml": "label: a\n" }), "web.yaml");
    expect((await line.run("sync", "check", file)).stderr).toBe(`fleetwright: ${file} is no folder.\n`);
  });
});

async function startWithSecrets(): Promise<CommandLine> {
  const line = await startCommandLine({ secretsKey: new MemorySecretsKey(1) });
  await line.print("login", "--key", line.key);
  return line;
}

async function filled(line: CommandLine): Promise<void> {
  await line.print("sync", "apply", makeFolder(wholeFleet));
  await line.print("windows", "create", "--reason", "ÄÖ: *evil* #", "--mode", "freeze", "--for", "2h");
  await line.print("windows", "create", "--reason", "ÄÖ: *evil* #", "--mode", "mute", "--for", "2h");
  await line.print(
    "channels",
    "create",
    "yes",
    "--type",
    "webhook",
    "--set",
    "url=https://hooks.example.com/b",
    "--set",
    "secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  );
  const secret = `name: secret\nresources:\n  - type: file\n    path: /k\n    sensitive: true\n    content: hunter2\n`;
  await line.print("modules", "upload", join(makeFolder({ "m.yaml": secret }), "m.yaml"));
}

describe("an export of a server", () => {
  it("makes no difference afterwards, and has nothing that is secret", async () => {
    const line = await startWithSecrets();
    await filled(line);
    const folder = join(temporaryFolder(), "fleet");
    const exported = await line.run("sync", "export", folder, "--label", "shop");
    expect(exported.code).toBe(0);
    expect(exported.stderr).toBe("Left out: modules.secret, since its text may hold a secret as it is.\n");
    const plan = await planned(line, folder);
    expect(plan).toEqual({ code: 0, steps: [], removals: [], unmanaged: 4 });
    const texts = exported.stdout
      .trim()
      .split("\n")
      .map((path) => readFileSync(path, "utf8"));
    expect(texts.join("\n")).not.toMatch(/hunter2|whsec_/);
    expect(texts.join("\n")).toContain('secret: "********"');
    for (const path of exported.stdout.trim().split("\n")) expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    await line.print("sync", "apply", folder, "--take-over");
    expect(await planned(line, folder)).toEqual({ code: 0, steps: [], removals: [], unmanaged: 0 });
  });

  it("leaves out what another folder manages", async () => {
    const line = await startSignedIn();
    await line.print("sync", "apply", makeFolder(wholeFleet));
    const folder = join(temporaryFolder(), "fleet");
    const { stderr } = await line.run("sync", "export", folder, "--label", "office");
    expect(stderr).toContain("Left out: assignments.web, since the folder shop manages it.\n");
    expect(await planned(line, folder)).toMatchObject({ code: 0, removals: [] });
  });

  it("goes into an empty folder, or where that is asked for", async () => {
    const line = await startSignedIn();
    const folder = makeFolder({ "README.md": "mine\n" });
    const refused = await line.run("sync", "export", folder, "--label", "shop");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("is not empty");
    await line.print("sync", "export", folder, "--label", "shop", "--overwrite");
    expect(readFileSync(join(folder, "README.md"), "utf8")).toBe("mine\n");
    const outside = temporaryFolder();
    rmSync(join(folder, "modules"), { recursive: true, force: true });
    symlinkSync(outside, join(folder, "modules"));
    await line.print("modules", "upload", join(makeFolder({ "base.yaml": baseModule }), "base.yaml"));
    const linked = await line.run("sync", "export", folder, "--label", "shop", "--overwrite");
    expect(linked.code).toBe(2);
    expect(linked.stderr).toContain("is no folder of its own");
  });
});
