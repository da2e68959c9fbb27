/** Requests that are sent exactly as written, to an app on a real socket of loopback. */
import { request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { App } from "../../adapters/h3/app.ts";
import { listenApp } from "../../adapters/h3/serve.ts";

/** What a server answered. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body where it is JSON; else undefined. */
  json: unknown;
}

/** A request as it goes over the wire: the path is sent exactly as written. */
export interface Call {
  method?: string;
  path: string;
  /** A header with an empty value is left out. */
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Sends the body without announcing its length. */
  chunked?: boolean;
}

/** An app that listens on a free port of loopback. */
export interface AppOnSocket extends AsyncDisposable {
  port: number;
  url: string;
}

/** Listens with an app as a server does, until it is disposed of. */
export async function listenOnLoopback(app: App): Promise<AppOnSocket> {
  const { port, url, close } = await listenApp(app, { port: 0, graceMs: 0 });
  return { port, url, [Symbol.asyncDispose]: close };
}

/** Sends a request on a connection of its own and reads the whole answer. */
export function send(port: number, call: Call): Promise<Answer> {
  const { method = "GET", path, headers = {}, body, chunked = false } = call;
  return new Promise((resolve, reject) => {
    const length = body === undefined || chunked ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const given = Object.fromEntries(
      Object.entries({ ...length, ...headers }).filter(([, value]) => value !== ""),
    );
    const request = httpRequest(
      { host: "127.0.0.1", port, method, path, headers: given, agent: false },
      (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(pieces).toString();
          const isJson = /json/.test(response.headers["content-type"] ?? "") && text !== "";
          const json: unknown = isJson ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
        });
      },
    );
    request.on("error", reject);
    if (chunked) request.flushHeaders();
    request.end(body);
  });
}

/** What the first item of a stream of events says, however its bytes are cut; the stream goes on. */
export function firstItem(stream: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    stream.setEncoding("utf8").on("error", reject);
    stream.on("data", (piece: string) => {
      text += piece;
      const said = /^data: (.*)\n/m.exec(text)?.[1];
      if (said !== undefined) resolve(said);
    });
  });
}
