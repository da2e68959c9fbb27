import { getEventListeners, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createClient } from "fleetwright/client";
import type { Client, Fetch } from "fleetwright/client";
import { createKeyFile } from "fleetwright/client/node";
import { startServer } from "fleetwright/h3";
import { ApiError, unreachable } from "../../../adapters/client/api-error.ts";
import { readEvents } from "../../../adapters/client/event-stream.ts";
import { collectGarbage } from "../../support/memory.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { waitFor } from "../../support/wait-for.ts";

type Item = Awaited<ReturnType<ReturnType<Client["events"]["stream"]>["next"]>>["value"];

const toName = (item: Item): string =>
  !item ? "nothing" : item.type === "event" ? (item.event.target?.name ?? "") : item.type;

/** A server, a client of it, and what cuts the connection that its newest answer came by. */
async function startTestServer() {
  const signer = createKeyFile(`${temporaryFolder()}/key`);
  const server = await startServer({
    storage: new MemoryStorage(),
    adminPublicKeys: [signer.publicKey],
    listen: { port: 0 },
  });
  onTestFinished(() => server.close());
  let cut = (): void => {};
  const breakable: Fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (!response.body || !url.includes("/events")) return response;
    const breaking = new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => void (cut = () => controller.error(new Error("cut"))),
    });
    return new Response(response.body.pipeThrough(breaking), response);
  };
  const client = createClient({ url: server.url, signer, fetch: breakable });
  const upload = (name: string): Promise<unknown> =>
    server.orchestrator.modules.upload(systemCaller, { content: `name: ${name}\nresources: []\n` });
  return { client, server, signer, upload, cut: () => cut() };
}

describe("the client's stream of events", () => {
  it("goes on where it left off when the connection breaks off", async () => {
    const { client, upload, cut } = await startTestServer();
    const stream = client.events.stream({ types: ["module.*"] });
    const next = async (): Promise<string> => toName((await stream.next()).value);
    expect(await next()).toBe("position");
    await upload("one");
    expect(await next()).toBe("one");
    cut();
    await upload("two");
    expect([await next(), await next()]).toEqual(["position", "two"]);
    await stream.return();
  });

  it("ends when its signal is aborted, also while it waits", async () => {
    const { client } = await startTestServer();
    const controller = new AbortController();
    const stream = client.events.stream({ types: ["module.*"] }, controller.signal);
    await stream.next();
    const waiting = stream.next();
    controller.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it("ends when it is left, also while it waits", async () => {
    const { client } = await startTestServer();
    const stream = client.events.stream();
    await stream.next();
    const waiting = stream.next();
    await expect(stream.return()).resolves.toEqual({ done: true, value: undefined });
    expect((await waiting).done).toBe(true);
  });

  it("throws what the server refuses", async () => {
    const { client } = await startTestServer();
    // @ts-expect-error There is no such event.
    await expect(client.events.stream({ types: ["nonsense"] }).next()).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
  });
});

const streams: [string, (client: Client, signal: AbortSignal) => AsyncGenerator<unknown, void>][] = [
  ["events", (client, signal) => client.events.stream({}, signal)],
  ["an operation", (client, signal) => client.operations.watch("an-id", signal)],
  ["any path", (client, signal) => client.watch("/events", {}, signal)],
];
const ends = ["its signal is aborted", "it is left while it waits"] as const;
it.each(streams.flatMap(([what, open]) => ends.map((end) => [what, end, open] as const)))(
  "a stream of %s ends its request when %s",
  async (_what, end, open) => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => stream.enqueue(new TextEncoder().encode('data: {"type":"position"}\n\n')),
      cancel: () => void (isCancelled = true),
    });
    const client = createClient({
      url: "http://127.0.0.1:1",
      token: "fw_x",
      fetch: async () => new Response(body),
    });
    const controller = new AbortController();
    const stream = open(client, controller.signal);
    expect((await stream.next()).value).toEqual({ type: "position" });
    const waiting = stream.next();
    if (end === "its signal is aborted") controller.abort();
    else await stream.return();
    expect(isCancelled).toBe(true);
    expect(await waiting).toEqual({ done: true, value: undefined });
  },
);

describe("a stream whose reader can't sign in", () => {
  const sign = (): Promise<never> => Promise.reject(new Error("There is no ssh-agent."));

  it("throws what keeps the key from signing, and does not try without end", async () => {
    const { client, server, signer } = await startTestServer();
    const other = createClient({ url: server.url, signer: { ...signer, sign } });
    await expect(other.events.stream().next()).rejects.toThrow("There is no ssh-agent.");
    await client.signOut();
  });

  it("throws it also where the session ends in the middle", async () => {
    const { server, signer, client } = await startTestServer();
    const { token } = await client.signIn();
    const other = createClient({ url: server.url, token, signer: { ...signer, sign } });
    const stream = other.events.stream({ types: ["module.*"] });
    expect((await stream.next()).value).toMatchObject({ type: "position" });
    const next = stream.next();
    await client.signOut();
    await expect(next).rejects.toThrow("There is no ssh-agent.");
  });
});

describe("server-sent events", () => {
  it.each([
    ["line feeds", 'id: 1\ndata: "a"\n\ndata: "b"\n\n'],
    ["carriage returns and line feeds", 'id: 1\r\ndata: "a"\r\n\r\ndata: "b"\r\n\r\n'],
    ["comments and other fields", ': hello\n\nretry: 5\nid: 1\ndata:"a"\n\nevent: x\ndata: "b"\n\n'],
    ["data in several lines", 'id: 1\ndata: "a"\n\ndata: {\ndata: }\n\n'],
  ])("are read with %s, however they are cut into pieces", async (_what, text) => {
    const bytes = new TextEncoder().encode(text);
    const whole: unknown[] = [];
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];
      const told: unknown[] = [];
      const controller = new AbortController();
      for await (const item of readEvents(async () => ReadableStream.from(pieces), {
        signal: controller.signal,
      })) {
        told.push(item);
        if (told.length === 2) controller.abort();
      }
      if (cut === 0) whole.push(...told);
      expect(told).toEqual(whole);
    }
    expect(whole).toHaveLength(2);
  });
});

it("ends when its signal is aborted, also after memory was cleaned up", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('id: 1\ndata: {"n":1}\n\n');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const open = async (_id: string | null, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> =>
    (await fetch(`http://127.0.0.1:${port}`, { signal })).body!;
  const ended = new AbortController();
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const item of readEvents(open, { signal: ended.signal })) seen.push(item);
  })();
  await waitFor(() => expect(seen).toEqual([{ n: 1 }]));
  for (let turn = 0; turn < 10; turn += 1) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  ended.abort();
  await reading;
  server.closeAllConnections();
  server.close();
});

/** A stream of pieces that then ends. */
function streamOf(...pieces: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces)
        controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
      controller.close();
    },
  });
}

describe("what a server sends", () => {
  it.each([
    ["\\n", "\n"],
    ["\\r\\n", "\r\n"],
    ["\\r", "\r"],
  ])("is read with lines that end in %s, however it is cut", async (_name, end) => {
    const text = `: alive${end}${end}id: 1${end}data: {"a":${end}data: "ü"}${end}${end}data:2${end}retry: 5${end}${end}`;
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 2, 3, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      const stop = new AbortController();
      const items: unknown[] = [];
      for await (const item of readEvents(() => Promise.resolve(streamOf(...pieces)), {
        signal: stop.signal,
      })) {
        items.push(item);
        if (items.length === 2) stop.abort();
      }
      expect(items).toEqual([{ a: "ü" }, 2]);
    }
  });

  it("is gone on with after the last id, also where what came last has none", async () => {
    const opened: (string | null)[] = [];
    const stop = new AbortController();
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const open = (after: string | null): Promise<ReadableStream<Uint8Array>> => {
      opened.push(after);
      if (opened.length === 3) stop.abort();
      return Promise.resolve(streamOf(opened.length === 1 ? "id: 7\ndata: 1\n\ndata: 2\n\n" : "data: 3\n\n"));
    };
    const items: unknown[] = [];
    const reading = (async () => {
      for await (const item of readEvents(open, { signal: stop.signal })) items.push(item);
    })();
    await vi.advanceTimersByTimeAsync(60_000);
    await reading;
    expect(opened).toEqual([null, "7", "7"]);
    expect(items.slice(0, 3)).toEqual([1, 2, 3]);
  });

  it("is asked for with pauses that grow to half a minute, and begin anew once something came", async () => {
    vi.useFakeTimers({ now: 0 });
    vi.spyOn(Math, "random").mockReturnValue(1);
    onTestFinished(() => {
      vi.useRealTimers();
      vi.restoreAllMocks();
    });
    const times: number[] = [];
    const stop = new AbortController();
    const open = (): Promise<ReadableStream<Uint8Array>> => {
      times.push(Date.now());
      if (times.length === 9) return Promise.resolve(streamOf("data: 1\n\n"));
      if (times.length === 11) stop.abort();
      return Promise.reject(unreachable("http://nowhere", new TypeError("fetch failed")));
    };
    const reading = (async () => {
      for await (const _ of readEvents(open, { signal: stop.signal }));
    })();
    await vi.advanceTimersByTimeAsync(600_000);
    await reading;
    const pauses = times.slice(1).map((time, index) => time - times[index]!);
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 500, 1_000]);
  });

  it("is asked for anew where nothing came for a minute, not even a sign of life", async () => {
    vi.useFakeTimers({ now: 0 });
    onTestFinished(() => void vi.useRealTimers());
    const times: number[] = [];
    const stop = new AbortController();
    const ended: boolean[] = [];
    let say = (_text: string): void => {};
    const open = (_after: string | null, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
      times.push(Date.now());
      signal.addEventListener("abort", () => ended.push(true));
      return Promise.resolve(
        new ReadableStream<Uint8Array>({
          start: (controller) => void (say = (text) => controller.enqueue(new TextEncoder().encode(text))),
        }),
      );
    };
    const items: unknown[] = [];
    const reading = (async () => {
      for await (const item of readEvents(open, { signal: stop.signal })) items.push(item);
    })();
    await vi.advanceTimersByTimeAsync(0);
    for (const text of [": ping\n\n", "data: 1\n\n", "da"]) {
      await vi.advanceTimersByTimeAsync(59_000);
      say(text);
    }
    await vi.advanceTimersByTimeAsync(59_999);
    expect([times, items, ended]).toEqual([[0], [1], []]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([times.length, ended]).toEqual([2, [true]]);
    say("data: 2\n\n");
    await vi.advanceTimersByTimeAsync(0);
    expect(items).toEqual([1, 2]);
    stop.abort();
    await reading;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is told to be away once of each time that it is", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const said: string[] = [];
    const opens = ["lost", "lost", "open", "lost", "open", "open", "lost", "lost", "open"];
    const asked = opens.values();
    const stop = new AbortController();
    const open = (): Promise<ReadableStream<Uint8Array>> => {
      const { value } = asked.next();
      if (value === undefined) stop.abort();
      else said.push(value);
      return value === "open"
        ? Promise.resolve(streamOf())
        : Promise.reject(unreachable("http://nowhere", new TypeError("fetch failed")));
    };
    const reading = (async () => {
      for await (const _ of readEvents(open, { signal: stop.signal, onAway: () => said.push("told") }));
    })();
    await vi.runAllTimersAsync();
    await reading;
    expect(said.join(" ")).toBe("lost told lost open lost told open open lost told lost open");
  });

  const lost = (): Promise<never> =>
    Promise.reject(unreachable("http://nowhere", new TypeError("fetch failed")));

  it("ends with its signal while who hears that it is away takes his time", async () => {
    const stop = new AbortController();
    const onAway = (): Promise<never> => {
      queueMicrotask(() => stop.abort());
      return new Promise<never>(() => {});
    };
    const next = readEvents(lost, { signal: stop.signal, onAway }).next();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("of a page");
      },
    ],
    ["rejects", () => Promise.reject(new Error("of a page"))],
  ])("fails where who hears that it is away %s", async (_, onAway) => {
    await expect(readEvents(lost, { onAway }).next()).rejects.toThrow("of a page");
  });

  it.each(["who reads it leaves the loop", "what came is no JSON"])(
    "has its connection ended where %s, also one that heeds no signal",
    async (how) => {
      const ended = vi.fn<() => void>();
      const text = how.includes("JSON") ? "data: {\n\n" : "data: 1\n\n";
      let opened = 0;
      const open = (): Promise<ReadableStream<Uint8Array>> => {
        opened += 1;
        if (opened > 1)
          return Promise.reject(
            new ApiError({ type: "x", title: "x", detail: "x", status: 403, code: "FORBIDDEN" }),
          );
        const start = (controller: ReadableStreamDefaultController<Uint8Array>): void =>
          controller.enqueue(new TextEncoder().encode(text));
        return Promise.resolve(new ReadableStream<Uint8Array>({ start, cancel: ended }));
      };
      const reading = async (): Promise<void> => {
        for await (const _ of readEvents(open)) break;
      };
      await reading().catch(() => {});
      expect(ended).toHaveBeenCalledOnce();
    },
  );

  it("leaves nothing at the signal of who reads", async () => {
    const { signal } = new AbortController();
    let opened = 0;
    const open = (): Promise<ReadableStream<Uint8Array>> => {
      opened += 1;
      return opened < 3
        ? Promise.resolve(streamOf("data: 1\n\n"))
        : Promise.reject(
            new ApiError({ type: "x", title: "x", detail: "x", status: 403, code: "FORBIDDEN" }),
          );
    };
    const reading = async (): Promise<void> => {
      for await (const _ of readEvents(open, { signal }));
    };
    await expect(reading()).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
