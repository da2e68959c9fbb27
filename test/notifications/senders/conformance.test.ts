import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { SMTPServer } from "smtp-server";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { channelTypes } from "../../../lib/notifications/senders/channel-types.ts";
import { channelConformance } from "../../../lib/testing/channel-conformance.ts";
import type {
  ChannelReceiver,
  ChannelUnderTest,
  ReceiverAnswer,
} from "../../../lib/testing/channel-scene.ts";
import { createCertificate } from "../../support/certificate.ts";

const statuses: Record<ReceiverAnswer, number> = { takes: 200, refuses: 404, fails: 503 };

async function receiver(server: Server, received: string[]): Promise<ChannelReceiver> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const http = (config: (origin: string) => JsonObject): ChannelUnderTest => ({
  config: (port) => config(`http://127.0.0.1:${port}`),
  receive(answer, words) {
    const received: string[] = [];
    const server = createHttpServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        received.push(Buffer.concat(chunks).toString());
        response.writeHead(statuses[answer], words, { "x-words": words }).end(words);
      });
    });
    return receiver(server, received);
  },
});

const { cert, key } = await createCertificate();

const smtp: ChannelUnderTest = {
  certificateAuthorities: [cert],
  config: (port) => ({
    host: "127.0.0.1",
    port,
    username: "fleet",
    password: "secret-word",
    from: "fleet@example.com",
    to: ["ops@example.com"],
  }),
  receive(answer, words) {
    const received: string[] = [];
    const refusal = Object.assign(new Error(words), { responseCode: answer === "refuses" ? 550 : 451 });
    const server = new SMTPServer({
      cert,
      key,
      onAuth: ({ password }, _session, done) =>
        done(password === "secret-word" ? null : refusal, { user: "fleet" }),
      disableReverseLookup: true,
      onRcptTo: (_address, _session, done) => done(answer === "takes" ? null : refusal),
      onData(stream, _session, done) {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => {
          received.push(Buffer.concat(chunks).toString());
          done();
        });
      },
    });
    server.on("error", () => {});
    return receiver(server.server as Server, received);
  },
};

const syslog: ChannelUnderTest = {
  config: (port) => ({ host: "127.0.0.1", port, tls: false }),
  receive() {
    const received: string[] = [];
    const server = createServer((socket) => {
      const chunks: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.on("end", () => received.push(Buffer.concat(chunks).toString()));
    });
    return receiver(server, received);
  },
};

const posting = http((origin) => ({ url: `${origin}/services/secret-path` }));

const subjects: Record<string, { under: ChannelUnderTest; answers: boolean }> = {
  webhook: {
    under: http((origin) => ({
      url: origin,
      secret: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
      headers: { authorization: "Bearer secret-token" },
    })),
    answers: true,
  },
  email: { under: smtp, answers: true },
  slack: { under: posting, answers: true },
  discord: { under: posting, answers: true },
  teams: { under: posting, answers: true },
  ntfy: {
    under: http((origin) => ({ server: origin, topic: "secret-topic", token: "tk_secret" })),
    answers: true,
  },
  syslog: { under: syslog, answers: false },
};

it("tries all types that are built in", () => {
  expect(Object.keys(subjects).toSorted()).toEqual(Object.keys(channelTypes).toSorted());
});

describe.each(Object.entries(subjects))("%s", (name, { under, answers }) => {
  const cases = channelConformance(channelTypes[name]!, under);
  const fitting = cases.filter(({ needs }) => answers || needs !== "answers");
  it.each(fitting)("$promise. $name", ({ run }) => run());
});
