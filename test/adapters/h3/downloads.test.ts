/**
 * Downloads of the agent. Symptom: 64 clients that fetched it and did not read stopped every other installation for as long as they
 * liked, and the refusal said that the service was stopping. A download that broke off had to begin again.
 */
import { once } from "node:events";
import { mkdirSync, readdirSync, readlinkSync, truncateSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { H3, serve } from "h3";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { MemoryStorage } from "fleetwright";
import { startServer } from "fleetwright/h3";
import { downloadLimits, Downloads, type DownloadLimits } from "../../../adapters/h3/downloads.ts";
import { mountInstallPages } from "../../../adapters/h3/install-pages.ts";
import { send } from "../../support/http.ts";
import { OwnTime } from "../../support/own-time.ts";
import { eventually } from "../../support/processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const sha256 = "5".repeat(64);
const etag = `"${sha256}"`;
/** Longer than all that buffers of the network hold. */
const largeBytes = 48 << 20;

function builtFolder(size: number): string {
  const folder = join(temporaryFolder(), "agent");
  mkdirSync(folder);
  const path = join(folder, "agent.tar.gz");
  writeFileSync(path, "0123456789");
  truncateSync(path, size);
  const artifacts = [{ platform: "linux-x64", file: "agent.tar.gz", sha256, size }];
  writeFileSync(join(folder, "manifest.json"), JSON.stringify({ version: "1.2.3", artifacts }));
  return folder;
}

async function start(size: number, trustedProxies: string[] = []): Promise<number> {
  const server = await startServer({
    trustedProxies,
    storage: new MemoryStorage(),
    listen: { port: 0 },
    agentDir: builtFolder(size),
  });
  onTestFinished(() => server.close());
  return Number(new URL(server.url).port);
}

/** Starts the pages alone, with limits of a test. */
async function startWith(limits: DownloadLimits): Promise<number> {
  const h3 = new H3({ silent: true });
  const pages = {
    orchestrator: { publicKey: new Uint8Array(32) },
    agentDir: builtFolder(largeBytes),
    agentUrl: null,
    agentPath: "/agent/v1",
    trustedProxies: [],
    downloadLimits: limits,
  };
  mountInstallPages({ h3, mountPath: "", createRequestId: () => "id" }, pages);
  const server = serve(h3, { port: 0, hostname: "127.0.0.1", silent: true });
  onTestFinished(() => server.close(true));
  await server.ready();
  return Number(new URL(server.url ?? "").port);
}

/** Begins a download from an address of loopback, and reads nothing of it. */
async function begin(port: number, localAddress: string, headers = {}): Promise<IncomingMessage> {
  const path = "/agent/linux-x64";
  const asked = request({ host: "127.0.0.1", port, localAddress, path, headers, agent: false });
  asked.on("error", () => {}).end();
  onTestFinished(() => void asked.destroy());
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  response.on("error", () => {});
  return response;
}

async function bytesOf(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) bytes += piece.length;
  return bytes;
}

describe("machines that fetch and do not read", () => {
  test("hold no more than 8 places of one address, and others get the agent", async () => {
    const port = await start(largeBytes);
    const held = await Promise.all(Array.from({ length: 8 }, () => begin(port, "127.0.0.1")));
    expect(held.map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 8 }, () => 200));
    const { status, headers, json } = await send(port, { path: "/agent/linux-x64" });
    expect([status, headers["retry-after"], json]).toEqual([
      429,
      "10",
      expect.objectContaining({ code: "RATE_LIMITED" }),
    ]);
    expect(await bytesOf(await begin(port, "127.0.0.2"))).toBe(largeBytes);
    held[0]?.destroy();
    await eventually("a place is free again", async () => {
      const next = await begin(port, "127.0.0.1");
      return next.statusCode === 200 && (await bytesOf(next)) === largeBytes;
    });
  });

  test("hold no more than 64 places in all, and who comes then is told when to ask again", async () => {
    const port = await start(largeBytes);
    for (let host = 0; host < 8; host += 1) {
      const address = `127.0.${host % 2}.${host + 1}`;
      const held = await Promise.all(Array.from({ length: 8 }, () => begin(port, address)));
      expect(held.every(({ statusCode }) => statusCode === 200)).toBe(true);
    }
    const { statusCode, headers } = await begin(port, "127.0.2.1");
    expect([statusCode, headers["retry-after"]]).toEqual([429, "10"]);
    expect((await send(port, { path: "/livez" })).status).toBe(200);
  });

  test("hold no more than half of the places of one network, however many addresses they have", async () => {
    const port = await start(largeBytes, ["127.0.0.1"]);
    const from = (address: string) => begin(port, "127.0.0.1", { "x-forwarded-for": address });
    const held: (number | undefined)[] = [];
    for (let n = 0; n < 40; n += 1) held.push((await from(`2001:db8:1:${n.toString(16)}::1`)).statusCode);
    expect(held).toEqual([...Array<number>(32).fill(200), ...Array<number>(8).fill(429)]);
    expect(await bytesOf(await from("2001:db8:2::1"))).toBe(largeBytes);
  });

  test("are cut off, and their places are free; who reads steadily gets all of it", async () => {
    const limits = {
      most: 4,
      mostOfSource: 3,
      mostOfNetwork: 4,
      slowestBytesPerSecond: 8 << 20,
      patienceMs: 600,
    };
    const port = await startWith(limits);
    const slow = await Promise.all([1, 2, 3].map(() => begin(port, "127.0.0.1")));
    const drips = slow.map((response) => setInterval(() => response.read(1), 50));
    onTestFinished(() => drips.forEach((each) => clearInterval(each)));
    const steady = await begin(port, "127.0.0.2");
    let bytes = 0;
    for await (const piece of steady as AsyncIterable<Buffer>) {
      bytes += piece.length;
      // About 16 MiB a second: twice what is asked.
      await new Promise((resolve) => setTimeout(resolve, (piece.length / (16 << 20)) * 1000));
    }
    expect(bytes).toBe(largeBytes);
    expect(await bytesOf(await begin(port, "127.0.0.1"))).toBe(largeBytes);
    for (const each of drips) clearInterval(each);
    for (const each of slow) await expect(bytesOf(each)).rejects.toMatchObject({ code: "ECONNRESET" });
  });
});

test("a socket that stops to read gives its place back within five times the patience", async () => {
  const patienceMs = 600;
  const port = await startWith({ ...downloadLimits, most: 1, patienceMs });
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.write("GET /agent/linux-x64 HTTP/1.1\r\nHost: fleet.example\r\n\r\n");
  await once(socket, "data");
  socket.pause();
  const stoppedAt = performance.now();
  using time = new OwnTime();
  expect((await send(port, { path: "/agent/linux-x64" })).status).not.toBe(200);
  await eventually("its place is free", async () => {
    const next = await begin(port, "127.0.0.1");
    next.destroy();
    return next.statusCode === 200;
  });
  expect(performance.now() - stoppedAt).toBeGreaterThan(patienceMs * 0.9);
  expect(time.ms).toBeLessThan(patienceMs * 5 + 1_000);
});

test("who goes on with a part of the agent and reads nothing is cut off as soon as who begins", async () => {
  const patienceMs = 600;
  const downloads = new Downloads({ ...downloadLimits, patienceMs });
  const file = { platform: "linux-x64", file: "agent.tar.gz", sha256, size: largeBytes };
  const path = join(builtFolder(largeBytes), file.file);
  const cutOff = async (headers: Record<string, string>): Promise<void> => {
    const asked = { method: "GET", headers: new Headers(headers), address: "192.0.2.7" };
    const { body } = await downloads.answer(asked, { ...file, path });
    await expect(body!.getReader().closed).rejects.toThrow("too slowly");
  };
  const whole = cutOff({}).then(() => new Promise((resolve) => setTimeout(resolve, 2 * patienceMs, "later")));
  const part = cutOff({ range: `bytes=${largeBytes >> 1}-` }).then(() => "as soon");
  expect(await Promise.race([part, whole])).toBe("as soon");
  await whole;
});

describe("a part of the agent", () => {
  test.each<[string, Record<string, string>, number, string, string | undefined]>([
    ["from its middle on", { range: "bytes=4-" }, 206, "456789", "bytes 4-9/10"],
    ["the middle", { range: "bytes=4-5" }, 206, "45", "bytes 4-5/10"],
    ["past its end", { range: "bytes=8-99" }, 206, "89", "bytes 8-9/10"],
    ["its last bytes", { range: "bytes=-3" }, 206, "789", "bytes 7-9/10"],
    ["more last bytes than it has", { range: "bytes=-30" }, 206, "0123456789", "bytes 0-9/10"],
    ["of the same version", { range: "bytes=4-", "if-range": etag }, 206, "456789", "bytes 4-9/10"],
    ["of another version", { range: "bytes=4-", "if-range": '"other"' }, 200, "0123456789", undefined],
    ["of several", { range: "bytes=0-1,4-5" }, 200, "0123456789", undefined],
    ["that ends before it begins", { range: "bytes=5-4" }, 200, "0123456789", undefined],
    ["in another unit", { range: "lines=1-" }, 200, "0123456789", undefined],
    ["of nothing", { range: "bytes=-" }, 200, "0123456789", undefined],
    ["behind its end", { range: "bytes=10-" }, 416, "", "bytes */10"],
    ["of no bytes", { range: "bytes=-0" }, 416, "", "bytes */10"],
  ])("%s", async (_name, headers, status, text, contentRange) => {
    const port = await start(10);
    const answer = await send(port, { path: "/agent/linux-x64", headers });
    expect([answer.status, answer.text, answer.headers["content-range"]]).toEqual([
      status,
      text,
      contentRange,
    ]);
    expect(answer.headers["content-length"]).toBe(String(text.length));
  });

  test("of a head is none, and a version that the caller has is not sent again", async () => {
    const port = await start(10);
    const path = "/agent/linux-x64";
    const head = await send(port, { path, method: "HEAD", headers: { range: "bytes=4-" } });
    expect([head.status, head.headers["content-length"], head.headers["accept-ranges"]]).toEqual([
      200,
      "10",
      "bytes",
    ]);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const same = await send(port, { path, headers: { "if-none-match": known, range: "bytes=4-" } });
      expect([same.status, same.text, same.headers.etag]).toEqual([304, "", etag]);
    }
    expect((await send(port, { path, headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });
});

test("what could not be sent holds no place and no file open: neither a file that is gone, nor one of another length, nor an answer without one", async () => {
  const path = join(temporaryFolder(), "agent.tar.gz");
  const downloads = new Downloads({ ...downloadLimits, most: 1, mostOfSource: 1, mostOfNetwork: 1 });
  const file = { platform: "linux-x64", file: "agent.tar.gz", sha256, size: 10, path };
  const ask = (headers = {}, method = "GET"): Promise<Response> =>
    downloads.answer({ method, headers: new Headers(headers), address: "192.0.2.1" }, file);
  for (let times = 0; times < 2; times += 1)
    await expect(ask()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  writeFileSync(path, "shorter");
  for (let times = 0; times < 2; times += 1)
    await expect(ask()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("run `npm run build:agent` again"),
    });
  writeFileSync(path, "0123456789");
  for (let times = 0; times < 2; times += 1) {
    expect((await ask({ "if-none-match": etag })).status).toBe(304);
    expect((await ask({ range: "bytes=10-" })).status).toBe(416);
    expect((await ask({}, "HEAD")).status).toBe(200);
    await (await ask()).body?.cancel();
    expect(await (await ask()).text()).toBe("0123456789");
  }
  await expect.poll(openPaths).not.toContain(path);
});

test("a file that can be opened but not looked at is closed again", async () => {
  const folder = builtFolder(10);
  const path = join(folder, "agent.tar.gz");
  const handle = await open(path);
  const failing = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, "stat");
  onTestFinished(() => failing.mockRestore());
  await handle.close();
  failing.mockRejectedValue(Object.assign(new Error("EIO: i/o error, fstat"), { code: "EIO" }));
  const downloads = new Downloads();
  const asked = { method: "GET", headers: new Headers(), address: "192.0.2.1" };
  const file = { platform: "linux-x64", file: "agent.tar.gz", sha256, size: 10, path };
  await expect(downloads.answer(asked, file)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(openPaths()).not.toContain(path);
});

test("a file of another length than the one that was built is closed again", async () => {
  const path = join(temporaryFolder(), "agent.tar.gz");
  writeFileSync(path, "shorter");
  const asked = { method: "GET", headers: new Headers(), address: "192.0.2.1" };
  const file = { platform: "linux-x64", file: "agent.tar.gz", sha256, size: 10, path };
  await expect(new Downloads().answer(asked, file)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(openPaths()).not.toContain(path);
});

test("a file that becomes shorter while it is sent breaks the download off, and is closed", async () => {
  const path = join(temporaryFolder(), "agent.tar.gz");
  const size = 300_000;
  const downloads = new Downloads({ ...downloadLimits, most: 1 });
  const file = { platform: "linux-x64", file: "agent.tar.gz", sha256, size, path };
  const ask = () => downloads.answer({ method: "GET", headers: new Headers(), address: "192.0.2.1" }, file);
  writeFileSync(path, "");
  truncateSync(path, size);
  const reader = (await ask()).body!.getReader();
  let bytes = (await reader.read()).value!.length;
  truncateSync(path, 100_000);
  const readOn = async (): Promise<void> => {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      bytes += piece.value.length;
  };
  await expect(readOn()).rejects.toThrow("The file became shorter while it was sent.");
  expect(bytes).toBe(100_000);
  await expect.poll(openPaths).not.toContain(path);
  // Its place is free.
  truncateSync(path, size);
  expect((await (await ask()).arrayBuffer()).byteLength).toBe(size);
});

/** What this process has open. */
function openPaths(): string[] {
  return readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // The folder that is listed is closed by now.
      return "";
    }
  });
}
