/** Handing one mail to a server on a connection that is open. */
import { toFailure } from "../outbound/fault.ts";
import type { OutboundSocket } from "../outbound/outbound.ts";
import type { Attempt } from "./sender.ts";

/** One mail. */
export interface Submission {
  /** Whose certificate the server must have. */
  host: string;
  security: "starttls" | "tls" | "none";
  credentials?: { username: string; password: string };
  from: { name: string; address: string };
  to: readonly string[];
  subject: string;
  text: string;
  messageId: string;
  sentAt: Date;
  important: boolean;
}

/** What a mail is handed over with. */
export interface SubmissionContext {
  /** TLS has begun on it where `security` is `tls`. The caller destroys it. */
  socket: OutboundSocket;
  signal: AbortSignal;
  certificateAuthorities: readonly string[] | undefined;
}

type Outcome = Omit<Attempt, "duration_ms">;

/** The package's own limits; the signal ends an attempt before. */
const silenceMs = 60_000;

/** Hands a mail over. It was delivered when the server took it for one of the recipients at least. */
export async function submit(
  { host, security, credentials, to, sentAt, important, ...mail }: Submission,
  { socket, signal, certificateAuthorities }: SubmissionContext,
): Promise<Outcome> {
  // Loaded when it is needed first: most programs send no mail.
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    host,
    secure: security === "tls",
    requireTLS: security === "starttls",
    ignoreTLS: security === "none",
    ...(certificateAuthorities && { tls: { ca: [...certificateAuthorities] } }),
    ...(credentials && { auth: { user: credentials.username, pass: credentials.password }, forceAuth: true }),
    disableFileAccess: true,
    disableUrlAccess: true,
    connectionTimeout: silenceMs,
    greetingTimeout: silenceMs,
    socketTimeout: silenceMs,
    getSocket: (_options: object, done: (error: null, opened: object) => void) =>
      done(null, { connection: socket, secured: security === "tls" }),
  });
  try {
    const { rejected } = await transport.sendMail({
      ...mail,
      to: [...to],
      date: sentAt,
      headers: { "auto-submitted": "auto-generated" },
      ...(important && { priority: "high" as const }),
      signal,
    });
    const refused =
      rejected.length === 0
        ? {}
        : { error: `the server refused ${rejected.length} of ${to.length} recipients` };
    return { delivered: true, ...refused };
  } catch (error) {
    return toOutcome(error as SmtpError);
  } finally {
    transport.close();
  }
}

/** What the package tells of an error. Its message has the server's words in it, which are not told on. */
interface SmtpError {
  code?: string;
  originalCode?: string;
  responseCode?: number;
  command?: string;
}

function toOutcome({ code, originalCode, responseCode, command }: SmtpError): Outcome {
  // Without encryption it may be anybody who refuses it: another time it may be the server.
  const isUnknown = command === "EHLO" && (responseCode === 500 || responseCode === 502);
  if (command === "STARTTLS" || code === "ETLS" || isUnknown)
    return { delivered: false, error: "STARTTLS could not be agreed" };
  if (responseCode === undefined) return { delivered: false, error: wordsOf(code, originalCode) };
  const error = `the server refused ${refusedBy(code, command)} (${responseCode})`;
  const permanent = responseCode >= 500 && responseCode < 600;
  return { delivered: false, status_code: responseCode, error, ...(permanent && { permanent }) };
}

function refusedBy(code: string | undefined, command: string | undefined): string {
  if (code === "EAUTH") return "the user name or the password";
  return command === "RCPT TO" ? "all recipients" : "the message";
}

function wordsOf(code: string | undefined, originalCode: string | undefined): string {
  if (originalCode !== undefined) return toFailure({ code: originalCode }).error;
  if (code === "EAUTH") return "the server takes no user name and password";
  if (code === "ECONNECTION" || code === "ESOCKET") return toFailure({ code: "ECONNRESET" }).error;
  if (code === "ETIMEDOUT") return "the message was not taken in time";
  return "the server does not speak SMTP as it should";
}
