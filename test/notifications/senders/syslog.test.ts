import type { TlsOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import { syslogChannelType } from "../../../lib/notifications/senders/syslog.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { createCertificate } from "../../support/certificate.ts";
import { startSocketServer } from "../../support/receiver.ts";
import { framesOf, parseSyslog } from "../../support/syslog.ts";
import { waitFor } from "../../support/wait-for.ts";
import { localOutbound, messageOf, send } from "./scene.ts";

/** A receiver that reads the bytes of each connection until its end. */
async function startCollector(tls?: TlsOptions) {
  const streams: Buffer[] = [];
  const { port, connections } = await startSocketServer(
    (socket) => {
      const chunks: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.on("end", () => streams.push(Buffer.concat(chunks)));
    },
    tls ? { tls } : {},
  );
  return { port, connections, streams, config: { host: "127.0.0.1", port, tls: tls !== undefined } };
}

describe("syslog", () => {
  it("gets a message of RFC 5424 with its length before it", async () => {
    const { config, streams } = await startCollector();
    const attempt = await send(syslogChannelType, config);
    expect(attempt).toEqual({ delivered: true, duration_ms: expect.any(Number) as number });
    await waitFor(() => expect(streams).toHaveLength(1));
    const frames = framesOf(streams[0]!);
    expect(frames).toHaveLength(1);
    expect(parseSyslog(frames[0]!)).toEqual({
      head: [3 * 8 + 2, "2030-01-01T00:00:00.000Z", "-", "fleetwright", "-", "agent.offline"],
      id: "fleetwright@32473",
      params: {
        id: "0197a5b4-6d1e-7c3a-9f00-0123456789ab",
        subject_type: "agent",
        subject_id: "0f3a",
        subject_name: "web-1",
        data: '{"seconds":60}',
      },
      text: "web-1 is offline: Nothing was heard of it for 60 s. It was at 10.0.0.7.",
    });
  });

  it("gets it through TLS, from one whose certificate it can trust", async () => {
    const tls = await createCertificate();
    const { config, streams } = await startCollector(tls);
    const untrusted = await send(syslogChannelType, config);
    expect(untrusted).toMatchObject({ delivered: false, error: "the certificate is not trusted" });
    expect(await send(syslogChannelType, config, { outbound: localOutbound([tls.cert]) })).toMatchObject({
      delivered: true,
    });
    await waitFor(() => expect(streams.filter((stream) => stream.length > 0)).toHaveLength(1));
    const [stream] = streams.filter((each) => each.length > 0);
    expect(parseSyslog(framesOf(stream!)[0]!).params["id"]).toBe(messageOf().id);
  });

  it.each([
    ["kern", "info", 6],
    ["auth", "warning", 4 * 8 + 4],
    ["cron", "info", 9 * 8 + 6],
    ["authpriv", "info", 10 * 8 + 6],
    ["audit", "critical", 13 * 8 + 2],
    ["alert", "critical", 14 * 8 + 2],
    ["local0", "info", 16 * 8 + 6],
    ["local7", "critical", 23 * 8 + 2],
  ] as const)("counts facility %s and severity %s as %d", async (facility, severity, priority) => {
    const { config, streams } = await startCollector();
    await send(
      syslogChannelType,
      { ...config, facility, hostname: "fleet.example" },
      { message: messageOf({ severity }) },
    );
    await waitFor(() => expect(streams).toHaveLength(1));
    expect(parseSyslog(framesOf(streams[0]!)[0]!).head.slice(0, 3)).toEqual([
      priority,
      "2030-01-01T00:00:00.000Z",
      "fleet.example",
    ]);
  });

  it("takes no text for structure, and no line end for an end", async () => {
    const name = 'web"] \\ \\" [x@1 y="z"]\n<0>1 - - - - - forged';
    const { config, streams } = await startCollector();
    const message = messageOf({
      title: name,
      body: name,
      subject: { type: "agent", id: name, name },
      event_type: name,
      data: { name },
    });
    await send(syslogChannelType, config, { message });
    await waitFor(() => expect(streams).toHaveLength(1));
    expect(streams[0]!.includes("\n")).toBe(false);
    const [frame, ...more] = framesOf(streams[0]!);
    expect(more).toEqual([]);
    const { head, params, text } = parseSyslog(frame!);
    const line = name.replace("\n", " ");
    expect(params).toMatchObject({ subject_id: line, subject_name: line, data: JSON.stringify({ name }) });
    expect(text).toBe(`${line}: ${line}`);
    expect(head[5]).toMatch(/^[!-~]{1,32}$/);
  });

  it("announces what is not ASCII as UTF-8, and counts bytes", async () => {
    const { config, streams } = await startCollector();
    await send(syslogChannelType, config, { message: messageOf({ title: "Zoë 🚒", body: "" }) });
    await waitFor(() => expect(streams).toHaveLength(1));
    expect(parseSyslog(framesOf(streams[0]!)[0]!).text).toBe("\ufeffZoë 🚒");
  });

  it.each(["🚒", '"', "\u0001", "a"])("stays within 8192 bytes, whatever comes (%j)", async (character) => {
    const text = character.repeat(20_000);
    const { config, streams } = await startCollector();
    const message = messageOf({
      title: text,
      body: text,
      subject: { type: text, id: text, name: text },
      event_type: text,
      id: text,
      data: { text },
    });
    expect(await send(syslogChannelType, config, { message })).toMatchObject({ delivered: true });
    await waitFor(() => expect(streams).toHaveLength(1));
    expect(streams[0]!.length).toBeLessThan(8192);
    const { params, text: said } = parseSyslog(framesOf(streams[0]!)[0]!);
    expect(params).not.toHaveProperty("data");
    expect(said).toMatch(/…$/);
    expect(`${Object.values(params).join("")}${said}`).not.toMatch(/\p{Surrogate}/u);
  });

  it.each(["a", '"', "\\", "]", "é", "🚒"])(
    "has data of up to 3072 bytes with its escapes, or none (%j)",
    async (character) => {
      const escapedSize = (data: object): number =>
        Buffer.byteLength(JSON.stringify(data).replace(/["\\\]]/g, "\\$&"));
      const most = { text: "" };
      while (escapedSize({ text: most.text + character }) <= 3072) most.text += character;
      most.text += "a".repeat(3072 - escapedSize(most));
      for (const [data, told] of [
        [most, JSON.stringify(most)],
        [{ text: `${most.text}a` }, undefined],
      ] as const) {
        const { config, streams } = await startCollector();
        await send(syslogChannelType, config, { message: messageOf({ data }) });
        await waitFor(() => expect(streams).toHaveLength(1));
        expect(parseSyslog(framesOf(streams[0]!)[0]!).params["data"]).toBe(told);
      }
    },
  );

  it("has data as it is, with spaces and what is no text", async () => {
    const data = { name: "  a  b\n\u0085\u2028\u202ec\ud800 " };
    const { config, streams } = await startCollector();
    await send(syslogChannelType, config, { message: messageOf({ data }) });
    await waitFor(() => expect(streams).toHaveLength(1));
    const told = parseSyslog(framesOf(streams[0]!)[0]!).params["data"]!;
    expect(JSON.parse(told)).toEqual(data);
    expect(told).toBe('{"name":"  a  b\\n\\u0085\\u2028\\u202ec\\ud800 "}');
  });

  it("is delivered when every byte was handed over, also to one that never closes", async () => {
    const clock = new FakeClock();
    const { port } = await startSocketServer((socket) => void (socket.allowHalfOpen = true));
    const sending = send(syslogChannelType, { host: "127.0.0.1", port, tls: false }, { clock });
    let ended = false;
    void sending.then(() => (ended = true));
    await waitFor(async () => {
      await clock.advance(100);
      expect(ended).toBe(true);
    }, 50);
    const attempt = await sending;
    expect(attempt).toMatchObject({ delivered: true });
    expect(attempt.duration_ms).toBeGreaterThanOrEqual(1000);
  });

  it("is not delivered to one that breaks the connection off", async () => {
    const { port } = await startSocketServer((socket) => socket.once("data", () => socket.resetAndDestroy()));
    const attempt = await send(syslogChannelType, { host: "127.0.0.1", port, tls: false });
    expect(attempt).toMatchObject({ delivered: false, error: "the other side broke the connection off" });
    expect(attempt.permanent).toBeUndefined();
  });

  it("is not configured with a facility that there is not, or a name of two words", () => {
    const parsed = (more: object) =>
      syslogChannelType.config.safeParse({ host: "log.example", ...more }).success;
    expect(parsed({})).toBe(true);
    expect(parsed({ facility: "local8" })).toBe(false);
    expect(parsed({ hostname: "a b" })).toBe(false);
    expect(parsed({ port: 0 })).toBe(false);
  });
});
