/** A host of mail may be written in several ways; its certificate is of the one name or address that is connected to. */
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { SMTPServer } from "smtp-server";
import { expect, it, onTestFinished } from "vitest";
import { CheckedOutbound } from "../../../lib/notifications/outbound/checked-outbound.ts";
import { emailChannelType } from "../../../lib/notifications/senders/email.ts";
import { createCertificate } from "../../support/certificate.ts";
import { send } from "./scene.ts";

/** A server at an address that asks for STARTTLS or begins with TLS, and the names that clients said. */
async function startServer(certificateOf: string, { at, secure }: { at: string; secure: boolean }) {
  const { cert, key } = await createCertificate(certificateOf);
  const named: unknown[] = [];
  const server = new SMTPServer({
    cert,
    key,
    secure,
    authOptional: true,
    disableReverseLookup: true,
    onSecure(socket, _session, done) {
      named.push((socket as TLSSocket).servername);
      done();
    },
    onData: (stream, _session, done) => void stream.resume().on("end", () => done()),
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(0, at, resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)));
  return { port: (server.server.address() as AddressInfo).port, cert, named };
}

const ways = [
  ["bücher.example", "DNS:xn--bcher-kva.example", "127.0.0.1", "xn--bcher-kva.example"],
  ["MAIL.example.", "DNS:mail.example", "127.0.0.1", "mail.example"],
  ["127.1", "IP:127.0.0.1", "127.0.0.1", false],
  ["[::1]", "IP:::1", "::1", false],
  ["::1", "IP:::1", "::1", false],
] as const;

it.each(ways.flatMap((way) => [["starttls", ...way] as const, ["tls", ...way] as const]))(
  "by %s to %s, the certificate of %s is the right one",
  async (security, host, certificateOf, at, servername) => {
    const { port, cert, named } = await startServer(certificateOf, { at, secure: security === "tls" });
    const outbound = new CheckedOutbound({
      allow: ["127.0.0.0/8", "::1"],
      connectTimeoutMs: 30_000,
      certificateAuthorities: [cert],
      resolve: () => Promise.resolve(["127.0.0.1"]),
    });
    const config = { host, port, security, from: "fleet@example.com", to: ["ops@example.com"] };
    const attempt = await send(emailChannelType, config, { outbound });
    expect(attempt).toEqual({ delivered: true, duration_ms: expect.any(Number) as number });
    // By STARTTLS it is the package that tells it: nothing for an address.
    expect(named.map((name) => name || false)).toEqual([servername]);
  },
);
