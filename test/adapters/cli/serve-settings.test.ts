/** What a setting of `fleetwright serve` is there for is so: each of them gets to where it counts. */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { runCommandLine } from "fleetwright/cli";
import { createClient, type Fetch } from "fleetwright/client";
import { createKeyFile, readSigner } from "fleetwright/client/node";
import { deferred } from "../../support/deferred.ts";
import { freePort } from "../../support/free-port.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

interface Served {
  url: string;
  port: number;
  dataDir: string;
}

/** Runs `fleetwright serve` in this process until the test is over. */
async function serve(
  settings: Readonly<Record<string, string>>,
  dataDir: string = temporaryFolder(),
): Promise<Served> {
  const [stop, told] = [deferred(), deferred()];
  let [said, failed] = ["", ""];
  const ended = runCommandLine(["serve", "--port", "0", "--data-dir", dataDir, "--json"], {
    stdout(text) {
      said += text;
      told.resolve();
    },
    stderr: (text) => void (failed += text),
    environment: { FLEETWRIGHT_HOME: join(dataDir, "home"), ...settings },
    readInput: () => Promise.resolve(""),
    untilHurried: (unwanted) => new Promise((resolve) => unwanted.addEventListener("abort", () => resolve())),
    untilStopped: () => stop.promise,
  });
  onTestFinished(async () => {
    stop.resolve();
    expect(await ended, failed).toBe(0);
  });
  await Promise.race([told.promise, ended]);
  expect(said, failed).not.toBe("");
  const { url } = JSON.parse(said) as { url: string };
  return { url, port: Number(new URL(url).port), dataDir };
}

async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await fetch(url, { headers });
  await answer.body?.cancel();
  return answer.status;
}

/** The status of what comes back; nothing where the connection is ended without a word. */
async function rawStatus(port: number, bytes: string): Promise<string> {
  return /^HTTP\/1\.1 (\d+)/.exec(await (await sendRaw(port, bytes)).closed)?.[1] ?? "";
}

const ask = (host: string): string => `GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

/** Signs in with a key, and tells from where the server says that was, and in which role. */
async function signedIn({ url }: Served, key: string, fetchWith: Fetch = fetch) {
  const client = createClient({ url, signer: readSigner(key), fetch: fetchWith });
  const { operator } = await client.auth.session();
  const { items } = await client.audit.list({ limit: 50 });
  const [event] = items.filter(({ actor }) => actor.id === operator.operator_id);
  return { role: operator.role, from: event?.source_address };
}

it("a metrics token lets who has it read the figures, and without one there are none", async () => {
  const token = "a-token-of-sixteen";
  const [without, having] = [await serve({}), await serve({ FLEETWRIGHT_METRICS_TOKEN: token })];
  const authorization = `Bearer ${token}`;
  expect(await statusOf(`${without.url}/metrics`, { authorization })).toBe(404);
  expect(await statusOf(`${having.url}/metrics`)).toBe(401);
  expect(await statusOf(`${having.url}/metrics`, { authorization })).toBe(200);
});

it("a metrics port has the figures for whoever asks there, and the main port has none", async () => {
  const port = await freePort();
  const { url } = await serve({ FLEETWRIGHT_METRICS_PORT: String(port) });
  expect(await statusOf(`http://127.0.0.1:${port}/metrics`)).toBe(200);
  expect(await statusOf(`${url}/metrics`)).toBe(404);
});

it("allowed hosts are the only names that the service answers to", async () => {
  const [open, named] = [await serve({}), await serve({ FLEETWRIGHT_ALLOWED_HOSTS: "fleet.example" })];
  expect(await rawStatus(open.port, ask("evil.example"))).toBe("200");
  expect(await rawStatus(named.port, ask("fleet.example"))).toBe("200");
  expect(await rawStatus(named.port, ask("evil.example"))).toMatch(/^4/);
});

it("a trusted proxy is believed when it says where a call comes from, and nobody else is", async () => {
  const forwarded: Fetch = (target, init) => {
    const headers = new Headers(init.headers);
    headers.set("x-forwarded-for", "203.0.113.7");
    return fetch(target, { ...init, headers });
  };
  const found: unknown[] = [];
  for (const settings of [{}, { FLEETWRIGHT_TRUSTED_PROXIES: "127.0.0.1" }]) {
    const served = await serve(settings);
    found.push((await signedIn(served, join(served.dataDir, "admin-key"), forwarded)).from);
  }
  expect(found).toEqual(["127.0.0.1", "203.0.113.7"]);
});

it("a connection of a proxy begins with the header of the PROXY protocol where that is said", async () => {
  const header = "PROXY TCP4 203.0.113.7 10.0.0.1 56324 443\r\n";
  const trusted = { FLEETWRIGHT_TRUSTED_PROXIES: "127.0.0.1" };
  const plain = await serve(trusted);
  expect(await rawStatus(plain.port, ask("127.0.0.1"))).toBe("200");
  const proxied = await serve({ ...trusted, FLEETWRIGHT_PROXY_PROTOCOL: "true" });
  expect(await rawStatus(proxied.port, header + ask("127.0.0.1"))).toBe("200");
  expect(await rawStatus(proxied.port, ask("127.0.0.1"))).toBe("");
});

it.each(["FLEETWRIGHT_MAX_HANDSHAKES", "FLEETWRIGHT_MAX_HANDSHAKES_PER_ADDRESS"])(
  "%s is how many agents may be about to say who they are",
  async (variable) => {
    const { url } = await serve({ [variable]: "2" });
    const dial = async (): Promise<WebSocket> => {
      const socket = new WebSocket(`${url.replace("http", "ws")}/agent/v1`);
      onTestFinished(() => socket.terminate());
      await once(socket, "open");
      return socket;
    };
    const first = [await dial(), await dial()];
    const [code] = (await once(await dial(), "close")) as [number];
    expect(code).toBe(1013);
    expect(first.map(({ readyState }) => readyState)).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
  },
);

it("the keys of Admins in the settings and those in the data folder all let in", async () => {
  const folder = temporaryFolder();
  const [ofSettings, ofFolder] = [join(folder, "one"), join(folder, "two")];
  const dataDir = join(folder, "data");
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(join(dataDir, "admin-keys"), `${createKeyFile(ofFolder).publicKey}\n`, { mode: 0o600 });
  const settings = { FLEETWRIGHT_ADMIN_PUBLIC_KEYS: createKeyFile(ofSettings).publicKey };
  const served = await serve(settings, dataDir);
  for (const key of [ofSettings, ofFolder]) expect((await signedIn(served, key)).role).toBe("Admin");
});
