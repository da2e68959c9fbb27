/** Hosts that read a body before they hand the request over: what it said must not pass for nothing. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import Fastify from "fastify";
import { H3, readBody, type H3Event } from "h3";
import { toNodeHandler } from "h3/node";
import { Hono, type Context } from "hono";
import { expect, it, onTestFinished } from "vitest";
import { createOrchestratorApp, type App } from "fleetwright/h3";
import { createTestOrchestrator } from "fleetwright/testing";
import { connectScriptedAgent } from "../../support/scripted-agent.ts";
import { mountPath } from "./hosts.ts";

type Serve = (request: Request) => Promise<Response>;
type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Sends what a `Request` says to a listener on a socket. */
function onSocket(listener: Listener): Serve {
  return async (request) => {
    const server = createServer((request, response) => void listener(request, response));
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void server.close().closeAllConnections());
    const { port } = server.address() as { port: number };
    const { pathname } = new URL(request.url);
    const { method, headers } = request;
    return fetch(`http://127.0.0.1:${port}${pathname}`, { method, headers, body: await request.text() });
  };
}

type Host = (app: App) => Serve;

function ofH3(read: (event: H3Event) => Promise<unknown>): Host {
  return (app) => {
    const theirs = new H3();
    theirs.all(`${mountPath}/**`, async (event) => {
      await read(event);
      return app.fetch(event.req as Request, event.req.ip);
    });
    return onSocket(toNodeHandler(theirs) as Listener);
  };
}

function ofHono(read: (context: Context) => Promise<unknown>): Host {
  return (app) => {
    const theirs = new Hono();
    theirs.all(`${mountPath}/*`, async (context) => {
      await read(context);
      return app.fetch(context.req.raw);
    });
    return onSocket(getRequestListener(theirs.fetch, { overrideGlobalObjects: false }));
  };
}

const hosts: Record<string, Host> = {
  "the parser of Express": (app) => {
    const theirs = express();
    theirs.use(express.json());
    theirs.all(`${mountPath}/{*path}`, app.listener);
    return onSocket(theirs);
  },

  "the parser of Fastify": (app) => {
    const theirs = Fastify();
    theirs.all(`${mountPath}/*`, (request, reply) => {
      reply.hijack();
      app.listener(request.raw, reply.raw);
    });
    return onSocket(async (request, response) => {
      await theirs.ready();
      theirs.routing(request, response);
    });
  },

  "a listener of node:http": (app) =>
    onSocket(async (request, response) => {
      await buffer(request);
      app.listener(request, response);
    }),

  "a reader of a Request": (app) => async (request) => {
    const reader = request.body!.getReader();
    while (!(await reader.read()).done);
    reader.releaseLock();
    return app.fetch(request);
  },

  "the text of a Request": (app) => async (request) => {
    await request.text();
    return app.fetch(request);
  },

  "the text of h3": ofH3(({ req }) => req.text()),
  "the JSON of h3": ofH3(({ req }) => req.json()),
  "the bytes of h3": ofH3(({ req }) => req.arrayBuffer()),
  "readBody of h3": ofH3((event) => readBody(event)),
  "the text of Hono": ofHono(({ req }) => req.text()),
  "the JSON of Hono": ofHono(({ req }) => req.json()),
};

/** Without a body, every agent that waits is rejected. */
const rejectsOne = (token: string, path: string): Request =>
  new Request(`http://127.0.0.1${mountPath}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ network: "203.0.113.0/24" }),
  });

it.each(Object.entries(hosts))(
  "a call whose body was read by %s is refused, and not made without it",
  async (_, host) => {
    await using product = await createTestOrchestrator();
    const { orchestrator } = product;
    const { token, caller } = await product.signIn("Admin", "ada");
    await using agent = await connectScriptedAgent(product);
    const serve = host(createOrchestratorApp({ orchestrator, mountPath }));

    const answer = await serve(rejectsOne(token, "/api/v1/pending-agents/reject"));
    const overTrpc = await serve(rejectsOne(token, "/trpc/agents.rejectPending"));

    const detail =
      "The body was read before the request came here: the server around this surface must not parse it.";
    expect(await answer.json()).toMatchObject({ status: 400, code: "VALIDATION_FAILED", detail });
    expect(await overTrpc.json()).toMatchObject({
      error: { data: { problem: { code: "VALIDATION_FAILED" } } },
    });
    const { status } = await orchestrator.agents.get(caller, { node_id: agent.nodeId });
    expect(status).toBe("pending");
  },
);

it("a body that somebody else is reading is told as that", async () => {
  await using product = await createTestOrchestrator();
  const { token } = await product.signIn("Admin", "ada");
  const app = createOrchestratorApp({ orchestrator: product.orchestrator, mountPath });
  const request = rejectsOne(token, "/api/v1/pending-agents/reject");
  request.body!.getReader();

  const detail = "Somebody else is reading the body: the server around this surface must not parse it.";
  const answer = await app.fetch(request);
  expect(await answer.json()).toMatchObject({ status: 400, code: "VALIDATION_FAILED", detail });
});

it.each([
  ["h3", ofH3(({ req }) => req.text())],
  ["Hono", ofHono(({ req }) => req.text())],
])("a body of no length that %s has read says what it said", async (_, host) => {
  await using product = await createTestOrchestrator();
  const { token } = await product.signIn("Admin", "ada");
  const serve = host(createOrchestratorApp({ orchestrator: product.orchestrator, mountPath }));
  const { url, method, headers } = rejectsOne(token, "/api/v1/pending-agents/reject");

  const answer = await serve(new Request(url, { method, headers }));
  expect(await answer.json()).toEqual({ rejected: 0, remaining: 0 });
});
