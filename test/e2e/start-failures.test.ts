import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Program, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("a server that can't start says why in one line", () => {
  it.each([
    ["a port that is no number", { FLEETWRIGHT_PORT: "http" }, "CONFIGURATION_INVALID: FLEETWRIGHT_PORT"],
    ["a log level that nobody knows", { FLEETWRIGHT_LOG_LEVEL: "loud" }, "FLEETWRIGHT_LOG_LEVEL"],
    ["a certificate without its key", { FLEETWRIGHT_TLS_CERT: "x" }, "FLEETWRIGHT_TLS_KEY"],
    ["a file that is not there", { FLEETWRIGHT_HOST_FILE: "/nonexistent/host" }, "(ENOENT)"],
    ["a key that is none", { FLEETWRIGHT_ADMIN_PUBLIC_KEYS: "abc" }, "KEY_REFUSED"],
    ["an address that others reach, without TLS", { FLEETWRIGHT_HOST: "0.0.0.0" }, "needs TLS"],
  ])("for %s", async (_, environment, expected) => {
    const dataDir = join(temporaryFolder(), "data");
    const settings = { FLEETWRIGHT_PORT: "0", FLEETWRIGHT_DATA_DIR: dataDir };
    expect(await failure([], { ...settings, ...environment })).toContain(expected);
  });

  it("for a busy port", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const dataDir = join(temporaryFolder(), "data");
    expect(await failure(["--port", String(port), "--data-dir", dataDir])).toBe(
      `fleetwright: ADDRESS_IN_USE: Can't listen at 127.0.0.1:${port}. Stop what listens there, or choose another port with --port, or --metrics-port.\n`,
    );
  });

  it("for a data folder that another server uses", async () => {
    const dataDir = join(temporaryFolder(), "data");
    await using server = await startServerProcess(dataDir);
    const line = await failure(["--port", "0", "--data-dir", dataDir]);
    expect(line).toBe(`fleetwright: STORAGE_LOCKED: Process ${server.program.pid} uses the data folder.\n`);
  });

  it("for a data folder that can't be made", async () => {
    const line = await failure(["--port", "0", "--data-dir", "/proc/none"]);
    expect(line).toBe("fleetwright: STORAGE_FAILED: The data folder /proc/none can't be used: ENOENT.\n");
  });

  it("for a store that is damaged", async () => {
    const dataDir = join(temporaryFolder(), "data");
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, "db.json"), "{");
    expect(await failure(["--port", "0", "--data-dir", dataDir])).toContain("STORAGE_CORRUPT");
  });
});

describe("the first start", () => {
  it("prints five lines and makes an Admin key that only its owner can read", async () => {
    const dataDir = join(temporaryFolder(), "data");
    await using server = await startServerProcess(dataDir);
    expect(server.program.stdout.trimEnd().split("\n")).toHaveLength(5);
    expect(statSync(join(dataDir, "admin-key")).mode & 0o777).toBe(0o600);
    expect(await server.client.auth.session()).toMatchObject({
      operator: { username: "admin", role: "Admin" },
    });
  });

  it("is not repeated: the second makes no other key", async () => {
    const dataDir = join(temporaryFolder(), "data");
    await using first = await startServerProcess(dataDir);
    const key = readFileSync(join(dataDir, "admin-key"), "utf8");
    expect(await first.program.end()).toBe(0);
    await using second = await startServerProcess(dataDir);
    expect(readFileSync(join(dataDir, "admin-key"), "utf8")).toBe(key);
    expect((await second.client.operators.list()).items).toHaveLength(1);
  });
});

describe("the file of who waits for a server", () => {
  it("is there while the server is ready, and one that a killed server left says nothing of the next", async () => {
    const [folder, dataDir] = [temporaryFolder(), join(temporaryFolder(), "data")];
    const ready = join(folder, "ready");
    await using first = await startServerProcess(dataDir, 0, { FLEETWRIGHT_READY_FILE: ready });
    expect(existsSync(ready)).toBe(true);
    await first.program.end("SIGKILL");
    expect(existsSync(ready)).toBe(true);

    writeFileSync(join(dataDir, "admin-keys"), "none");
    await failure(["--port", "0", "--data-dir", dataDir, "--ready-file", ready]);
    expect(existsSync(ready)).toBe(false);

    rmSync(join(dataDir, "admin-keys"));
    await using second = await startServerProcess(dataDir, 0, {}, ["--ready-file", ready]);
    expect(existsSync(ready)).toBe(true);
    expect(await second.program.end()).toBe(0);
    expect(existsSync(ready)).toBe(false);
  });

  it("stays where a second start finds the data folder in use", async () => {
    const [dataDir, ready] = [join(temporaryFolder(), "data"), join(temporaryFolder(), "ready")];
    await using server = await startServerProcess(dataDir, 0, { FLEETWRIGHT_READY_FILE: ready });
    const line = await failure(["--port", "0", "--data-dir", dataDir, "--ready-file", ready]);
    expect(line).toContain(`STORAGE_LOCKED: Process ${server.program.pid} `);
    expect(existsSync(ready)).toBe(true);
  });

  it.each<[string, (path: string) => void, string]>([
    ["in a folder that is not there", () => {}, "none/ready can't be changed (ENOENT)."],
    ["in a file", (path) => writeFileSync(dirname(path), ""), "none/ready can't be changed (ENOTDIR)."],
    ["with content", (path) => put(path, (at) => writeFileSync(at, "secret")), "something else is there"],
    ["that is a folder", (path) => put(path, (at) => mkdirSync(at)), "something else is there"],
    ["that is a link", (path) => put(path, (at) => symlinkSync(dirname(at), at)), "something else is there"],
  ])("is refused before anything is made: one %s", async (_, make, said) => {
    const [dataDir, ready] = [join(temporaryFolder(), "data"), join(temporaryFolder(), "none", "ready")];
    make(ready);
    const line = await failure(["--port", "0", "--data-dir", dataDir, "--ready-file", ready]);
    expect(line).toMatch(/^fleetwright: CONFIGURATION_INVALID: --ready-file: /);
    expect(line).toContain(said);
    expect(existsSync(dataDir)).toBe(false);
    expect(existsSync(ready)).toBe(said.startsWith("something"));
  });

  it("ends no server that can't remove it", async () => {
    const [dataDir, ready] = [join(temporaryFolder(), "data"), join(temporaryFolder(), "ready")];
    await using server = await startServerProcess(dataDir, 0, {}, ["--ready-file", ready]);
    rmSync(ready);
    mkdirSync(ready);
    expect(await server.program.end()).toBe(0);
    expect(server.program.stderr).toBe("");
    expect(existsSync(ready)).toBe(true);
  });
});

/** Makes something at `path`, and the folder for it. */
function put(path: string, make: (path: string) => void): void {
  mkdirSync(dirname(path));
  make(path);
}

/** Starts a server that must fail: exit code 1, nothing on standard output, one line on standard error. */
async function failure(flags: readonly string[], environment: Record<string, string> = {}): Promise<string> {
  await using server = new Program(["serve", ...flags], { FLEETWRIGHT_LOG_LEVEL: "silent", ...environment });
  expect(await server.exited()).toBe(1);
  expect(server.stdout).toBe("");
  expect(server.stderr).toMatch(/^fleetwright: [A-Z_]+: .+\n$/);
  return server.stderr;
}
