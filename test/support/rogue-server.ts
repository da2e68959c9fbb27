/** A server that takes whoever signs in to it for a ride: it relays the challenge of another one, to get a session there. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** JSON of a request or an answer. */
export type Fields = Record<string, unknown>;

/** How a rogue goes about it. Default: it passes everything on as it is. */
export interface RogueOptions {
  /** What it asks the real server for in place of what it was asked. */
  ask?: (asked: Fields, servers: { realUrl: string }) => Fields;
  /** What it hands to its victim in place of the real server's challenge. */
  challenge?: (real: Fields, asked: Fields) => Fields;
}

/** A rogue that listens. */
export interface Rogue {
  url: string;
  /** Sessions on the real server that it got hold of. */
  tokens: string[];
  /** Signatures that its victims gave it. */
  signatures: string[];
  /** What the real server refused it with. */
  refusals: string[];
}

/**
 * Starts a rogue.
 *
 * @param realUrl - Of the server that it wants to get into.
 * @param port - To listen at. Default a free one.
 */
export async function startRogue(
  realUrl: string,
  { ask = (asked) => asked, challenge = (real) => real }: RogueOptions = {},
  port = 0,
): Promise<Rogue> {
  const rogue: Rogue = { url: "", tokens: [], signatures: [], refusals: [] };
  /** What the real server answered; its refusals are kept. */
  async function relay(path: string, body: Fields, host: string | undefined): Promise<[number, Fields]> {
    const headers = { "content-type": "application/json", ...(host !== undefined && { host }) };
    const answer = await fetch(`${realUrl}/api/v1${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    const fields = (await answer.json()) as Fields;
    if (!answer.ok) rogue.refusals.push(String(fields["code"]));
    return [answer.status, fields];
  }
  async function answer(request: IncomingMessage): Promise<[number, Fields]> {
    const asked = await readJson(request);
    const { host } = request.headers;
    if (request.url === "/api/v1/auth/challenge") {
      const [status, real] = await relay("/auth/challenge", ask(asked, { realUrl }), host);
      return [status, status === 200 ? challenge(real, asked) : real];
    }
    if (request.url !== "/api/v1/auth/verify") return [401, unauthenticated];
    rogue.signatures.push(String(asked["signature"]));
    const [status, session] = await relay("/auth/verify", asked, host);
    if (typeof session["token"] === "string") rogue.tokens.push(session["token"]);
    return [status, session];
  }
  const server = createServer((request, response) => {
    void answer(request).then(([status, fields]) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(fields));
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  rogue.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return rogue;
}

const unauthenticated = {
  type: "x",
  title: "x",
  status: 401,
  detail: "Sign in first.",
  code: "UNAUTHENTICATED",
};

async function readJson(request: IncomingMessage): Promise<Fields> {
  let text = "";
  for await (const piece of request) text += String(piece);
  return text === "" ? {} : (JSON.parse(text) as Fields);
}
