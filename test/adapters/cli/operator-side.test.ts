/** Maintenance windows, channels, notifications and thresholds on the command line. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { addOperator } from "../../support/channel-scene.ts";
import { runIn, startCommandLine, type CommandLine } from "../../support/command-line.ts";
import { startReceiver } from "../../support/receiver.ts";
import { MemorySecretsKey } from "../../support/secrets-key.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** As tables have it. */
const shortOf = (id: string): string => id.slice(0, 13);

async function start(): Promise<CommandLine> {
  const commandLine = await startCommandLine({
    secretsKey: new MemorySecretsKey(),
    channelNetworks: ["127.0.0.1"],
  });
  await commandLine.print("login", "--key", commandLine.key);
  return commandLine;
}

describe("fleetwright windows", () => {
  it("sets, lists, shows, changes, ends and removes windows", async () => {
    const { print } = await start();
    const made = await print(
      "windows",
      "create",
      "--reason",
      "the database moves",
      "--mode",
      "freeze",
      "--for",
      "2h",
    );
    expect(made).toMatch(/Status +active/);
    const id = /[0-9a-f-]{36}/.exec(made)![0];
    expect(await print("windows", "list", "-o", "wide")).toMatch(
      new RegExp(`${id} +active +freeze +the whole fleet .*the database moves`),
    );
    expect(await print("windows", "update", id, "--mode", "mute", "--selector", "role=db")).toMatch(
      /mute[^]*role=db/,
    );
    expect(await print("windows", "update", id, "--whole-fleet")).toContain("the whole fleet");
    expect(await print("windows", "end", id)).toMatch(/Status +ended/);
    expect(await print("windows", "remove", "--yes", id)).toBe("The window is removed.\n");
    const recurring = ["--cron", "0 2 * * *", "--duration", "120", "--time-zone", "Europe/Berlin"];
    const nightly = await print("windows", "create", "--reason", "backups", "--mode", "mute", ...recurring);
    expect(nightly).toMatch(/Recurs +0 2 \* \* \* \(Europe\/Berlin\), 120 minutes/);
    expect(nightly.match(/T0[01]:00:00.000Z to /g)).toHaveLength(5);
  });

  it("says what is missing, and refuses times that nobody can place", async () => {
    const { run } = await start();
    const create = ["windows", "create", "--reason", "x", "--mode", "mute"];
    for (const [given, told] of [
      [[], "--for, --until or --cron"],
      [["--for", "soon"], "30m, 6h or 2d"],
      [["--for", "0m"], "30m, 6h or 2d"],
      [["--for", "999999999d"], "ends at no time"],
      [["--from", "9999-12-31T23:59:59Z", "--for", "92592592d"], "ends_at"],
      [["--until", "2030-01-01T00:00:00"], "with its zone"],
      [["--cron", "0 2 * * *"], "--cron and --duration"],
      [["--for", "2h", "--until", "2030-01-01T00:00:00Z"], "cannot be used with"],
      [["--until", "2001-01-01T00:00:00Z"], "ends_at"],
    ] as const) {
      const { code, stderr } = await run(...create, ...given);
      expect(code, given.join(" ")).not.toBe(0);
      expect(stderr).toContain(told);
    }
    for (const end of [
      ["--for", "2h"],
      ["--until", "2030-01-01T00:00:00Z"],
    ])
      expect(await run("windows", "update", "x", "--endless", ...end)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("cannot be used with"),
      });
  });
});

describe("fleetwright channels", () => {
  it.each(["123456", "true", "null"])("say how a text is given that reads as JSON: %s", async (topic) => {
    const { run, print } = await start();
    const options = ["--type", "ntfy", "--set", "server=https://ntfy.example"];
    const refused = await run("channels", "create", "Phone", ...options, "--set", `topic=${topic}`);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("VALIDATION_FAILED") });
    expect(refused.stderr).toMatch(
      /This must be text, not .+\. Text that reads as JSON is quoted: --set 'topic="TEXT"'\n/,
    );
    await print("channels", "create", "Phone", ...options, "--set", `topic="${topic}"`);
    const changed = await run("channels", "update", "Phone", "--set", `topic=${topic}`);
    expect(changed.stderr).toContain(`--set 'topic="TEXT"'\n`);
    const other = await run("channels", "update", "Phone", "--set", "server=nowhere");
    expect(other.stderr).toContain("/config/server");
    expect(other.stderr).not.toContain("quoted");
    // What stands in a file is JSON, and nobody has to be told of quotes.
    const file = join(temporaryFolder(), "config");
    writeFileSync(file, JSON.stringify({ server: "https://ntfy.example", topic: 5 }));
    const inFile = await run("channels", "update", "Phone", "--config", file, "--set", "token=x");
    expect(inFile.stderr).toContain("/config/topic");
    expect(inFile.stderr).not.toContain("quoted");
    for (const set of ["prot=25", "priority=9", "tags=5"]) {
      const fault = await run("channels", "update", "Phone", "--set", set);
      expect(fault.stderr, set).toContain(`/config/${set.split("=")[0]}`);
      expect(fault.stderr, set).not.toContain("quoted");
    }
  });

  it("makes, tests, shows, changes and removes channels, and prints nothing secret", async () => {
    let status = 200;
    const { url, received } = await startReceiver((response) => {
      response.statusCode = status;
      response.end();
    });
    const { print, run, folder, server } = await start();
    const config = JSON.stringify({ url, headers: { authorization: "c4nary" } });
    const made = await runIn(
      folder,
      [
        "channels",
        "create",
        "On call",
        "--type",
        "webhook",
        "--config",
        "-",
        "--event",
        "agent.offline",
        "--event",
        "drift.*",
      ],
      server.url,
      config,
    );
    expect(made.stderr).toBe("");
    expect(made.stdout).toMatch(/Tells +agent.offline, drift.\* from info/);
    expect(await print("channels", "test", "On call")).toMatch(/^On call: delivered in \d+ ms\.\n$/);
    expect(received[0]!.headers.authorization).toBe("c4nary");
    status = 404;
    const failed = await run("channels", "test", "On call");
    expect([failed.code, failed.stdout]).toEqual([1, "On call: not delivered: it answered 404.\n"]);
    const changed = await print(
      "channels",
      "update",
      "On call",
      "--min-severity",
      "warning",
      "--disable",
      "--set",
      `url=${url}/x`,
    );
    expect(changed).toMatch(/Enabled +no/);
    expect(changed).toContain(`${url}/x`);
    const shown = (await print("channels", "show", "On call")) + (await print("channels", "list")) + changed;
    expect(shown).not.toContain("c4nary");
    status = 200;
    await print("channels", "test", "On call");
    expect(received.at(-1)).toMatchObject({ path: "/x", headers: { authorization: "c4nary" } });
    expect(await print("channels", "deliveries", "On call")).toContain("ID");
    expect(await print("channels", "remove", "--yes", "On call")).toBe("On call is removed.\n");
    const gone = await run("channels", "show", "On call");
    expect(gone.stderr).toContain('NOT_FOUND: There is no channel "On call".');
    expect(gone.code).toBe(1);
  });

  it("has the config that a file holds in the place of the one before, and what is set upon it", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    const { print, folder } = await start();
    const file = join(folder, "config");
    const config = (content: object): void => writeFileSync(file, JSON.stringify(content));
    config({ url, headers: { "x-old": "c4nary" } });
    await print("channels", "create", "a", "--type", "webhook", "--config", file);
    config({ url: `${url}/new` });
    await print("channels", "update", "a", "--config", file);
    await print("channels", "test", "a");
    await print("channels", "update", "a", "--config", file, "--set", `url=${url}/set`);
    await print("channels", "test", "a");
    expect(received.map(({ path }) => path)).toEqual(["/new", "/set"]);
    for (const { headers } of received) expect(headers).not.toHaveProperty("x-old");
  });

  it("refuses a config that is none, without a word of it", async () => {
    const { run, folder } = await start();
    const file = join(folder, "config");
    writeFileSync(file, "c4nary");
    const { code, stderr } = await run("channels", "create", "a", "--type", "webhook", "--config", file);
    expect([code, stderr]).toEqual([2, expect.stringContaining("no JSON object")]);
    expect(stderr).not.toContain("c4nary");
  });
});

describe("fleetwright notifications", () => {
  it("lists what one has not read, and marks it as read", async () => {
    const { print, server } = await start();
    await addOperator(server, "eva");
    const unread = await vi.waitFor(
      async () => {
        const printed = await print("notifications", "list", "--unread", "--output", "wide");
        expect(printed).toContain("eva");
        return printed;
      },
      { timeout: 30_000, interval: 200 },
    );
    const ids = unread.match(/^[0-9a-f-]{36}/gm) ?? [];
    expect(ids.length).toBeGreaterThan(0);
    expect(unread).toMatch(/ info +no +/);
    expect(await print("notifications", "read", ids[0]!)).toBe("1 marked as read.\n");
    expect(await print("notifications", "list", "--unread", "-o", "wide")).not.toContain(ids[0]!);
    expect(await print("notifications", "read-all")).toBe("All are marked as read.\n");
    expect(
      (await print("notifications", "list", "--unread", "-o", "wide")).match(/^[0-9a-f-]{36}/gm),
    ).toBeNull();
    expect(await print("notifications", "list", "--min-severity", "info", "-o", "name")).toContain(ids[0]!);
  });

  it("mutes kinds of them for oneself, and takes that back", async () => {
    const { print, run } = await start();
    expect(await print("notifications", "mute", "agent.online", "drift.*")).toBe(
      "Muted  agent.online, drift.*\nBelow  nothing\n",
    );
    expect(await print("notifications", "mute", "agent.*", "--below", "warning")).toBe(
      "Muted  agent.online, drift.*, agent.*\nBelow  all below warning\n",
    );
    expect(await print("notifications", "unmute", "agent.online", "agent.*")).toMatch(
      /Muted +drift\.\*\nBelow +all below warning/,
    );
    const refused = await run("notifications", "mute", "agent.gone");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("/muted_events/1") });
    expect(await print("notifications", "muted")).toMatch(/Muted +drift\.\*/);
    expect(await print("notifications", "unmute")).toBe("Muted  nothing\nBelow  nothing\n");
  });
});

describe("fleetwright thresholds", () => {
  it("sets, lists, shows, changes and removes thresholds", async () => {
    const { print } = await start();
    const disk = ["--metric", "mount.used_bytes", "--percent-of", "mount.total_bytes", "--above", "90"];
    const made = await print("thresholds", "create", "Disk full", ...disk, "--recover-at", "85");
    expect(made).toMatch(/Limit +mount\.used_bytes above 90 % of mount\.total_bytes\n/);
    expect(made).toMatch(/Alarm +after 300 s, warning\nRecovery +at 85, after 60 s\n/);
    const id = /[0-9a-f-]{36}/.exec(made)![0];
    expect(await print("thresholds", "list", "-o", "wide")).toMatch(
      new RegExp(`${id} +Disk full +mount.used_bytes above 90 .* 300 s +warning +the whole fleet`),
    );
    expect(await print("thresholds", "update", id, "--above", "95", "--selector", "role=db")).toMatch(
      /above 95 %[^]*at 85[^]*role=db/,
    );
    expect(await print("thresholds", "show", id)).toMatch(/Agents +role=db/);
    const plain = await print("thresholds", "update", id, "--no-percent-of", "--no-recover-at");
    expect(plain).toMatch(/Limit +mount\.used_bytes above 95\n[^]*Recovery +at 95,/);
    expect(await print("alarms")).not.toMatch(/\d/);
    expect(await print("thresholds", "remove", "--yes", id)).toBe("The threshold is removed.\n");
    expect(await print("thresholds", "list")).not.toContain(shortOf(id));
  });

  it.each([
    [["--metric", "load.1"], 2, "Give --above or --below."],
    [["--metric", "load.1", "--above", "1", "--below", "2"], 2, "cannot be used with"],
    [["--metric", "load.1", "--above", "much"], 2, "Not a number"],
    [["--metric", "Load 1", "--above", "1"], 1, "/metric"],
    [["--metric", "load.1", "--above", "1", "--for", "86401"], 2, "86400"],
    [["--metric", "load.1", "--above", "1", "--recover-at", "2"], 1, "/recovery_value"],
    [["--metric", "load.1", "--above", "1", "--selector", "role="], 1, "SELECTOR_INVALID"],
  ] as const)("refuses %j", async (given, code, told) => {
    const { run } = await start();
    const refused = await run("thresholds", "create", "Busy", ...given);
    expect(refused).toMatchObject({ code, stderr: expect.stringContaining(told) });
  });
});
