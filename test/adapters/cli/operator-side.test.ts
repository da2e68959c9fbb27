/** Maintenance windows, channels and notifications on the command line. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { addOperator } from "../../support/channel-scene.ts";
import { runIn, startCommandLine, type CommandLine } from "../../support/command-line.ts";
import { startReceiver } from "../../support/receiver.ts";
import { MemorySecretsKey } from "../../support/secrets-key.ts";

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
    expect(await print("windows", "list")).toMatch(
      new RegExp(`${id} +active +freeze +the whole fleet .*the database moves`),
    );
    expect(await print("windows", "update", id, "--mode", "mute", "--selector", "role=db")).toMatch(
      /mute[^]*role=db/,
    );
    expect(await print("windows", "update", id, "--whole-fleet")).toContain("the whole fleet");
    expect(await print("windows", "end", id)).toMatch(/Status +ended/);
    expect(await print("windows", "remove", id)).toBe("The window is removed.\n");
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
      [["--until", "2030-01-01T00:00:00"], "with its zone"],
      [["--cron", "0 2 * * *"], "--cron and --duration"],
      [["--for", "2h", "--until", "2030-01-01T00:00:00Z"], "cannot be used with"],
      [["--until", "2001-01-01T00:00:00Z"], "ends_at"],
    ] as const) {
      const { code, stderr } = await run(...create, ...given);
      expect(code, given.join(" ")).not.toBe(0);
      expect(stderr).toContain(told);
    }
  });
});

describe("fleetwright channels", () => {
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
    expect(await print("channels", "remove", "On call")).toBe("On call is removed.\n");
    expect((await run("channels", "show", "On call")).stderr).toContain('There is no channel "On call".');
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
        const printed = await print("notifications", "list", "--unread");
        expect(printed).toContain("eva");
        return printed;
      },
      { timeout: 20_000, interval: 200 },
    );
    const ids = unread.match(/^[0-9a-f-]{36}/gm) ?? [];
    expect(ids.length).toBeGreaterThan(0);
    expect(unread).toMatch(/ info +no +/);
    expect(await print("notifications", "read", ids[0]!)).toBe("1 marked as read.\n");
    expect(await print("notifications", "list", "--unread")).not.toContain(ids[0]!);
    expect(await print("notifications", "read-all")).toBe("All are marked as read.\n");
    expect((await print("notifications", "list", "--unread")).match(/^[0-9a-f-]{36}/gm)).toBeNull();
    expect(await print("notifications", "list", "--min-severity", "info")).toContain(ids[0]!);
  });
});
