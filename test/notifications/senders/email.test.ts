import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from "smtp-server";
import { describe, expect, it, onTestFinished } from "vitest";
import { emailChannelType } from "../../../lib/notifications/senders/email.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { createCertificate } from "../../support/certificate.ts";
import { startSocketServer } from "../../support/receiver.ts";
import { waitFor } from "../../support/wait-for.ts";
import { localOutbound, messageOf, send } from "./scene.ts";

interface Mail {
  raw: string;
  from: string;
  to: string[];
  encrypted: boolean;
}

function toMail(raw: string, { envelope, secure }: SMTPServerSession): Mail {
  const { mailFrom, rcptTo } = envelope;
  const from = mailFrom === false ? "" : mailFrom.address;
  return { raw, from, to: rcptTo.map(({ address }) => address), encrypted: secure };
}

const account = { username: "fleet", password: "pass word" };
const people = { from: "fleet@example.com", to: ["ops@example.com"] };

function withCode(text: string, responseCode: number): Error {
  return Object.assign(new Error(text), { responseCode });
}

/** A real server, which takes one account. */
async function startMailServer(options: SMTPServerOptions = {}) {
  const mails: Mail[] = [];
  const { cert, key } = await createCertificate();
  const signedIn: string[] = [];
  const server = new SMTPServer({
    cert,
    key,
    authOptional: true,
    disableReverseLookup: true,
    onAuth({ username = "", password }, session, done) {
      if (username !== account.username || password !== account.password)
        return done(withCode("tiger: no such account", 535));
      signedIn.push(`${username} ${session.secure ? "encrypted" : "plain"}`);
      done(null, { user: username });
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        mails.push(toMail(Buffer.concat(chunks).toString(), session));
        done();
      });
    },
    ...options,
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = server.server.address() as AddressInfo;
  return { port, mails, cert, signedIn, config: { host: "127.0.0.1", port, ...people } };
}

/** Header fields of a mail, unfolded, and its body, decoded. */
function parse(raw: string): { headers: Record<string, string>; names: string[]; body: string } {
  const [head = "", ...rest] = raw.split("\r\n\r\n");
  const fields = head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
  const pairs = fields.map((line) => [
    line.slice(0, line.indexOf(":")).toLowerCase(),
    line.slice(line.indexOf(":") + 2),
  ]);
  const headers = Object.fromEntries(pairs) as Record<string, string>;
  const text = rest.join("\r\n\r\n");
  const decoded =
    headers["content-transfer-encoding"] === "base64"
      ? Buffer.from(text, "base64").toString()
      : text
          .replace(/=\r\n/g, "")
          .replace(/(=[\dA-F]{2})+/g, (all) => Buffer.from(all.replaceAll("=", ""), "hex").toString());
  return { headers, names: pairs.map(([name = ""]) => name), body: decoded };
}

describe("a mail", () => {
  it("is handed over by STARTTLS, signed in", async () => {
    const { config, cert, mails, signedIn } = await startMailServer();
    const attempt = await send(
      emailChannelType,
      { ...config, ...account, to: ["a@example.com", "b@example.com"] },
      {
        outbound: localOutbound([cert]),
      },
    );
    expect(attempt).toEqual({ delivered: true, duration_ms: expect.any(Number) as number });
    expect(signedIn).toEqual(["fleet encrypted"]);
    const [{ raw, from, to }] = mails as [Mail];
    expect(from).toBe("fleet@example.com");
    expect(to).toEqual(["a@example.com", "b@example.com"]);
    const { headers, body } = parse(raw);
    expect(headers).toMatchObject({
      from: "Fleetwright <fleet@example.com>",
      to: "a@example.com, b@example.com",
      subject: "[critical] web-1 is offline",
      "message-id": "<0197a5b4-6d1e-7c3a-9f00-0123456789ab@example.com>",
      date: "Tue, 01 Jan 2030 00:00:00 +0000",
      "auto-submitted": "auto-generated",
      importance: "High",
      "content-type": "text/plain; charset=utf-8",
    });
    expect(body.trimEnd().split("\r\n")).toEqual([
      "Nothing was heard of it for 60 s.",
      "It was at 10.0.0.7.",
      "",
      "Severity: Critical",
      "About: agent web-1 (0f3a)",
      "Event: agent.offline",
      "Time: 2030-01-01T00:00:00.000Z",
      "https://fleet.example/agents/0f3a",
    ]);
  });

  it("names what has no name by its id", async () => {
    const { config, mails } = await startMailServer();
    const message = messageOf({ subject: { type: "agent", id: "0f3a" } });
    await send(emailChannelType, { ...config, security: "none" }, { message });
    expect(parse(mails[0]!.raw).body).toContain("\r\nAbout: agent 0f3a\r\n");
  });

  it("is handed over by TLS from the start", async () => {
    const { config, cert, mails } = await startMailServer({ secure: true });
    const attempt = await send(
      emailChannelType,
      { ...config, security: "tls", ...account },
      {
        outbound: localOutbound([cert]),
      },
    );
    expect(attempt).toMatchObject({ delivered: true });
    expect(mails[0]?.encrypted).toBe(true);
  });

  it("is handed over without encryption only where that is wanted", async () => {
    const { config, mails } = await startMailServer({ hideSTARTTLS: true, disabledCommands: ["STARTTLS"] });
    const refused = await send(emailChannelType, config);
    expect(refused).toMatchObject({ delivered: false, error: expect.stringContaining("STARTTLS") as string });
    expect(mails).toEqual([]);
    expect(await send(emailChannelType, { ...config, security: "none" })).toMatchObject({ delivered: true });
    expect(mails[0]?.encrypted).toBe(false);
  });

  it("is handed over without encryption where that is wanted, though the server offers it", async () => {
    const { config, mails } = await startMailServer();
    expect(await send(emailChannelType, { ...config, security: "none" })).toMatchObject({ delivered: true });
    expect(mails.map(({ encrypted }) => encrypted)).toEqual([false]);
  });

  it("has one id for all attempts, of its own for each message", async () => {
    const { config, cert, mails } = await startMailServer();
    const outbound = localOutbound([cert]);
    for (const id of ["one", "one", "two <x>\r\nbcc: y"])
      await send(emailChannelType, config, { outbound, message: messageOf({ id }) });
    const ids = mails.map(({ raw }) => parse(raw).headers["message-id"]);
    expect(ids).toEqual(["<one@example.com>", "<one@example.com>", "<two__x___bcc__y@example.com>"]);
    expect(new Set(mails.map(({ raw }) => raw)).size).toBe(2);
  });

  it("has no header and no recipient that a name smuggled in", async () => {
    const { config, cert, mails } = await startMailServer();
    const name = "web-1\r\nBcc: evil@example.com\r\n\r\n<b>hello</b>\r\n.\r\nMAIL FROM:<evil@example.com>";
    const message = messageOf({
      title: name,
      body: `first\r\n.\r\n${name}`,
      subject: { type: name, id: name, name },
      event_type: name,
      created_at: "2030-01-01T00:00:00.000Z",
    });
    const attempt = await send(
      emailChannelType,
      { ...config, from_name: `Fleet\r\nBcc: evil@example.com "<` },
      {
        message,
        outbound: localOutbound([cert]),
      },
    );
    expect(attempt).toMatchObject({ delivered: true });
    expect(mails).toHaveLength(1);
    const [{ raw, to }] = mails as [Mail];
    expect(to).toEqual(["ops@example.com"]);
    const { names, headers, body } = parse(raw);
    expect(names).not.toContain("bcc");
    expect(headers["to"]).toBe("ops@example.com");
    expect(headers["subject"]).toContain("[critical] web-1 Bcc: evil@example.com");
    expect(body).toContain("first\r\n.\r\nweb-1\r\nBcc: evil@example.com");
  });

  it("may be written in any letters, with a subject that is cut between two", async () => {
    const { config, cert, mails } = await startMailServer();
    const message = messageOf({ title: "🚒é".repeat(500), body: "Zoë 🚒" });
    expect(await send(emailChannelType, config, { message, outbound: localOutbound([cert]) })).toMatchObject({
      delivered: true,
    });
    const { headers, body } = parse(mails[0]!.raw);
    const words = (headers["subject"] ?? "").matchAll(/=\?UTF-8\?([BQ])\?([^?]*)\?=/g);
    const subject = [...words]
      .map(([, how, word = ""]) =>
        how === "B"
          ? Buffer.from(word, "base64").toString()
          : Buffer.from(
              word
                .replaceAll("_", " ")
                .replace(/=([\dA-F]{2})/g, (_all, hex: string) =>
                  String.fromCharCode(Number.parseInt(hex, 16)),
                ),
              "latin1",
            ).toString(),
      )
      .join("");
    expect(subject).toMatch(/^\[critical\] (🚒é)+🚒?…$/u);
    expect(subject.length).toBeLessThanOrEqual(200);
    expect(body).toContain("Zoë 🚒");
  });
});

describe("a server that", () => {
  it("has the certificate of another host gets no password and no mail, by STARTTLS and TLS alike", async () => {
    const starttls = await startMailServer();
    const other = await createCertificate("DNS:other.example");
    const tls = await startMailServer({ ...other, secure: true });
    const untrusted = await send(emailChannelType, { ...starttls.config, ...account });
    expect(untrusted).toMatchObject({ delivered: false, error: "the certificate is not trusted" });
    const wrong = await send(
      emailChannelType,
      { ...tls.config, ...account, security: "tls" },
      {
        outbound: localOutbound([other.cert]),
      },
    );
    expect(wrong).toMatchObject({ delivered: false, error: "the certificate is of another host" });
    const wrongLater = await startMailServer(other);
    const later = await send(
      emailChannelType,
      { ...wrongLater.config, ...account },
      {
        outbound: localOutbound([other.cert]),
      },
    );
    expect(later).toMatchObject({ delivered: false, error: "the certificate is of another host" });
    for (const { mails, signedIn } of [starttls, tls, wrongLater])
      expect([...mails, ...signedIn]).toEqual([]);
  });

  it("refuses the password is not asked again", async () => {
    const { config, cert } = await startMailServer();
    const attempt = await send(
      emailChannelType,
      { ...config, username: "fleet", password: "wrong" },
      {
        outbound: localOutbound([cert]),
      },
    );
    expect(attempt).toMatchObject({
      delivered: false,
      permanent: true,
      status_code: 535,
      error: "the server refused the user name or the password (535)",
    });
  });

  it("takes no password gets no mail where there is one to give", async () => {
    const { config, cert, mails } = await startMailServer({ disabledCommands: ["AUTH"] });
    const attempt = await send(
      emailChannelType,
      { ...config, ...account },
      { outbound: localOutbound([cert]) },
    );
    expect(attempt).toMatchObject({ delivered: false });
    expect(attempt.error).toMatch(/user name/);
    expect(mails).toEqual([]);
  });

  it.each([
    [550, { permanent: true }],
    [451, {}],
  ])("refuses all recipients with %d", async (code, expected) => {
    const { config, cert, mails } = await startMailServer({
      onRcptTo: (_address, _session, done) => done(withCode("tiger", code)),
    });
    const { duration_ms: _, ...attempt } = await send(emailChannelType, config, {
      outbound: localOutbound([cert]),
    });
    expect(attempt).toEqual({
      delivered: false,
      status_code: code,
      error: `the server refused all recipients (${code})`,
      ...expected,
    });
    expect(mails).toEqual([]);
  });

  it("refuses one of the recipients has delivered to the others, and says so", async () => {
    const { config, cert, mails } = await startMailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith("gone") ? withCode("tiger", 550) : null),
    });
    const to = ["ops@example.com", "gone@example.com"];
    const attempt = await send(emailChannelType, { ...config, to }, { outbound: localOutbound([cert]) });
    expect(attempt).toMatchObject({ delivered: true, error: "the server refused 1 of 2 recipients" });
    expect(mails).toHaveLength(1);
  });

  it("refuses the sender or the content is told with its code alone", async () => {
    const sender = await startMailServer({
      onMailFrom: (_address, _session, done) => done(withCode("tiger", 553)),
    });
    const refused = await send(emailChannelType, sender.config, { outbound: localOutbound([sender.cert]) });
    expect(refused).toMatchObject({
      permanent: true,
      status_code: 553,
      error: "the server refused the message (553)",
    });
    const content = await startMailServer({
      onData: (stream, _session, done) => void stream.resume().on("end", () => done(withCode("tiger", 452))),
    });
    const later = await send(emailChannelType, content.config, { outbound: localOutbound([content.cert]) });
    expect(later).toMatchObject({ delivered: false, status_code: 452 });
    expect(later.permanent).toBeUndefined();
  });

  it("never greets is given up after 30 s", async () => {
    const clock = new FakeClock();
    const { port, connections } = await startSocketServer(() => {});
    const sending = send(emailChannelType, { host: "127.0.0.1", port, ...people }, { clock });
    await waitFor(() => expect(connections()).toBe(1));
    await clock.advance(29_999);
    await clock.advance(1);
    expect(await sending).toEqual({
      delivered: false,
      error: "the message was not taken in time",
      duration_ms: 30_000,
    });
  });

  it.each([
    ["hangs up", ""],
    ["speaks HTTP", "HTTP/1.1 400 tiger\r\n\r\n"],
    ["is busy", "421 tiger\r\n"],
    ["wants nobody", "554 tiger\r\n"],
    ["is no server of mail", "\u0000".repeat(100_000)],
  ])("%s takes no mail, and none of its words are told", async (_what, text) => {
    const { port } = await startSocketServer((socket) => socket.end(text));
    const attempt = await send(emailChannelType, { host: "127.0.0.1", port, ...people });
    expect(attempt).toMatchObject({ delivered: false, error: expect.any(String) as string });
    expect(attempt.error).not.toContain("tiger");
    if (text.startsWith("554")) expect(attempt).toMatchObject({ permanent: true, status_code: 554 });
    if (text.startsWith("421")) expect(attempt).toMatchObject({ status_code: 421 });
  });

  it("says more before the encryption begins is not believed", async () => {
    const heard: string[] = [];
    const { port } = await startSocketServer((socket) => {
      socket.write("220 hello\r\n");
      socket.on("data", (data) => {
        const text = data.toString("latin1");
        heard.push(text);
        if (text.startsWith("EHLO")) socket.write("250-hello\r\n250 STARTTLS\r\n");
        // What comes with the answer must not be read as if it came encrypted.
        else if (text.startsWith("STARTTLS"))
          socket.write("220 go\r\n250 AUTH PLAIN\r\n235 in\r\n250 ok\r\n");
        else socket.end();
      });
    });
    const attempt = await send(emailChannelType, { host: "127.0.0.1", port, ...people, ...account });
    expect(attempt).toMatchObject({ delivered: false });
    expect(heard).toHaveLength(3);
    expect(heard[2]?.charCodeAt(0)).toBe(0x16);
  });

  it("is stopped when the attempt is", async () => {
    const stop = new AbortController();
    const { port } = await startSocketServer((socket) => {
      socket.write("220 hello\r\n");
      socket.once("data", () => stop.abort());
    });
    const attempt = await send(
      emailChannelType,
      { host: "127.0.0.1", port, ...people },
      { signal: stop.signal },
    );
    expect(attempt).toMatchObject({ delivered: false, error: "the attempt was stopped" });
  });
});
