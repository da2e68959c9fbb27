/** Hosts that read a body before they hand the request over: what it said must not pass for nothing. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import express from "express";
import Fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { createOrchestratorApp } from "fleetwright/h3";
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

const hosts: Record<string, (app: ReturnType<typeof createOrchestratorApp>) => Serve> = {
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
};

it.each(Object.entries(hosts))(
  "a call whose body was read by %s is refused, and not made without it",
  async (_, host) => {
    await using product = await createTestOrchestrator();
    const { orchestrator } = product;
    const { token, caller } = await product.signIn("Admin", "ada");
    await using agent = await connectScriptedAgent(product);
    const serve = host(createOrchestratorApp({ orchestrator, mountPath }));

    // Without a body, every agent that waits is rejected
    const answer = await serve(
      new Request(`http://127.0.0.1${mountPath}/api/v1/pending-agents/reject`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ network: "203.0.113.0/24" }),
      }),
    );

    const detail =
      "The body was read before the request came here: the server around this surface must not parse it.";
    expect(await answer.json()).toMatchObject({ status: 400, code: "VALIDATION_FAILED", detail });
    const { status } = await orchestrator.agents.get(caller, { node_id: agent.nodeId });
    expect(status).toBe("pending");
  },
);
