/** Syslog (RFC 5424) over TCP (RFC 6587) and TLS (RFC 5425), each message with its length before it. */
import { z } from "zod";
import { toFailure } from "../outbound/fault.ts";
import type { OutboundSocket } from "../outbound/outbound.ts";
import { orAborted, TimeLimit } from "../outbound/time-limit.ts";
import { timed, toFailed } from "./attempts.ts";
import { hostField, portField } from "./fields.ts";
import {
  defineChannelType,
  type ChannelType,
  type Message,
  type SendContext,
  type Severity,
} from "./sender.ts";
import { fitLine, jsonLine, utf8Size } from "./text.ts";

/** Bytes. Receivers should take 8192 in all (RFC 5425, 4.3.1). */
const limits = { name: 512, data: 3072, text: 2048 };

/** Most time for sending and for what the other side does about it, in milliseconds. */
const sendTimeoutMs = 10_000;

/** How long the other side may take to close its end, before what was handed over counts as taken, in milliseconds. */
const closingMs = 1000;

const facilities = [
  "kern",
  "user",
  "mail",
  "daemon",
  "auth",
  "syslog",
  "lpr",
  "news",
  "uucp",
  "cron",
] as const;
const furtherFacilities = { authpriv: 10, ftp: 11, audit: 13, alert: 14 } as const;
const localFacilities = [
  "local0",
  "local1",
  "local2",
  "local3",
  "local4",
  "local5",
  "local6",
  "local7",
] as const;

const facilityCodes: ReadonlyMap<string, number> = new Map([
  ...facilities.map((name, code): [string, number] => [name, code]),
  ...Object.entries(furtherFacilities),
  ...localFacilities.map((name, index): [string, number] => [name, 16 + index]),
]);

const severityCodes: Record<Severity, number> = { critical: 2, warning: 4, info: 6 };

const config = z.strictObject({
  host: hostField().describe("Name or address of the receiver."),
  port: portField().optional().describe("Port of the receiver. Default 6514 with TLS, 601 without."),
  tls: z.boolean().optional().describe("Whether the connection is encrypted (RFC 5425). Default true."),
  facility: z
    .enum([...facilities, "authpriv", "ftp", "audit", "alert", ...localFacilities])
    .optional()
    .describe("Facility that messages are of. Default `daemon`."),
  hostname: z
    .string()
    .regex(/^[!-~]{1,255}$/, "1-255 characters of ASCII without spaces")
    .optional()
    .describe("Name of this server in the messages. Default `-`, for which receivers put the address."),
});

const syslog: ChannelType<z.infer<typeof config>> = {
  config,
  secretFields: [],
  send(message, { host, tls = true, port = tls ? 6514 : 601, facility = "daemon", hostname = "-" }, context) {
    return timed(context, async () => {
      using limit = new TimeLimit(context.clock, sendTimeoutMs, {
        within: context.signal,
        error: "the message was not taken in time",
      });
      const connected = await context.outbound.connect(host, port, { tls, signal: limit.signal });
      if (!connected.ok) return toFailed(connected);
      const { socket } = connected;
      try {
        const text = toSyslog(message, { facility, hostname });
        await orAborted(handOver(socket, `${utf8Size(text)} ${text}`, context), limit.signal);
        return { delivered: true };
      } catch (error) {
        return toFailed(toFailure(error));
      } finally {
        socket.destroy();
      }
    });
  },
};

/** Messages to a receiver of syslog. */
export const syslogChannelType: ChannelType = defineChannelType(syslog);

/**
 * Writes all, and closes. Syslog has no answer: it counts that every byte was handed over, and that the other side did not
 * break the connection off but closed it, or kept it open for a while.
 */
function handOver(socket: OutboundSocket, frame: string, { clock }: SendContext): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    let flushed = false;
    socket.once("error", reject);
    socket.once("close", () => {
      if (flushed) resolve();
      else reject(Object.assign(new Error("closed"), { code: "ECONNRESET" }));
    });
    // Nothing is expected, but an end that is not read is never told.
    socket.resume();
    socket.end(frame, () => {
      flushed = true;
      const timer = clock.setTimer(closingMs, resolve);
      socket.once("close", () => timer.cancel());
    });
  });
}

/** A message as RFC 5424 writes it. */
function toSyslog(message: Message, { facility, hostname }: { facility: string; hostname: string }): string {
  const { event_type, severity, title, body, created_at } = message;
  const priority = (facilityCodes.get(facility) ?? 3) * 8 + severityCodes[severity];
  const messageId = event_type.replace(/[^!-~]/g, "?").slice(0, 32) || "-";
  const said = fitLine(body.trim() === "" ? title : `${title}: ${body}`, {
    most: limits.text,
    size: utf8Size,
  });
  // What is not ASCII is announced as UTF-8.
  const text = /^[ -~]*$/.test(said) ? said : `\ufeff${said}`;
  const head = [
    `<${priority}>1`,
    created_at,
    hostname,
    "fleetwright",
    "-",
    messageId,
    structuredData(message),
  ];
  return [...head, text].join(" ");
}

/** 32473 is the number of enterprises that have none (RFC 5612). */
function structuredData({ id, subject, data }: Message): string {
  const { type, id: subjectId, name } = subject;
  const params = {
    id,
    subject_type: type,
    subject_id: subjectId,
    ...(name !== undefined && { subject_name: name }),
  };
  const written = Object.entries(params).map(([key, value]) => param(key, value, limits.name));
  const json = data === undefined ? "" : escape(jsonLine(data));
  // Cut, it would be no JSON any more.
  if (json !== "" && utf8Size(json) <= limits.data) written.push(`data="${json}"`);
  return `[fleetwright@32473 ${written.join(" ")}]`;
}

function param(name: string, value: string, most: number): string {
  return `${name}="${fitLine(value, { most, size: utf8Size, escape })}"`;
}

function escape(text: string): string {
  return text.replace(/["\\\]]/g, "\\$&");
}
