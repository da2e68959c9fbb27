/** The audit log, forwarded to channels. */
import { describe, expect, it, vi } from "vitest";
import { systemCaller } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import { FakeClock } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { createCertificate } from "../../support/certificate.ts";
import { addOperator, createNotifying, pass, webhook } from "../../support/channel-scene.ts";
import { startReceiver, startSocketServer } from "../../support/receiver.ts";

interface Told {
  type: string;
  data: { id: string; title: string; data: { sequence: number; hash: string } };
}

const told = (received: { body: string }[]): Told[] => received.map(({ body }) => JSON.parse(body) as Told);
const sequences = (received: { body: string }[]): number[] =>
  told(received).map(({ data }) => data.data.sequence);

async function auditFrom(
  { orchestrator }: TestOrchestrator,
  from: number,
): Promise<[number, string, string][]> {
  const { items } = await orchestrator.audit.list(systemCaller, { order: "asc", limit: 500 });
  return items
    .filter(({ sequence }) => sequence >= from)
    .map(({ sequence, id, hash }): [number, string, string] => [sequence, id, hash]);
}

/** Lets time pass until something holds, no faster than real connections are served meanwhile: their time limits run by the same clock. */
function inTime(test: Pick<TestOrchestrator, "clock">, holds: () => unknown): Promise<unknown> {
  const look = async (): Promise<void> => {
    await pass(test, 1_000);
    await holds();
  };
  return vi.waitFor(look, { timeout: 30_000, interval: 10 });
}

describe("a channel of the audit log", () => {
  it("is told each event from its own creation on, in order, with the place and hash of the log", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    await using test = await createNotifying();
    await addOperator(test, "before");
    const { id, source } = await webhook(test, url, { source: "audit" });
    expect(source).toBe("audit");
    // Nobody is notified of a sign-in; it is recorded all the same.
    await test.signIn("Operator");
    await addOperator(test, "ada");
    await pass(test, 3_000);
    const events = await auditFrom(test, 2);
    const first = events.findIndex(([, eventId]) => eventId === told(received)[0]?.data.id);
    await expect
      .poll(() => told(received).map(({ data }) => [data.data.sequence, data.id, data.data.hash]))
      .toEqual(events.slice(first));
    expect(told(received).map(({ type }) => type)).toEqual(
      expect.arrayContaining(["channel.created", "operator.signedIn", "operator.added"]),
    );
    expect(told(received).some(({ data }) => data.title.includes("before"))).toBe(false);
    const forwarded = async () =>
      (await test.orchestrator.channels.get(systemCaller, { id })).forwarded_sequence;
    await expect.poll(forwarded).toBe(events.at(-1)![0]);
    expect((await test.orchestrator.channels.deliveries(systemCaller, { id })).items).toEqual([]);
  });

  it("that is down gets everything when it is there again, and its failing is told once", async () => {
    let status = 503;
    const { url, received } = await startReceiver((response) => {
      response.statusCode = status;
      response.end();
    });
    await using test = await createNotifying();
    const { id } = await webhook(test, url, { source: "audit" });
    for (const name of ["a", "b", "c"]) await addOperator(test, name);
    await pass(test, 600_000, 5_000);
    expect(new Set(sequences(received)).size).toBe(1);
    expect(test.events.filter(({ event_type }) => event_type === "channel.failed")).toHaveLength(1);
    // Time passed faster than connections are served: an attempt that was given up may still be on its way, and one may be waited for. The
    // next has been answered when it is here, and those before it, too.
    const soFar = received.length;
    await inTime(test, () => expect(received.length).toBeGreaterThan(soFar));
    const failing = received.length;
    status = 200;
    const events = await auditFrom(test, sequences(received)[0]!);
    await inTime(test, () =>
      expect(sequences(received.slice(failing))).toEqual(events.map(([sequence]) => sequence)),
    );
    // The receiver has the last one before the answer to it is here and written.
    await inTime(test, async () =>
      expect(await test.orchestrator.channels.get(systemCaller, { id })).toMatchObject({
        forwarded_sequence: events.at(-1)![0],
        last_delivery: { delivered: true },
      }),
    );
  });

  it("counts the attempts for each event by itself, also where one is told and the next is not in one go", async () => {
    const refused = [0, 1, 2, 3, 4, 6];
    let requests = 0;
    const { url, received } = await startReceiver((response) => {
      response.statusCode = refused.includes(requests) ? 503 : 200;
      requests += 1;
      response.end();
    });
    await using test = await createNotifying();
    await addOperator(test, "before");
    await webhook(test, url, { source: "audit" });
    for (const name of ["a", "b"]) await addOperator(test, name);
    // In steps so short that an event and the next one are told within a second of the clock.
    for (let seconds = 0; seconds < 240; seconds += 1) await pass(test, 1_000, 50);
    const events = await auditFrom(test, sequences(received)[0]!);
    await expect.poll(() => [...new Set(sequences(received))]).toEqual(events.map(([sequence]) => sequence));
    expect(sequences(received).slice(0, 8)).toEqual([0, 0, 0, 0, 0, 0, 1, 1].map((at) => events[at]![0]));
    expect(test.events.filter(({ event_type }) => event_type === "channel.failed")).toEqual([]);
  });

  it("tells what its filters let pass, and nothing while it is disabled; then what came meanwhile", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    await using test = await createNotifying();
    const { id } = await webhook(test, url, { source: "audit", events: ["operator.added"], enabled: false });
    await addOperator(test, "ada");
    await pass(test, 3_000);
    expect(received).toEqual([]);
    await test.orchestrator.channels.update(systemCaller, { id, enabled: true });
    await pass(test, 3_000);
    await expect.poll(() => told(received).map(({ type }) => type)).toEqual(["operator.added"]);
  });

  it("goes on over a restart from where it was", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    const [data, clock] = [new MemoryData(), new FakeClock()];
    const start = (): Promise<TestOrchestrator> =>
      createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
    const first = await start();
    await webhook(first, url, { source: "audit" });
    await addOperator(first, "ada");
    await pass({ clock }, 3_000);
    await first[Symbol.asyncDispose]();
    await using second = await start();
    await addOperator(second, "grace");
    await pass({ clock }, 20_000);
    const seen = sequences(received);
    await expect.poll(() => told(received).at(-1)?.data.title).toContain("grace");
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
  });

  it("that is down goes on failing over a restart, and that is not told again", async () => {
    const { url, received } = await startReceiver((response) => response.writeHead(503).end());
    const [data, clock] = [new MemoryData(), new FakeClock()];
    const start = (): Promise<TestOrchestrator> =>
      createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
    const failures = ({ events }: TestOrchestrator): number =>
      events.filter(({ event_type }) => event_type === "channel.failed").length;
    const first = await start();
    await webhook(first, url, { source: "audit" });
    await addOperator(first, "ada");
    await inTime({ clock }, () => expect(failures(first)).toBe(1));
    await first[Symbol.asyncDispose]();
    await using second = await start();
    const before = received.length;
    await inTime({ clock }, () => expect(received.length).toBeGreaterThan(before + 1));
    expect(failures(second)).toBe(0);
  });

  it("waits after a restore until an operator has the server go on", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    await using before = await createNotifying();
    const { clock } = before;
    await webhook(before, url, { source: "audit" });
    await pass(before, 3_000);
    const data = (before.storage as MemoryStorage).restoredCopy();
    await before[Symbol.asyncDispose]();
    const sent = received.length;
    await using restored = await createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
    await pass({ clock }, 60_000);
    expect(received).toHaveLength(sent);
    await restored.orchestrator.restores.resume(systemCaller);
    await pass({ clock }, 3_000);
    await expect
      .poll(() => told(received.slice(sent)).map(({ type }) => type))
      .toEqual(expect.arrayContaining(["storage.restored", "storage.resumed"]));
  });

  it("may be syslog", async () => {
    let text = "";
    const { port } = await startSocketServer((socket) =>
      socket.on("data", (piece) => (text += String(piece))),
    );
    await using test = await createNotifying();
    const config = { host: "127.0.0.1", port, tls: false, facility: "audit" };
    await test.orchestrator.channels.create(systemCaller, {
      name: "log",
      type: "syslog",
      source: "audit",
      config,
    });
    await pass(test, 3_000);
    await expect
      .poll(() => text)
      .toMatch(/^\d+ <110>1 \S+ - fleetwright - channel\.created \[fleetwright@32473 .*\\"sequence\\":/);
  });

  it("is not told to a log server whose certificate is not trusted, and that is told once", async () => {
    let text = "";
    const tls = await createCertificate();
    const { port } = await startSocketServer(
      (socket) => socket.on("data", (piece) => (text += String(piece))),
      { tls },
    );
    await using test = await createNotifying();
    const { id } = await test.orchestrator.channels.create(systemCaller, {
      name: "log",
      type: "syslog",
      source: "audit",
      config: { host: "127.0.0.1", port },
    });
    const failed = () => test.events.filter(({ event_type }) => event_type === "channel.failed");
    await inTime(test, () => expect(failed()).toHaveLength(1));
    const { last_delivery: first } = await test.orchestrator.channels.get(systemCaller, { id });
    await inTime(test, async () => {
      const { last_delivery } = await test.orchestrator.channels.get(systemCaller, { id });
      expect(last_delivery?.at).not.toBe(first?.at);
    });
    expect(failed()).toMatchObject([
      { target: { id }, metadata: { error: "the certificate is not trusted", attempts: 6 } },
    ]);
    expect(text).toBe("");
    expect(await test.orchestrator.channels.get(systemCaller, { id })).toMatchObject({
      last_delivery: { delivered: false, error: "the certificate is not trusted" },
    });
  });
});
