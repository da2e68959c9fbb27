/** Where messages go that name no port, and which of them are encrypted from the first byte. */
import { expect, test } from "vitest";
import type { Outbound } from "../../../lib/notifications/outbound/outbound.ts";
import { emailChannelType } from "../../../lib/notifications/senders/email.ts";
import { syslogChannelType } from "../../../lib/notifications/senders/syslog.ts";
import { send } from "./scene.ts";

const mail = { host: "mail.example", from: "fleet@example.com", to: ["ops@example.com"] };
const logs = { host: "logs.example" };

test.each([
  ["mail", emailChannelType, mail, 587, false],
  ["mail with STARTTLS", emailChannelType, { ...mail, security: "starttls" }, 587, false],
  ["mail with TLS", emailChannelType, { ...mail, security: "tls" }, 465, true],
  ["mail without encryption", emailChannelType, { ...mail, security: "none" }, 25, false],
  ["mail with TLS to a port of its own", emailChannelType, { ...mail, security: "tls", port: 26 }, 26, true],
  ["syslog", syslogChannelType, logs, 6514, true],
  ["syslog without encryption", syslogChannelType, { ...logs, tls: false }, 601, false],
  ["syslog to a port of its own", syslogChannelType, { ...logs, port: 602 }, 602, true],
] as const)("%s goes to the port that is said for it", async (_what, type, config, port, tls) => {
  const asked: unknown[] = [];
  const refused = { ok: false, error: "the connection was refused", permanent: false } as const;
  const outbound: Outbound = {
    request: () => Promise.resolve(refused),
    connect: (host, number, how) => {
      asked.push([host, number, how.tls]);
      return Promise.resolve(refused);
    },
  };
  expect(await send(type, config as never, { outbound })).toMatchObject({ delivered: false });
  expect(asked).toEqual([[config.host, port, tls]]);
});
