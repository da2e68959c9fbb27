/** ntfy: https://docs.ntfy.sh/publish/#publish-as-json. */
import { z } from "zod";
import { postJson } from "./attempts.ts";
import { urlField } from "./fields.ts";
import { defineChannelType, type ChannelType, type Message, type Severity } from "./sender.ts";
import { factsOf, fit, fitLine, linkOf, jsonSize } from "./text.ts";

/** Bytes within JSON: a longer message would become an attachment, and more JSON would be refused. */
const limits = { title: 250, message: 4096, facts: 1024 };

const priorities: Record<Severity, number> = { info: 3, warning: 4, critical: 5 };
const tags: Record<Severity, string> = {
  info: "information_source",
  warning: "warning",
  critical: "rotating_light",
};

const config = z.strictObject({
  server: urlField().optional().describe("Address of the server. Default https://ntfy.sh."),
  topic: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "1-64 letters, digits, '-' or '_'")
    .describe("Topic to publish to. On a server without accounts, whoever knows it can read and publish."),
  token: z
    .string()
    .regex(/^[!-~]{1,256}$/, "one word of ASCII")
    .optional()
    .describe("Access token (`tk_...`), where the topic needs one."),
});

const ntfy: ChannelType<z.infer<typeof config>> = {
  config,
  secretFields: ["topic", "token"],
  send(message, { server = "https://ntfy.sh", topic, token }, context) {
    const body = JSON.stringify({ topic, ...contentOf(message) });
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return postJson(server, { body, headers }, context);
  },
};

/** Messages on phones, through a server of ntfy. */
export const ntfyChannelType: ChannelType = defineChannelType(ntfy);

function contentOf(message: Message): object {
  const { title, body, severity } = message;
  const link = linkOf(message);
  const told = factsOf(message).map(([name, value]) => `${name}: ${value}`);
  const facts = told
    .map((fact) => fitLine(fact, { most: limits.facts / told.length, size: jsonSize }))
    .join("\n");
  const most = limits.message - jsonSize(facts) - jsonSize("\n\n");
  const text = fit(body.trim(), { most, size: jsonSize });
  return {
    title: fitLine(title, { most: limits.title, size: jsonSize }),
    message: text === "" ? facts : `${text}\n\n${facts}`,
    priority: priorities[severity],
    tags: [tags[severity]],
    ...(link !== null && { click: link }),
  };
}
