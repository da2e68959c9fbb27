/** Real processes whose log or output nobody takes: a full disk behind it, or a reader that has stopped. */
import { execFile, execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { createClient } from "fleetwright/client";
import { readSigner } from "fleetwright/client/node";
import { freePort } from "../support/free-port.ts";
import { eventually } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const program = fileURLToPath(new URL("../../dist/program/main.js", import.meta.url));

/** A process both of whose outputs are what is given. */
function start(args: readonly string[], output: number | "pipe"): ChildProcess {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", output, output] });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  return child;
}

function openFull(): number {
  const fd = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(fd));
  return fd;
}

/** A pipe that is full and stays so. */
function openStuckPipe(): number {
  const path = join(temporaryFolder(), "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const fd = openSync(path, "w");
  onTestFinished(() => [reader, fd].forEach((each) => closeSync(each)));
  try {
    for (;;) writeSync(reader, Buffer.alloc(4096));
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("EAGAIN");
  }
  return fd;
}

/** Connects as something that is no agent, so that the server has something to log. */
async function annoy(url: string, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const socket = new WebSocket(`${url.replace("http", "ws")}/agent/v1`);
    await once(socket, "open");
    socket.send("garbage");
    await once(socket, "close");
  }
}

async function startServer(output: number | "pipe") {
  const port = await freePort();
  const folder = join(temporaryFolder(), "data");
  const child = start(
    ["serve", "--port", String(port), "--data-dir", folder, "--log-level", "debug"],
    output,
  );
  const key = join(folder, "admin-key");
  const url = `http://127.0.0.1:${port}`;
  await eventually("the server is ready", async () => {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    return answer?.status === 200 && existsSync(key);
  });
  const client = createClient({ url, signer: readSigner(key) });
  return { child, url, client };
}

it.each([
  ["on a full disk", openFull, "its disk is full (ENOSPC)"],
  ["into a pipe that nobody reads", openStuckPipe, "whoever reads it has stopped (EAGAIN)"],
])(
  "a server that logs %s serves on, says so in its status, and stops in order",
  async (_, output, reason) => {
    const { child, url, client } = await startServer(output());
    const { operator } = await client.auth.session();
    expect(operator.username).toBe("admin");
    await eventually("the log is lost", async () => {
      await annoy(url, 1);
      const { status, checks } = await client.status.get();
      const log = checks?.find(({ name }) => name === "log");
      return status === "degraded" && log?.detail === `Lines of the log are lost: ${reason}.`;
    });
    child.kill("SIGTERM");
    await once(child, "exit");
    expect(child.exitCode).toBe(0);
  },
  120_000,
);

it("a server whose log goes to a socket that nobody reads stops in order, too", async () => {
  const { child, url, client } = await startServer("pipe");
  for (let n = 0; n < 10; n += 1) await annoy(url, 100);
  await client.auth.session();
  child.kill("SIGTERM");
  await once(child, "exit");
  expect(child.exitCode).toBe(0);
}, 120_000);

it("an agent without a place for its log lives on and stops in order", async () => {
  const port = await freePort();
  const stateDir = join(temporaryFolder(), "state");
  const url = `http://127.0.0.1:${port}`;
  const child = start(["agent", "--url", url, "--state-dir", stateDir, "--log-level", "debug"], openFull());
  await eventually("the agent has made its identity", () => existsSync(join(stateDir, "identity.json")));
  // It tries to connect, in vain, and logs that.
  let tries = 0;
  const server = createServer((socket) => {
    tries += 1;
    socket.destroy();
  }).listen(port, "127.0.0.1");
  onTestFinished(() => void server.close());
  await eventually("the agent has tried to connect again", () => tries >= 2);
  child.kill("SIGTERM");
  await once(child, "exit");
  expect(child.exitCode).toBe(0);
});

it("a command whose result could not be written fails, and says why", async () => {
  const shell = `"${process.execPath}" "${program}" --version >/dev/full`;
  const failed = await promisify(execFile)("sh", ["-c", shell]).catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 1, stderr: "fleetwright: the output could not be written: ENOSPC\n" });
});
