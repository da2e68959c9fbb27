import { describe, expect, it } from "vitest";
import { emailChannelType } from "../../../lib/notifications/senders/email.ts";

const account = { username: "fleet", password: "pass word" };
const people = { from: "fleet@example.com", to: ["ops@example.com"] };

describe("what mail is configured with", () => {
  const good = { host: "mail.example", ...people };

  it.each([
    ["the least", {}],
    ["a relay without encryption", { security: "none" }],
    ["an account", account],
  ])("may be %s", (_what, more) => {
    expect(emailChannelType.config.safeParse({ ...good, ...more }).success).toBe(true);
  });

  it.each([
    ["a password without a user", { password: "x" }],
    ["a user without a password", { username: "x" }],
    ["a password without encryption", { ...account, security: "none" }],
    ["a host with a port", { host: "mail.example/25" }],
    ["no recipient", { to: [] }],
    ["a recipient with a line end", { to: ["a@example.com\r\nRCPT TO:<b@example.com>"] }],
    ["two recipients in one", { to: ["a@example.com, b@example.com"] }],
    ["a name in an address", { from: "Fleet <a@example.com>" }],
    ["51 recipients", { to: Array.from({ length: 51 }, (_, index) => `a${index}@example.com`) }],
    ["a field that is not known", { path: "/usr/sbin/sendmail" }],
  ])("is not %s", (_what, wrong) => {
    expect(emailChannelType.config.safeParse({ ...good, ...wrong }).success).toBe(false);
  });
});
