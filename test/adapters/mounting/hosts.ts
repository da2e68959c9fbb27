/** Servers of other makes with our surface inside, each as docs/embedding.md says. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import express from "express";
import Fastify from "fastify";
import { H3 } from "h3";
import { toNodeHandler } from "h3/node";
import { Hono } from "hono";
import type { App } from "../../../adapters/h3/app.ts";

/** Where the surface is mounted in all of them. */
export const mountPath = "/fleet";

type Start = (app: App) => Promise<Server>;

async function listen(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** Each answers "theirs" at `/own` itself. */
export const hosts: Record<string, Start> = {
  "node:http": (app) =>
    listen(
      createServer((request, response) => {
        if (request.url?.startsWith(`${mountPath}/`)) return app.listener(request, response);
        response.end("theirs");
      }),
    ),

  Express: (app) => {
    const theirs = express();
    theirs.all(`${mountPath}/{*path}`, app.listener);
    theirs.use(express.json());
    theirs.get("/own", (_, response) => void response.send("theirs"));
    return listen(createServer(theirs));
  },

  Fastify: async (app) => {
    const theirs = Fastify();
    theirs.get("/own", async () => "theirs");
    await theirs.register(
      async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("*", (_request, _body, done) => done(null));
        scope.all("/*", (request, reply) => {
          reply.hijack();
          app.listener(request.raw, reply.raw);
        });
      },
      { prefix: mountPath },
    );
    await theirs.listen({ host: "127.0.0.1", port: 0 });
    return theirs.server;
  },

  h3: (app) => {
    const theirs = new H3();
    theirs.all(`${mountPath}/**`, (event) => app.fetch(event.req as Request, event.req.ip));
    theirs.get("/own", () => "theirs");
    return listen(createServer(toNodeHandler(theirs)));
  },

  Hono: async (app) => {
    const theirs = new Hono<{ Bindings: { incoming: { socket: { remoteAddress?: string } } } }>();
    theirs.all(`${mountPath}/*`, (context) =>
      app.fetch(context.req.raw, context.env.incoming.socket.remoteAddress),
    );
    theirs.get("/own", (context) => context.text("theirs"));
    // Its server replaces these for good, for whatever else runs in the process.
    const own = { Request: globalThis.Request, Response: globalThis.Response };
    return new Promise<Server>((resolve) => {
      const server = serve({ fetch: theirs.fetch, hostname: "127.0.0.1", port: 0 }, () =>
        resolve(server as Server),
      );
      server.once("close", () => Object.assign(globalThis, own));
    });
  },
};

/** Where a server listens. */
export function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
