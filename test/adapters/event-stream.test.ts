import { createTRPCClient, httpSubscriptionLink } from "@trpc/client";
import { EventSource } from "eventsource";
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { createApp } from "../../adapters/h3/app.ts";
import { createContextFactory } from "../../adapters/trpc/context.ts";
import { appRouter, type AppRouter } from "../../adapters/trpc/router.ts";
import { startApprovedAgent } from "../support/fleet.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { serve, type TestServer } from "../support/server.ts";
import { waitFor } from "../support/wait-for.ts";

interface Frame {
  id: string;
  data: { type: string; event?: { event_type: string } };
}

/** A reader of server-sent events that knows no more than the standard asks for. */
async function* readFrames(response: Response): AsyncGenerator<Frame, void> {
  let text = "";
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let cut = text.indexOf("\n\n"); cut >= 0; cut = text.indexOf("\n\n")) {
      const lines = text.slice(0, cut).split("\n");
      text = text.slice(cut + 2);
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const [id, data] = [field("id"), field("data")];
      if (id !== undefined && data !== undefined) yield { id, data: JSON.parse(data) as Frame["data"] };
    }
  }
}

const upload = (test: TestOrchestrator, name: string): Promise<unknown> =>
  test.orchestrator.modules.upload(systemCaller, { content: `name: ${name}\nresources: []\n` });

async function nextOf<T>(items: AsyncGenerator<T, void>): Promise<T> {
  const { done, value } = await items.next();
  if (done === true) throw new Error("It ended.");
  return value;
}

describe("GET /api/v1/events", () => {
  it("tells events, and what was missed to whoever comes back with Last-Event-ID", async () => {
    await using test = await createTestOrchestrator();
    await using server = await serve(test.orchestrator);
    const { token } = await test.signIn("Viewer");
    const open = (headers: object = {}): Promise<Response> =>
      fetch(`${server.url}/api/v1/events?types=module.uploaded&types=module.removed`, {
        headers: { authorization: `Bearer ${token}`, ...headers },
      });
    const response = await open();
    expect([
      response.status,
      response.headers.get("content-type"),
      response.headers.get("cache-control"),
    ]).toEqual([200, "text/event-stream", "no-store, no-transform"]);
    const frames = readFrames(response);
    expect((await nextOf(frames)).data).toEqual({ type: "position" });
    await upload(test, "one");
    const told = await nextOf(frames);
    expect(told.data).toEqual({ type: "event", event: test.events.at(-1) });
    await frames.return();

    await upload(test, "two");
    const again = readFrames(await open({ "last-event-id": told.id }));
    expect((await nextOf(again)).data.type).toBe("position");
    expect((await nextOf(again)).data.event).toMatchObject({ target: { name: "two" } });
    await again.return();
    const lost = readFrames(await open({ "last-event-id": "elsewhere-3" }));
    expect((await nextOf(lost)).data).toEqual({ type: "reset" });
    await lost.return();
  });

  it.each([
    ["without a token", {}, "", 401, "UNAUTHENTICATED"],
    ["of a type that there is not", {}, "?types=nonsense", 400, "VALIDATION_FAILED"],
    ["with an id in the query", {}, "?lastEventId=x-1", 400, "VALIDATION_FAILED"],
  ])("refuses a stream %s with a problem", async (which, headers, query, status, code) => {
    await using test = await createTestOrchestrator();
    await using server = await serve(test.orchestrator);
    const { token } = await test.signIn("Viewer");
    const signedIn = which === "without a token" ? {} : { authorization: `Bearer ${token}` };
    const answer = await server.call({
      path: `/api/v1/events${query}`,
      headers: { ...headers, ...signedIn },
    });
    expect([answer.status, answer.json]).toEqual([status, expect.objectContaining({ code })]);
  });

  it("ends when the operator signs out", async () => {
    await using test = await createTestOrchestrator();
    await using server = await serve(test.orchestrator);
    const { token, caller } = await test.signIn("Viewer");
    const response = await fetch(`${server.url}/api/v1/events?types=module.*`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const frames = readFrames(response);
    await nextOf(frames);
    const ended = frames.next();
    await test.orchestrator.access.signOut(caller);
    expect(await ended).toEqual({ done: true, value: undefined });
  });

  it("is given back when its reader goes away, though nothing happens", async () => {
    await using test = await createTestOrchestrator();
    await using server = await serve(test.orchestrator);
    const { token } = await test.signIn("Viewer");
    // More than a session may hold open.
    for (let count = 0; count < 36; count += 1) {
      const frames = await waitFor(async () => {
        const response = await fetch(`${server.url}/api/v1/events?types=module.uploaded`, {
          headers: { authorization: `Bearer ${token}` },
        });
        expect(response.status).toBe(200);
        return readFrames(response);
      });
      await nextOf(frames);
      await frames.return();
    }
  });
});

type Ask = (path: string, init: RequestInit) => Promise<Response>;

const carriers: Record<string, (server: TestServer, test: TestOrchestrator) => Ask> = {
  "over a socket": (server) => (path, init) => fetch(server.url + path, init),
  "within the process": (_server, { orchestrator }) => {
    const app = createApp({
      router: appRouter,
      createContext: createContextFactory(orchestrator),
      isReady: () => true,
      logger: new RecordingLogger(),
    });
    return (path, init) => app.fetch(new Request(`http://127.0.0.1${path}`, init));
  },
};

describe.each(Object.entries(carriers))("a stream %s", (_name, carry) => {
  it.each(["/api/v1/events", "/trpc/events.stream"])(
    "at %s is kept by nobody and changed by nobody on its way",
    async (path) => {
      await using test = await createTestOrchestrator();
      await using server = await serve(test.orchestrator);
      const { token } = await test.signIn("Viewer");
      const { headers, body } = await carry(server, test)(path, {
        headers: { authorization: `Bearer ${token}` },
      });
      await body!.cancel();
      expect(headers.get("content-type")).toBe("text/event-stream");
      expect(headers.get("cache-control")).toBe("no-store, no-transform");
    },
  );
});

describe("HEAD of a stream", () => {
  it.each(Object.entries(carriers))("holds nothing open, %s", async (_name, carry) => {
    await using test = await createTestOrchestrator();
    await using server = await serve(test.orchestrator);
    const ask = carry(server, test);
    const { token } = await test.signIn("Viewer");
    const init = { method: "HEAD", headers: { authorization: `Bearer ${token}` } };
    // More than a session may hold open.
    for (let count = 0; count < 40; count += 1) {
      const { status, headers, body } = await ask("/api/v1/events", init);
      expect([status, headers.get("content-type"), body]).toEqual([200, "text/event-stream", null]);
    }
  });
});

describe("GET /api/v1/state/operations/{operation_id}/watch", () => {
  const content = `
name: talk
resources:
  - { id: file, type: file, path: /talk, content: hello }
  - { id: say, type: script, run: "echo said", run_on: [file] }
`;

  it("tells how an operation goes on until it has ended, and then ends", async () => {
    await using test = await createTestOrchestrator();
    await using server = await serve(test.orchestrator);
    await using agent = await startApprovedAgent(test);
    const { token } = await test.signIn("Operator");
    await test.orchestrator.modules.upload(systemCaller, { content });
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, {
      node_id: agent.nodeId,
      modules: ["talk"],
      wait_seconds: 0,
    });
    const response = await fetch(`${server.url}/api/v1/state/operations/${operation_id}/watch`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const types: string[] = [];
    for await (const { data } of readFrames(response)) types.push(data.type);
    expect(types[0]).toBe("operation");
    expect(types.at(-1)).toBe("ended");
    expect(new Set(types)).toEqual(new Set(["operation", "resources", "output", "ended"]));
  });
});

describe("tRPC subscriptions", () => {
  it("are the same streams, and come back by themselves where they left off", async () => {
    await using test = await createTestOrchestrator();
    await using server = await serve(test.orchestrator);
    const { token } = await test.signIn("Viewer");
    let cut = (): void => {};
    const client = createTRPCClient<AppRouter>({
      links: [
        httpSubscriptionLink({
          url: `${server.url}/trpc`,
          EventSource,
          eventSourceOptions: () => ({
            async fetch(url: string | URL, init: RequestInit) {
              const headers = { ...(init.headers as object), authorization: `Bearer ${token}` };
              const response = await fetch(url, { ...init, headers });
              const breaking = new TransformStream<Uint8Array, Uint8Array>({
                start: (controller) => void (cut = () => controller.error(new Error("cut"))),
              });
              return new Response(response.body!.pipeThrough(breaking), response);
            },
          }),
        }),
      ],
    });
    const heard: string[] = [];
    let wake = (): void => {};
    const until = async (count: number): Promise<void> => {
      while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve));
    };
    const subscription = client.events.stream.subscribe(
      { types: ["module.*"] },
      {
        onData({ data }) {
          heard.push(data.type === "event" ? data.event.target!.name : data.type);
          wake();
        },
      },
    );
    await until(1);
    await upload(test, "one");
    await until(2);
    cut();
    await upload(test, "two");
    await until(4);
    expect(heard).toEqual(["position", "one", "position", "two"]);
    subscription.unsubscribe();
  });
});
