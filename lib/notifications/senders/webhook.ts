/** Webhooks as Standard Webhooks signs them: https://www.standardwebhooks.com. */
import { createHmac } from "node:crypto";
import { z } from "zod";
import { postJson } from "./attempts.ts";
import { urlField } from "./fields.ts";
import { defineChannelType, type ChannelType, type Message } from "./sender.ts";

/** Headers that say who sent what, and so are not to be set; the connection has more of its own. */
const ownHeader =
  /^(webhook-.*|host|content-.*|user-agent|connection|keep-alive|expect|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;

const keyPrefix = "whsec_";

const config = z.strictObject({
  url: urlField().describe("Where messages are posted to."),
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, "whsec_ and 24-64 bytes in base64")
    .refine(isKey, "whsec_ and 24-64 bytes in base64")
    .optional()
    .describe("What messages are signed with: `whsec_` and 24-64 random bytes in base64. Unsigned without."),
  headers: z
    .record(
      z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "1-64 letters, digits, '-' or '_'"),
      z
        .string()
        .max(1024)
        .regex(/^[\t -~]*$/, "one line of ASCII"),
    )
    .refine((headers) => Object.keys(headers).length <= 20, "20 headers at most")
    .refine((headers) => !Object.keys(headers).some((name) => ownHeader.test(name)), {
      error: "headers of the signature, the content and the connection can't be set",
    })
    .optional()
    .describe("Further headers, e.g. `authorization`; 20 at most."),
});

type WebhookConfig = z.infer<typeof config>;

const webhook: ChannelType<WebhookConfig> = {
  config,
  secretFields: ["secret", "headers"],
  send(message, { url, secret, headers = {} }, context) {
    const body = JSON.stringify(contentOf(message));
    const seconds = Math.floor(context.clock.now() / 1000).toString();
    const own = {
      "webhook-id": message.id,
      "webhook-timestamp": seconds,
      ...(secret !== undefined && {
        "webhook-signature": signatureOf(`${message.id}.${seconds}.${body}`, secret),
      }),
    };
    return postJson(url, { body, headers: { ...headers, ...own } }, context);
  },
};

/** Messages as JSON, signed, to an address of one's own. */
export const webhookChannelType: ChannelType = defineChannelType(webhook);

function contentOf({ id, event_type, created_at, ...said }: Message): object {
  return { type: event_type, timestamp: created_at, data: { id, ...said } };
}

function signatureOf(content: string, secret: string): string {
  return `v1,${createHmac("sha256", keyOf(secret)).update(content).digest("base64")}`;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(keyPrefix.length), "base64");
}

function isKey(secret: string): boolean {
  const { length } = keyOf(secret);
  return length >= 24 && length <= 64;
}
