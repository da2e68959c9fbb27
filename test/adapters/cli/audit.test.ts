import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { AuditExport, MemoryStorage, systemCaller, toHex, toTimestamp } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { repository } from "../../architecture/source-tree.ts";
import { runIn, startCommandLine } from "../../support/command-line.ts";
import type { CommandLine } from "../../support/command-line.ts";

let clock: FakeClock;
let line: CommandLine;
let before: string;
let file: string;

/** A thousand events and more, so that they take several pages and several pieces of a file. */
const made = 1_200;

beforeEach(async () => {
  clock = new FakeClock();
  line = await startCommandLine({ clock });
  await line.print("login", "--key", line.key);
  const { audit } = line.server.orchestrator;
  for (let n = 0; n < made; n += 1) {
    if (n === 6) await clock.advance(1000);
    await audit.setRetention(systemCaller, { retention_days: 1 + (n % 3000) });
  }
  await clock.advance(1000);
  before = toTimestamp(clock.now());
  await audit.setRetention(systemCaller, { retention_days: null });
  file = join(line.folder, "old.jsonl");
});

const atTerminal = (typed: string, ...args: string[]) => runIn(line.folder, args, line.server.url, { typed });

async function countEvents(): Promise<number> {
  const { from_sequence, to_sequence } = await line.server.orchestrator.audit.verify(systemCaller);
  return to_sequence - from_sequence + 1;
}

const toText = (lines: string[]): string => lines.map((line) => `${line}\n`).join("");
const linesOf = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n");

describe("fleetwright audit list", () => {
  it("shows one category, newest or oldest first", async () => {
    const list = async (...args: string[]) => {
      const shown = await line.print("audit", "list", "--category", "access", "--json", ...args);
      return (JSON.parse(shown) as { items: { event_type: string }[] }).items.map((item) => item.event_type);
    };
    const newest = await list();
    expect(newest[0]).toBe("operator.signedIn");
    expect(newest.every((type) => type.startsWith("operator."))).toBe(true);
    expect(await list("--order", "asc")).toEqual(newest.toReversed());
    expect(await line.print("audit", "list", "--category", "terminal")).not.toContain("operator.");
    const refused = await line.run("audit", "list", "--category", "nonsense");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("category") as string });
  });
});

describe("fleetwright audit head", () => {
  it("is kept in a file, and found in the log as long as it is the same log", async () => {
    const head = join(line.folder, "head.json");
    expect(await line.print("audit", "head", "--file", head)).toContain(`${head} has the head: event `);
    expect(statSync(head).mode & 0o777).toBe(0o600);
    expect(await line.print("audit", "head")).toBe(readFileSync(head, "utf8"));
    await line.server.orchestrator.audit.setRetention(systemCaller, { retention_days: 9 });
    expect(await line.print("audit", "verify", "--head", head)).toMatch(
      /^The log is whole: .*\nThe head is in it: event \d+ of 2030-/,
    );
    const { sequence, ...rest } = JSON.parse(readFileSync(head, "utf8")) as { sequence: number };
    const forged = join(line.folder, "forged.json");
    writeFileSync(forged, JSON.stringify({ ...rest, sequence: sequence - 1 }));
    const refused = await line.run("audit", "verify", "--head", forged);
    expect(refused).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("not signed") as string,
    });
  });

  it("fails where it can't be compared any more, or belongs to another server", async () => {
    const head = join(line.folder, "head.json");
    await line.print("audit", "head", "--file", head);
    await clock.advance(2000);
    await line.print("audit", "prune", "--before", toTimestamp(clock.now() - 1000), "--yes");
    await clock.advance(2000);
    await line.print("audit", "prune", "--before", toTimestamp(clock.now() - 1000), "--yes");
    const pruned = await line.run("audit", "verify", "--head", head);
    expect(pruned).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("The head can't be compared") as string,
    });
    const other = await startCommandLine();
    await other.print("login", "--key", other.key);
    const elsewhere = await other.run("audit", "verify", "--head", head);
    expect(elsewhere).toMatchObject({ code: 1, stderr: expect.stringContaining("not signed") as string });
    const key = toHex(line.server.orchestrator.publicKey);
    const given = await other.run("audit", "verify", "--head", head, "--orchestrator-key", key);
    expect(given).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/This is another log, or its end is missing/) as string,
    });
    expect((await line.run("audit", "verify", "--head", head, file)).code).toBe(2);
  });
});

describe("fleetwright audit prune", () => {
  it("says how many events would go, and removes them only for a yes", async () => {
    const all = await countEvents();
    const question = `Remove ${(all - 1).toLocaleString("en-US")} events up to `;
    for (const answer of ["", "n\n", "no\n", "yesterday\n", "Y e s\n"]) {
      const refused = await atTerminal(answer, "audit", "prune", "--before", before);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain(question);
      expect(refused.stderr).toContain("? [y/N] ");
      expect(refused.stderr).toContain("Nothing was changed.");
    }
    expect(await countEvents()).toBe(all);
    const done = await atTerminal("y\n", "audit", "prune", "--before", before);
    expect(done).toMatchObject({ code: 0, stdout: `${(all - 1).toLocaleString("en-US")} events removed.\n` });
    expect(await line.print("audit", "verify")).toMatch(/^The log is whole/);
    expect(await countEvents()).toBe(2);
    expect(await line.print("audit", "prune", "--before", before)).toBe(
      `There is no event before ${before}.\n`,
    );
  });

  it("removes nothing where nobody can be asked, but for --yes", async () => {
    const all = await countEvents();
    const refused = await runIn(line.folder, ["audit", "prune", "--before", before], line.server.url, "y\n");
    expect(refused).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--yes") as string,
    });
    expect(await countEvents()).toBe(all);
    const done = await line.print("audit", "prune", "--before", before, "--yes", "--json");
    expect(JSON.parse(done)).toEqual({ deleted: all - 1 });
  });

  it("refuses a time in the future without asking", async () => {
    const all = await countEvents();
    const tomorrow = toTimestamp(clock.now() + 86_400_000);
    const refused = await line.run("audit", "prune", "--before", tomorrow, "--yes");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("in the future") as string });
    expect(await countEvents()).toBe(all);
  });

  it("removes only what was agreed to: another number of events meanwhile and nothing goes", async () => {
    const { audit } = line.server.orchestrator;
    const all = await countEvents();
    const prune = audit.prune.bind(audit);
    audit.prune = async (caller, input) => {
      const answer = await prune(caller, input);
      // Somebody else is faster, right after the question.
      audit.prune = prune;
      await prune(systemCaller, { before: toTimestamp(clock.now() - 1000) });
      return answer;
    };
    const refused = await line.run("audit", "prune", "--before", before, "--yes");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("COUNT_DIFFERS") as string });
    expect(await countEvents()).toBeGreaterThan(all - 20);
  });

  it("has them in a file first, whole and for its owner only, which can be verified without the server", async () => {
    const all = await countEvents();
    const said = await line.print("audit", "prune", "--before", before, "--yes", "--export", file);
    expect(said).toMatch(/events removed\.\n.*old\.jsonl has them, head [0-9a-f]{64}\.\n$/);
    expect(linesOf(file)).toHaveLength(all - 1);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await line.print("audit", "list", "--type", "audit.pruned", "-o", "wide")).toContain(
      `up to ${all - 1} were`,
    );
    const { items } = await line.server.orchestrator.audit.list(systemCaller, { event_type: "audit.pruned" });
    const head = items[0]?.metadata["through_hash"] as string;
    await line.server.close();
    const verified = await line.print("audit", "verify", file);
    expect(verified).toBe(`The export is whole: events 1 to ${all - 1}, head ${head}.\n`);
  });

  it("removes nothing where the file can't be made or written whole, and leaves no part of one", async () => {
    const all = await countEvents();
    writeFileSync(file, "something else");
    const taken = await line.run("audit", "prune", "--before", before, "--yes", "--export", file);
    expect(taken).toMatchObject({ code: 2, stderr: expect.stringContaining("EEXIST") as string });
    expect(readFileSync(file, "utf8")).toBe("something else");
    const missing = join(line.folder, "missing", "old.jsonl");
    const nowhere = await line.run("audit", "prune", "--before", before, "--yes", "--export", missing);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining("ENOENT") as string });
    const { audit } = line.server.orchestrator;
    const list = audit.list.bind(audit);
    audit.list = async (caller, input) => {
      const { items, next_cursor } = await list(caller, input);
      return { items: items.filter(({ sequence }) => sequence !== 777), next_cursor };
    };
    const other = join(line.folder, "other.jsonl");
    const broken = await line.run("audit", "prune", "--before", before, "--yes", "--export", other);
    expect(broken).toMatchObject({ code: 1, stderr: expect.stringContaining("778") as string });
    audit.list = list;
    expect(existsSync(other)).toBe(false);
    expect(readdirSync(line.folder).filter((name) => name.includes(".part"))).toEqual([]);
    expect(await countEvents()).toBe(all);
  });
});

describe("fleetwright audit retention", () => {
  const retention = async (): Promise<number | null> =>
    (await line.server.orchestrator.audit.getRetention(systemCaller)).retention_days;

  beforeEach(async () => {
    // What was made is five days old; every event is kept.
    clock.leap(5 * 86_400_000);
    await line.print("login", "--key", line.key);
  });

  it("says how many events a shorter one removes, and sets it only for a yes", async () => {
    const shorten = ["audit", "retention", "--days", "3"];
    for (const answer of ["", "n\n", "yesterday\n"]) {
      const refused = await atTerminal(answer, ...shorten);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toMatch(/^Remove 1,2\d\d events up to 2030-\S+\? \[y\/N\] /);
    }
    const nobody = await line.run(...shorten);
    expect(nobody).toMatchObject({ code: 2, stderr: expect.stringContaining("say --yes") as string });
    expect(await retention()).toBeNull();
    expect(await atTerminal("y\n", ...shorten)).toMatchObject({
      code: 0,
      stdout: "Events are kept for 3 days.\n",
    });
    expect(await line.print("audit", "retention", "--days", "2", "--yes")).toContain("2 days");
  });

  it("asks nothing where it is longer, or nothing would go", async () => {
    expect(await line.print("audit", "retention", "--days", "30")).toContain("30 days");
    expect(await line.print("audit", "retention", "--days", "20")).toContain("20 days");
    expect(await line.print("audit", "retention", "--days", "20")).toContain("20 days");
    expect((await line.run("audit", "retention", "--days", "3")).code).toBe(2);
    expect(await line.print("audit", "retention", "--days", "400")).toContain("400 days");
    expect(await line.print("audit", "retention", "--forever")).toBe("Every event is kept.\n");
  });

  it("sets nothing where somebody else set another while it asked", async () => {
    const { audit } = line.server.orchestrator;
    const prune = audit.prune.bind(audit);
    audit.prune = async (caller, asked) => {
      const answer = await prune(caller, asked);
      await audit.setRetention(systemCaller, { retention_days: 4 });
      return answer;
    };
    const refused = await atTerminal("y\n", "audit", "retention", "--days", "3");
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("PRECONDITION_FAILED") as string,
    });
    expect(await retention()).toBe(4);
  });
});

describe("fleetwright audit export", () => {
  it("and all else that docs/audit.md begins with does what it says, line by line", async () => {
    const page = readFileSync(join(repository, "docs/audit.md"), "utf8");
    const commands = /^```\n(fleetwright [^`]*)\n```$/m.exec(page)?.[1]?.split("\n") ?? [];
    expect(commands.length).toBeGreaterThan(6);
    for (const command of commands) {
      const [, ...words] = command.replaceAll("2026-01-01T00:00:00Z", before).split(" ");
      const args = words.map((word) => (/\.jsonl?$/.test(word) ? join(line.folder, word) : word));
      const isAsked = args[1] === "prune";
      await line.print(...args, ...(isAsked ? ["--yes"] : []));
    }
    expect(linesOf(join(line.folder, "all.jsonl")).length).toBeGreaterThan(made);
  });

  it("writes lines to standard output, or into a file, and removes nothing", async () => {
    const all = await countEvents();
    const printed = await line.print("audit", "export", "--before", before);
    await line.print("audit", "export", "--before", before, "--file", file);
    expect(readFileSync(file, "utf8")).toBe(printed);
    expect(linesOf(file)).toHaveLength(all - 1);
    expect(await countEvents()).toBe(all);
  });

  it("writes what may not be removed yet, up to any time", async () => {
    const young = await startCommandLine({ auditMinimumAgeDays: 30 });
    await young.print("login", "--key", young.key);
    const all = (await young.print("audit", "export")).trimEnd().split("\n");
    // When it happened: a busy machine writes it later.
    const times = all.map((text) => (JSON.parse(text) as { timestamp: string }).timestamp);
    const last = times.at(-1)!;
    const older = await young.run("audit", "export", "--before", last);
    const behind = times.findIndex((time) => time >= last);
    expect(older).toMatchObject({ code: 0, stdout: toText(all.slice(0, behind)) });
    const ahead = await young.print("audit", "export", "--before", "2999-01-01T00:00:00Z");
    expect(ahead.startsWith(toText(all))).toBe(true);
    expect(await young.print("audit", "export", "--before", "1999-01-01T00:00:00Z")).toBe("");
    expect(await young.run("audit", "prune", "--before", last, "--yes")).toMatchObject({ code: 1 });
  });

  it("writes all there is where no time is given, and then what came since", async () => {
    const { audit } = line.server.orchestrator;
    await line.print("audit", "export", "--file", file);
    expect(linesOf(file)).toHaveLength(await countEvents());
    await line.print("audit", "prune", "--before", before, "--yes");
    await audit.setRetention(systemCaller, { retention_days: 7 });
    const more = (await line.print("audit", "export", "--after", file)).trimEnd().split("\n");
    expect(more.map((text) => (JSON.parse(text) as { event_type: string }).event_type)).toEqual(
      expect.arrayContaining(["audit.pruned", "audit.retentionChanged"]),
    );
    await line.print("audit", "export", "--file", join(line.folder, "all.jsonl"));
    expect(linesOf(join(line.folder, "all.jsonl")).at(-1)).toBe(more.at(-1));
    expect(await line.print("audit", "verify", join(line.folder, "all.jsonl"))).toMatch(
      /^The export is whole/,
    );
  });

  it("goes on from file to file, and a change in any of them shows with its place", async () => {
    const { audit } = line.server.orchestrator;
    await line.print("audit", "prune", "--before", before, "--yes", "--export", file);
    const later = join(line.folder, "later.jsonl");
    await audit.setRetention(systemCaller, { retention_days: 7 });
    await clock.advance(1000);
    await line.print("audit", "export", "--before", toTimestamp(clock.now()), "--file", later);
    expect(await line.print("audit", "verify", file, later)).toContain("is whole: events 1 to ");
    expect(await line.run("audit", "verify", later, file)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("line 1 of") as string,
    });
    const lines = linesOf(file);
    lines[1_000] = lines[1_000]!.replace("Audit events are", "Audit events were");
    writeFileSync(file, `${lines.join("\n")}\n`);
    const changed = await line.run("audit", "verify", file, later);
    expect(changed.stdout).toContain(`line 1001 of ${file}`);
    expect(changed.code).toBe(1);
  });

  it("goes on behind an earlier export, also where that was cut off between two lines", async () => {
    const { audit } = line.server.orchestrator;
    await line.print("audit", "export", "--before", before, "--file", file);
    const cut = join(line.folder, "cut.jsonl");
    writeFileSync(cut, `${linesOf(file).slice(0, 700).join("\n")}\n`);
    await clock.advance(1000);
    const now = toTimestamp(clock.now());
    const rest = join(line.folder, "rest.jsonl");
    await line.print("audit", "export", "--before", now, "--after", cut, "--file", rest);
    expect(await line.print("audit", "verify", cut, rest)).toMatch(/is whole: events 1 to /);
    expect((JSON.parse(linesOf(rest)[0]!) as { sequence: number }).sequence).toBe(701);
    // Nothing is new: nothing is written.
    expect(await line.print("audit", "export", "--before", now, "--after", rest)).toBe("");
    expect(await line.print("audit", "export", "--before", before, "--after", rest)).toBe("");
    writeFileSync(cut, readFileSync(cut, "utf8").slice(0, -40));
    expect(await line.run("audit", "export", "--before", now, "--after", cut)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(`Line 700 of ${cut}`) as string,
    });
    await audit.prune(systemCaller, { before });
    // What was exported is all that was removed.
    const left = join(line.folder, "left.jsonl");
    await line.print("audit", "export", "--after", file, "--file", left);
    expect(await line.print("audit", "verify", file, left)).toMatch(/is whole: events 1 to /);
    writeFileSync(cut, `${linesOf(file).slice(0, 700).join("\n")}\n`);
    expect(await line.run("audit", "export", "--before", now, "--after", cut)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Events 701 to \d+, which would come next, were removed/) as string,
    });
    expect(await line.run("audit", "export", "--before", now, "--after", "/dev/null")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has no events") as string,
    });
  });

  it("fails where the earlier export is of another log", async () => {
    await line.print("audit", "export", "--before", before, "--file", file);
    const other = await startCommandLine({ clock });
    await other.print("login", "--key", other.key);
    for (let n = 0; n < 1_300; n += 1)
      await other.server.orchestrator.audit.setRetention(systemCaller, { retention_days: 7 });
    await clock.advance(1000);
    const refused = await other.run("audit", "export", "--before", toTimestamp(clock.now()), "--after", file);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("does not follow") as string });
  });

  it("ends a line where JSON does: what other programs take for a line break is text", async () => {
    const storage = new MemoryStorage();
    await using test = await createTestOrchestrator({ storage });
    const value = { event_type: "audit.pruned", metadata: {}, summary: "a\u2028b\u2029c\u0085d" };
    await storage.commit([{ kind: "append", log: "audit", at: 0, value }]);
    const { items } = await test.orchestrator.audit.list(systemCaller);
    const lines = new AuditExport({ sequence: 0, hash: "0".repeat(64) });
    writeFileSync(file, items.map((event) => `${lines.add(event)}\n`).join(""));
    expect(await line.print("audit", "verify", file)).toContain("is whole: events 1 to 1");
  });
});
