/** REST on a server of one's own, which drops no unread body by itself as the bundled one does. */
import { createServer, type RequestListener } from "node:http";
import { createServer as createHttp2Server, connect as connectHttp2 } from "node:http2";
import { connect, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createRestHandler } from "../../../adapters/rest/handler.ts";
import { createPartialListener, createRestListener } from "../../../adapters/rest/node.ts";
import { send } from "../../support/http.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";
import { recordingLogger } from "./server.ts";

const limitBytes = 1_000;

async function start(): Promise<number> {
  const logger = recordingLogger();
  const createContext = toyContexts(new Toy());
  const createRequestId = (): string => "r1";
  const bodyLimitBytes = limitBytes;
  const handler = createRestHandler({
    router: toyRouter,
    createContext,
    createRequestId,
    logger,
    bodyLimitBytes,
  });
  return listen(createRestListener(handler, logger));
}

/** Serves on a free port until the end of the test. */
async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return (server.address() as AddressInfo).port;
}

/** Sends, and sends the next request on the same connection once an answer is there. Returns the status of each answer, and whether the server ended the connection. */
async function talk(port: number, text: string): Promise<{ statuses: string[]; isEnded: boolean }> {
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  onTestFinished(() => void socket.destroy());
  // Whoever is cut off in the middle of what it sends hears of that in either way.
  socket.on("error", () => {});
  let heard = "";
  const statuses = (): string[] => [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = ""]) => status);
  const isOver = new Promise<boolean>((resolve) => {
    socket.once("close", () => resolve(true));
    socket.on("data", (piece: string) => {
      const before = statuses().length;
      heard += piece;
      if (statuses().length === 2) resolve(false);
      else if (before === 0 && statuses().length === 1)
        socket.write(
          "GET /api/v1/machines/web-1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer fw_good\r\n\r\n",
        );
    });
  });
  socket.write(text);
  const isEnded = await isOver;
  return { statuses: statuses(), isEnded };
}

const head = (more: string): string =>
  `POST /api/v1/machines HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer fw_good\r\nContent-Type: application/json\r\n${more}\r\n\r\n`;
const announced = (bytes: number): string => head(`Content-Length: ${bytes}`) + "x".repeat(bytes);
const chunk = `${limitBytes.toString(16)}\r\n${"x".repeat(limitBytes)}\r\n`;
const chunked = (chunks: number): string => head("Transfer-Encoding: chunked") + chunk.repeat(chunks);

test.each([
  ["a little too much, announced", announced(limitBytes + 1)],
  ["a little too much in chunks", `${chunked(2)}0\r\n\r\n`],
])("%s is read to its end, and the next request on the connection is answered", async (_what, text) => {
  expect(await talk(await start(), text)).toEqual({ statuses: ["413", "200"], isEnded: false });
});

test.each([
  ["far too much, announced", announced(limitBytes * 10)],
  ["far too much in chunks", `${chunked(1_000)}0\r\n\r\n`],
  ["far too much in chunks that never end", chunked(10)],
])("%s is answered and read no further: the connection ends", async (_what, text) => {
  expect(await talk(await start(), text)).toEqual({ statuses: ["413"], isEnded: true });
});

const bytes = new Uint8Array([0xc3, 0xa9, 0, 255]);
test.each([
  ["texts alone", ["{", "é", "}"], "{é}"],
  ["bytes alone", [bytes, bytes], Buffer.concat([bytes, bytes]).toString()],
  ["both", ["é", bytes, ","], Buffer.concat([Buffer.from("é"), bytes, Buffer.from(",")]).toString()],
  ["none", [], ""],
])("an answer in pieces is as long as they are, and as they are: %s", async (_what, pieces, text) => {
  const reply = { status: 200, headers: ["x-made", "by-hand"], pieces };
  const listener = createPartialListener(
    async () => reply,
    () => {},
    recordingLogger(),
  );
  const answer = await send(await listen(listener), { path: "/" });
  expect([answer.status, answer.headers["x-made"], answer.text]).toEqual([200, "by-hand", text]);
});

test("a body that broke off is a fault of the request, and told as one", async () => {
  const heard: unknown[] = [];
  const listener = createPartialListener(
    async (request) => {
      heard.push(await request.readBody(limitBytes).catch((error: unknown) => error));
      return { status: 200, headers: [], pieces: [] };
    },
    () => {},
    recordingLogger(),
  );
  const socket = connect(await listen(listener), "127.0.0.1");
  socket.write(`${head("Content-Length: 10")}12345`, () => socket.destroy());
  await expect
    .poll(() => heard)
    .toMatchObject([
      { code: "VALIDATION_FAILED", message: "The body broke off.", cause: { code: "ECONNRESET" } },
    ]);
});

test("a body over HTTP/2 that broke off before anybody read it does not pass for none", async () => {
  const heard: unknown[] = [];
  const listener = createRestListener(async (request) => {
    heard.push(request.hasBody() && (await request.readBody(limitBytes).catch((error: unknown) => error)));
    return { status: 204, headers: [], body: null };
  }, recordingLogger());
  const server = createHttp2Server((request, response) => {
    request.once("aborted", () => listener(request as never, response as never));
    session.destroy();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => new Promise<void>((closed) => void server.close(() => closed())));
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.request({ ":method": "POST", ":path": "/" }).on("error", () => {});

  await expect
    .poll(() => heard)
    .toMatchObject([{ code: "VALIDATION_FAILED", message: "The body broke off." }]);
});
