import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { parseEnvFile } from "../../../adapters/cli/env-file.ts";
import { secretsKeyFile, secretsKeyOf } from "../../../adapters/cli/work/secrets-key.ts";
import { runIn, startCommandLine, type CommandLine } from "../../support/command-line.ts";
import { OwnTime } from "../../support/own-time.ts";
import { programPath } from "../../support/processes.ts";
import { MemorySecretsKey } from "../../support/secrets-key.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function start(): Promise<CommandLine & { type(input: string, ...args: string[]): Promise<string> }> {
  const commandLine = await startCommandLine({ secretsKey: new MemorySecretsKey() });
  await commandLine.print("login", "--key", commandLine.key);
  const type = async (input: string, ...args: string[]): Promise<string> => {
    const result = await runIn(commandLine.folder, args, commandLine.server.url, input);
    if (result.code !== 0) throw new Error(result.stderr);
    return result.stdout;
  };
  return { ...commandLine, type };
}

describe("fleetwright secrets", () => {
  it("sets, lists, shows and removes secrets, and prints no value", async () => {
    const { type, print, run } = await start();
    const set = await type("c4nary\n", "secrets", "set", "db-password", "--description", "Of the site");
    const changed = await type("", "secrets", "show", "db-password");
    expect(changed).toBe(set);
    expect(set).toContain("version 1");
    await type(
      "c4nary-2",
      "secrets",
      "set",
      "db-password",
      "--selector",
      "role=web",
      "--expires",
      "2099-01-01T00:00:00Z",
    );
    const all = (await print("secrets", "list")) + (await print("secrets", "list", "--json"));
    expect(all).toMatch(/db-password +version 2 +role=web +2099-01-01 +-/);
    expect(all).toContain("Of the site");
    expect(all + set).not.toContain("c4nary");
    const { secrets } = {
      secrets: await print("secrets", "set", "db-password", "--unrestricted").catch(String),
    };
    expect(secrets).toContain("The value is empty");
    expect(await type("x", "secrets", "set", "db-password", "--unrestricted", "--expires", "never")).toMatch(
      /every agent[^]*never/,
    );
    expect(await print("secrets", "rotate-key")).toContain("3 values were encrypted anew");
    expect(await print("secrets", "remove", "--yes", "db-password")).toBe("db-password is removed.\n");
    expect((await run("secrets", "show", "db-password")).code).not.toBe(0);
  });

  it("takes a file as it is, and bytes as base64", async () => {
    const { print, folder, server } = await start();
    const file = join(folder, "value");
    writeFileSync(file, "two\nlines\n");
    await print("secrets", "set", "text", "--file", file);
    writeFileSync(file, "//79\n");
    await print("secrets", "set", "bytes", "--file", file, "--base64");
    const { servicesOf } = await import("../../../lib/orchestrator.ts");
    const { secrets } = servicesOf(server.orchestrator);
    expect(Buffer.from(await secrets.resolveForServer("text")).toString()).toBe("two\nlines\n");
    expect(Buffer.from(await secrets.resolveForServer("bytes")).toString("hex")).toBe("fffefd");
  });

  it("refuses a file that is no text, and standard input that is none, since nobody could read the value back", async () => {
    const { run, folder, server } = await start();
    const path = join(folder, "value");
    writeFileSync(path, Buffer.from("76fffe31", "hex"));
    expect(await run("secrets", "set", "raw", "--file", path)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${path} is no text in UTF-8.`),
    });
    const home = { FLEETWRIGHT_HOME: join(folder, "home"), FLEETWRIGHT_URL: server.url };
    const child = spawn(process.execPath, [programPath, "secrets", "set", "raw"], { env: home });
    child.stdin.end(Buffer.from("76fffe31", "hex"));
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
    expect(stderr).toContain("Standard input is no text in UTF-8.");
    expect(code).toBe(2);
    expect(await run("secrets", "show", "raw")).toMatchObject({
      stderr: expect.stringContaining("NOT_FOUND"),
    });
  });

  it("imports a file of variables", async () => {
    const { type, run, folder } = await start();
    const text = `# ours\nexport DB_PASSWORD="a \\"b\\" \\$c\\n"\nTOKEN='x #y'\n\nPLAIN = v=1 \n`;
    const told = await type(text, "secrets", "import", "--from-env-file", "-", "--prefix", "site-");
    expect(told).toBe("site-db-password: version 1\nsite-token: version 1\nsite-plain: version 1\n");
    expect(parseEnvFile(text).map(({ value }) => value)).toEqual(['a "b" $c\n', "x #y", "v=1"]);
    const file = join(folder, "bad.env");
    writeFileSync(file, "A=1\nhunter2-in-a-wrong-line\n");
    const refused = await run("secrets", "import", "--from-env-file", file);
    expect(refused.stderr).toContain("Line 2 is no NAME=value");
    expect(refused.stderr).not.toContain("hunter2");
    writeFileSync(file, "A_B=1\na-b=2\n".replace("a-b", "a_b"));
    expect((await run("secrets", "import", "--from-env-file", file)).stderr).toContain("two values for a-b");
  });
});

it("what is just within the bounds is imported under the name that a secret can have", async () => {
  const { run, folder } = await start();
  const file = join(folder, "good.env");
  writeFileSync(file, `_LEFT=1\n__A__B=${"x".repeat(65_536)}\n${"N".repeat(64)}='0'\n`);
  expect(await run("secrets", "import", "--from-env-file", file)).toMatchObject({
    code: 0,
    stdout: `left: version 1\na--b: version 1\n${"n".repeat(64)}: version 1\n`,
  });
});

it("a secret that never expires can be new, and one that expires be made to never", async () => {
  const { type } = await start();
  const at = "2099-01-01T00:00:00.000Z";
  const shown = async (expires: string): Promise<string> =>
    /^Expires +(.*)$/m.exec(await type("x", "secrets", "set", "key", "--expires", expires))?.[1] ?? "";
  expect([await shown("never"), await shown(at), await shown("never")]).toEqual(["never", at, "never"]);
});

describe("an evil file of variables", () => {
  const long = "N".repeat(65);
  it.each([
    ["an empty value", "A=1\nB=\n", "Line 2: the value has 0 bytes"],
    ["an empty value in quotes", `A=1\nB=""\n`, "Line 2: the value has 0 bytes"],
    ["a value of 65,537 bytes", `A=1\nB=${"x".repeat(65_537)}\n`, "Line 2: the value has 65537 bytes"],
    ["a name that is too long", `A=1\n${long}=hunter2\n`, "Line 2: its name"],
    ["a name of which nothing is left", "A=1\n__=hunter2\n", "Line 2: its name"],
    ["a quote that is escaped at the end", `A=1\nB="hunter2\\"\n`, "Line 2: what is in quotes"],
    ["something behind the quotes", `A=1\nB="hunter2" x\n`, "Line 2: what is in quotes"],
    ["a quote within quotes", `A=1\nB='hunter2'x'\n`, "Line 2: what is in quotes"],
    ["a value over two lines", `A=1\nB="hunter2\nmore"\n`, "Line 2: what is in quotes"],
    ["a name that goes on", "A=1\nB.C=hunter2\n", "Line 2 is no NAME=value"],
    ["no name", "A=1\n=hunter2\n", "Line 2 is no NAME=value"],
  ])("with %s sets nothing, and is not quoted", async (_what, text, message) => {
    const { run, folder, server } = await start();
    const file = join(folder, "evil.env");
    writeFileSync(file, text);
    const { code, stdout, stderr } = await run("secrets", "import", "--from-env-file", file);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("hunter2");
    expect((await server.orchestrator.secrets.list({ kind: "system" })).items).toEqual([]);
  });

  it("with a byte order mark, line ends of Windows and variables in values is taken as it is", () => {
    const text = `\ufeffA=1\r\nB=$HOME\r\nC="\\$x \\q"\r\n`;
    expect(parseEnvFile(text).map(({ name, value }) => [name, value])).toEqual([
      ["A", "1"],
      ["B", "$HOME"],
      ["C", "$x \\q"],
    ]);
  });
});

describe("the server's key", () => {
  const none = { secretsKey: null, secretsKeyCommand: null };

  it("is a file that its user alone reads, and keeps the old key until it is retired", async () => {
    const folder = temporaryFolder();
    const path = join(folder, secretsKeyFile);
    const source = secretsKeyOf(none, folder);
    expect(await source.read()).toEqual([]);
    expect(existsSync(path)).toBe(false);
    await source.renew!();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const [first] = await source.read();
    await source.renew!();
    const keys = await source.read();
    expect(keys[1]).toEqual(first);
    await source.retire!(new Uint8Array(32));
    expect(await source.read()).toEqual(keys);
    await source.renew!();
    const [newer] = await source.read();
    await source.retire!(keys[0]!);
    expect(await source.read()).toEqual([newer, keys[0]]);
    await source.retire!(newer!);
    expect(await source.read()).toEqual([newer]);
    // Killed while it was written.
    writeFileSync(`${path}.part`, "half");
    await source.renew!();
    expect((await source.read())[1]).toEqual(newer);
    expect(readFileSync(path, "utf8")).toMatch(/^[0-9a-f]{64}\n[0-9a-f]{64}\n$/);
  });

  it.each([
    ["hex", "07".repeat(32)],
    ["base64", Buffer.alloc(32, 7).toString("base64")],
  ])("is a setting in %s", async (_form, text) => {
    const source = secretsKeyOf({ ...none, secretsKey: `${text}\n` }, "/nonexistent");
    expect(await source.read()).toEqual([new Uint8Array(32).fill(7)]);
    expect(source.renew).toBeUndefined();
  });

  it("is what a program prints", async () => {
    const source = secretsKeyOf(
      { ...none, secretsKeyCommand: `printf '%s\\n' ${"08".repeat(32)} ${"07".repeat(32)}` },
      "/",
    );
    expect(await source.read()).toEqual([8, 7].map((byte) => new Uint8Array(32).fill(byte)));
  });

  it.each([
    ["a setting that is none", { ...none, secretsKey: "hunter2" }],
    ["a program that fails", { ...none, secretsKeyCommand: "echo hunter2; exit 3" }],
    ["a program that prints no key", { ...none, secretsKeyCommand: "echo hunter2" }],
  ])("is refused where it is %s, and not quoted", async (_what, settings) => {
    const read = async (): Promise<unknown> => secretsKeyOf(settings, "/").read();
    const error: unknown = await read().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "CONFIGURATION_INVALID" });
    expect(String(error)).not.toContain("hunter2");
  });

  it.each([
    ["prints without end", "yes | cat", /printed more than 65536 characters/],
    [
      "prints too much, and ends",
      `head -c 100000 /dev/zero | tr '\\0' ' '; echo ${"07".repeat(32)}`,
      /printed more/,
    ],
  ])(
    "is given up where a program %s, whatever that has started",
    async (_what, secretsKeyCommand, reason) => {
      using time = new OwnTime();
      const error: unknown = await secretsKeyOf({ ...none, secretsKeyCommand }, "/")
        .read()
        .catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: "CONFIGURATION_INVALID", message: expect.stringMatching(reason) });
      // Given up for what it takes, it would be after 30 s.
      expect(time.ms).toBeLessThan(4_000);
    },
  );

  it("is given up after 30 seconds where a program does not end, nor what it has started", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const secretsKeyCommand = "trap '' TERM; sleep 6 | cat; sleep 6";
    const read = secretsKeyOf({ ...none, secretsKeyCommand }, "/").read();
    vi.advanceTimersByTime(30_000);
    await expect(read).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: "The program of the key took longer than 30 s.",
    });
  });

  it("is refused where its file is damaged", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, secretsKeyFile), "damaged", { mode: 0o600 });
    chmodSync(join(folder, secretsKeyFile), 0o600);
    await expect(secretsKeyOf(none, folder).read()).rejects.toMatchObject({ code: "CONFIGURATION_INVALID" });
  });
});
