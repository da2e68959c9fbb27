/** What is done to the server by those that call it over HTTP, with a session and without. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { refusedModules, takenModules } from "../heavy-modules.ts";
import { send } from "../http.ts";
import type { Attack } from "./attack.ts";

const json = { "content-type": "application/json" };
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const mib = 1024 * 1024;
/** The name of a module of much text, whose reads are the largest answers that there are. */
export const largeModule = "heavy";

const uploads = [...refusedModules, ...takenModules].map(([, content]) => content.slice(0, 520_000));

/** An Operator that uploads what costs most, and what of it is taken, in new versions. */
const heavyModules: Attack = {
  hands: 2,
  restMs: 100,
  async once({ port, operator }, { hand, round }) {
    const content = `${uploads[(round * 2 + hand) % uploads.length]}# ${round}\n`;
    const body = JSON.stringify({ content });
    const headers = { ...json, ...bearer(operator) };
    expectStatus(
      [200, 201, 400],
      await send(port, { method: "POST", path: "/api/v1/modules", headers, body }),
    );
  },
};

const badBodies = [
  `{"username":"${"x".repeat(mib - 100)}"}`,
  "[".repeat(mib - 100),
  `{${Array.from({ length: 60_000 }, (_, n) => `"k${n}":{}`).join(",")}}`,
  `"${"\\ud83d\\ude00".repeat(80_000)}"`,
];

/** A Viewer that sends large nonsense to what only an Admin may do. */
const viewer: Attack = {
  hands: 3,
  restMs: 50,
  async once({ port, viewer: token }, { hand, round }) {
    const body = badBodies[(hand + round) % badBodies.length] ?? "";
    const headers = { ...json, ...bearer(token) };
    const path = round % 2 === 0 ? "/api/v1/operators" : "/trpc/operators.add";
    expectStatus([403], await send(port, { method: "POST", path, headers, body }));
  },
};

/** Strangers that try to sign in, by keys of their own. */
const signIns: Attack = {
  hands: 4,
  restMs: 20,
  async once({ port }, { round }) {
    const challenge = { public_key: randomBytes(32).toString("hex") };
    const verify = { challenge_id: randomBytes(40).toString("base64url"), signature: "0".repeat(128) };
    const [path, body] = round % 2 === 0 ? ["challenge", challenge] : ["verify", verify];
    const call = { method: "POST", path: `/api/v1/auth/${path}`, headers: json, body: JSON.stringify(body) };
    expectStatus([200, 400, 401, 429], await send(port, call));
  },
};

/** Strangers that send more than a call without a session may have. */
const largeSignIns: Attack = {
  hands: 3,
  restMs: 50,
  async once({ port }, { hand, round }) {
    const body = badBodies[(hand + round) % badBodies.length] ?? "";
    const path = round % 2 === 0 ? "/api/v1/auth/challenge" : "/trpc/auth.challenge";
    const chunked = round % 3 === 0;
    expectStatus([413, 429], await send(port, { method: "POST", path, headers: json, body, chunked }));
  },
};

/** Requests that are sent ahead for large answers, none of which is read. */
const pipelined: Attack = {
  hands: 16,
  restMs: 100,
  async once({ port, viewer: token }, { signal }) {
    const get = writeGet(`/api/v1/modules/${largeModule}`, token);
    await hold(await open(port, get.repeat(60)), 20_000, signal);
  },
};

/** Readers that take a little of a large answer now and then. */
const slowReaders: Attack = {
  hands: 16,
  restMs: 100,
  async once({ port, viewer: token }, { signal }) {
    const socket = await open(port, writeGet(`/api/v1/modules/${largeModule}`, token).repeat(4));
    for (let n = 0; n < 100 && !socket.destroyed && !signal.aborted; n += 1) {
      socket.read(512);
      await pause(200);
    }
    socket.destroy();
  },
};

/** Writers that send a request byte by byte. */
const slowWriters: Attack = {
  hands: 16,
  restMs: 100,
  async once({ port, viewer: token }, { signal }) {
    const socket = await open(port, "");
    for (const byte of writeGet("/api/v1/agents", token)) {
      if (socket.destroyed || signal.aborted) break;
      socket.write(byte);
      await pause(200);
    }
    socket.destroy();
  },
};

/** Streams of events that nobody reads, as many as a session may have and some more. */
const eventStreams: Attack = {
  hands: 40,
  restMs: 1_000,
  async once({ port, viewer: token }, { signal }) {
    const request = writeGet("/api/v1/events", token, "accept: text/event-stream\r\n");
    await hold(await open(port, request), 30_000, signal);
  },
};

const pieces = [
  "GET / HTTP/1.1\r\nHost: localhost\r\n",
  "POST /api/v1/auth/challenge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
  "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
  "GET /agent/v1 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
  `GET /${"x".repeat(20_000)} HTTP/1.1\r\n`,
  `POST /api/v1/modules HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n${"x".repeat(5_000)}`,
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];

/** Connections that break off in the middle, or by a reset. */
const broken: Attack = {
  hands: 4,
  restMs: 20,
  async once({ port }, { round }) {
    const socket = await open(port, pieces[round % pieces.length] ?? "");
    await pause(20);
    if (round % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
  },
};

export const httpAttacks: Readonly<Record<string, Attack>> = {
  heavyModules,
  viewer,
  signIns,
  largeSignIns,
  pipelined,
  slowReaders,
  slowWriters,
  eventStreams,
  broken,
};

function expectStatus(expected: readonly number[], { status, text }: { status: number; text: string }): void {
  if (expected.includes(status)) return;
  process.stderr.write(`An attack was answered with ${status}: ${text.slice(0, 300)}\n`);
  process.exitCode = 1;
}

function writeGet(path: string, token: string, more = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`;
}

/** Connects and sends something; nothing is read by itself. */
async function open(port: number, bytes: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", () => {});
  socket.pause();
  socket.write(bytes, "latin1");
  return socket;
}

/** Keeps a connection for some time, unread. */
async function hold(socket: Socket, forMs: number, signal: AbortSignal): Promise<void> {
  const until = performance.now() + forMs;
  while (performance.now() < until && !socket.destroyed && !signal.aborted) await pause(100);
  socket.destroy();
}
