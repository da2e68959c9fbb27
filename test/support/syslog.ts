/** Reads syslog strictly, and takes it in as a log server does. */
import type { Socket } from "node:net";
import { createServer, type Server, type TlsOptions } from "node:tls";
import { expect } from "vitest";
import { freePort } from "./free-port.ts";

/** The messages of a stream with their lengths before them, as RFC 6587 writes it. */
export function framesOf(stream: Buffer): string[] {
  const frames: string[] = [];
  for (let at = 0; at < stream.length;) {
    const space = stream.indexOf(" ", at);
    const length = Number(stream.subarray(at, space).toString());
    expect(length).toBeGreaterThan(0);
    expect(stream.length).toBeGreaterThanOrEqual(space + 1 + length);
    frames.push(stream.subarray(space + 1, space + 1 + length).toString());
    at = space + 1 + length;
  }
  return frames;
}

/** Reads RFC 5424. */
export function parseSyslog(frame: string) {
  const head = /^<(\d{1,3})>1 (\S+) (\S+) (\S+) (\S+) (\S+) /.exec(frame);
  expect(head).not.toBeNull();
  const [whole, priority, timestamp, hostname, app, process, messageId] = head!;
  const data = /^\[(\S+)((?: [^\s="\]]+="(?:[^"\\\]]|\\["\\\]])*")*)\] /.exec(frame.slice(whole.length));
  expect(data).not.toBeNull();
  const [element, id, params = ""] = data!;
  const values = [...params.matchAll(/ ([^\s="\]]+)="((?:[^"\\\]]|\\["\\\]])*)"/g)].map(
    ([, name, value = ""]) => [name, value.replace(/\\(["\\\]])/g, "$1")],
  );
  return {
    head: [Number(priority), timestamp, hostname, app, process, messageId],
    id,
    params: Object.fromEntries(values) as Record<string, string>,
    text: frame.slice(whole.length + element.length),
  };
}

/** A log server with TLS (RFC 5425) that can go away and come back at its port. */
export class SyslogCollector implements AsyncDisposable {
  port = 0;
  /** What came, in order: of each connection when it ended. */
  readonly messages: ReturnType<typeof parseSyslog>[] = [];
  #server: Server | null = null;
  readonly #sockets = new Set<Socket>();

  async start(tls: TlsOptions): Promise<void> {
    const server = createServer(tls, (socket) => {
      const chunks: Buffer[] = [];
      socket.on("error", () => {});
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.on("end", () => {
        for (const frame of framesOf(Buffer.concat(chunks))) this.messages.push(parseSyslog(frame));
      });
    });
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {}).once("close", () => this.#sockets.delete(socket));
    });
    if (this.port === 0) this.port = await freePort();
    await new Promise<void>((resolve) => server.listen(this.port, "127.0.0.1", resolve));
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const socket of this.#sockets) socket.destroy();
    if (server) await new Promise((resolve) => server.close(resolve));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
