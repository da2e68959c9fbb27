/** Mail, handed to a server by SMTP. */
import { z } from "zod";
import { certifiedName } from "../outbound/addresses.ts";
import { toFailure } from "../outbound/fault.ts";
import { TimeLimit } from "../outbound/time-limit.ts";
import { timed, toFailed } from "./attempts.ts";
import { hostField, portField } from "./fields.ts";
import { defineChannelType, type ChannelType, type Message } from "./sender.ts";
import { submit, type Submission } from "./smtp.ts";
import { factsOf, fit, fitLine, linkOf, oneLine } from "./text.ts";

/** Characters. */
const limits = { subject: 200, body: 20_000 };

/** Most time for a message, in milliseconds. Longer than for HTTP: servers let strangers wait on purpose before they greet. */
const sendTimeoutMs = 30_000;

const ports = { starttls: 587, tls: 465, none: 25 } as const;

const addressField = (): z.ZodString =>
  z
    .string()
    .max(320)
    .regex(
      /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,253})$/,
      "an address of mail, without a name",
    );

const credentialField = (): z.ZodString => z.string().min(1).max(512);

const config = z
  .strictObject({
    host: hostField().describe("Name or address of the server that takes mail."),
    port: portField()
      .optional()
      .describe("Its port. Default 587 with `starttls`, 465 with `tls`, 25 with `none`."),
    security: z
      .enum(["starttls", "tls", "none"])
      .optional()
      .describe(
        "How the connection is encrypted: by STARTTLS, without which nothing is sent; by TLS from the start; or not at all. Default `starttls`.",
      ),
    username: credentialField().optional().describe("Who signs in, where the server wants it."),
    password: credentialField().optional().describe("The password of `username`."),
    from: addressField().describe("Address of the sender."),
    from_name: z.string().min(1).max(100).optional().describe("Name of the sender. Default `Fleetwright`."),
    to: z.array(addressField()).min(1).max(50).describe("Addresses of those who get the messages, 1-50."),
  })
  .refine(({ username, password }) => (username === undefined) === (password === undefined), {
    error: "belongs with `username`",
    path: ["password"],
  })
  .refine(({ username, security }) => username === undefined || security !== "none", {
    error: "a password is not sent without encryption",
    path: ["security"],
  });

type EmailConfig = z.infer<typeof config>;

const email: ChannelType<EmailConfig> = {
  config,
  secretFields: ["password"],
  send(message, settings, context) {
    return timed(context, async () => {
      const { host, security = "starttls", port = ports[security] } = settings;
      using limit = new TimeLimit(context.clock, sendTimeoutMs, {
        within: context.signal,
        error: "the message was not taken in time",
      });
      const { signal } = limit;
      const connected = await context.outbound.connect(host, port, { tls: security === "tls", signal });
      if (!connected.ok) return toFailed(connected);
      const { socket } = connected;
      try {
        const submission = toSubmission(message, { ...settings, security });
        const { certificateAuthorities } = context.outbound;
        const outcome = await submit(submission, { socket, signal, certificateAuthorities });
        return signal.aborted && !outcome.delivered ? toFailed(toFailure(signal.reason)) : outcome;
      } finally {
        socket.destroy();
      }
    });
  },
};

/** Messages by mail. */
export const emailChannelType: ChannelType = defineChannelType(email);

function toSubmission(
  message: Message,
  {
    host,
    security,
    username,
    password,
    from,
    from_name: name = "Fleetwright",
    to,
  }: EmailConfig & { security: Submission["security"] },
): Submission {
  const { id, title, severity, created_at } = message;
  const subject = fitLine(`[${severity}] ${title}`, { most: limits.subject });
  const domain = from.slice(from.indexOf("@") + 1);
  return {
    host: certifiedName(host),
    security,
    ...(username !== undefined && password !== undefined && { credentials: { username, password } }),
    from: { name: oneLine(name), address: from },
    to,
    subject,
    text: textOf(message),
    // Servers and readers show what came twice with one id once.
    messageId: `<${id.replace(/[^A-Za-z0-9._-]/g, "_")}@${domain}>`,
    sentAt: new Date(created_at),
    important: severity === "critical",
  };
}

function textOf(message: Message): string {
  const body = fit(message.body.trim(), { most: limits.body });
  const facts = factsOf(message).map(([name, value]) => fitLine(`${name}: ${value}`, { most: 1000 }));
  const when = fitLine(`Time: ${message.created_at}`, { most: 100 });
  return [...(body === "" ? [] : [body, ""]), ...facts, when, linkOf(message) ?? ""].join("\n").trimEnd();
}
