/** Discord, through a webhook: https://docs.discord.com/developers/resources/webhook#execute-webhook. */
import { z } from "zod";
import { postJson } from "./attempts.ts";
import { urlField } from "./fields.ts";
import { defineChannelType, type ChannelType, type Message, type Severity } from "./sender.ts";
import { factsOf, fit, fitLine, linkOf } from "./text.ts";

/** Characters that Discord takes in the parts of an embed, which may be 6000 in all. */
const limits = { title: 256, description: 4096, field: 400 };

const colors: Record<Severity, number> = { info: 0x3b82f6, warning: 0xf59e0b, critical: 0xdc2626 };

const config = z.strictObject({
  url: urlField().describe("The address of the webhook. Whoever knows it can post."),
});

const discord: ChannelType<z.infer<typeof config>> = {
  config,
  secretFields: ["url"],
  send(message, { url }, context) {
    return postJson(waiting(url), { body: JSON.stringify(contentOf(message)) }, context);
  },
};

/** Messages in a channel of Discord. */
export const discordChannelType: ChannelType = defineChannelType(discord);

/** With the wish to be told whether the message was kept; Discord takes it unseen otherwise. */
function waiting(url: string): string {
  const asked = new URL(url);
  asked.searchParams.set("wait", "true");
  return asked.href;
}

function contentOf(message: Message): object {
  const { title, body, severity, created_at } = message;
  const link = linkOf(message);
  return {
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: fitLine(title || "-", { most: limits.title, escape }),
        description: fit(body, { most: limits.description, escape }),
        color: colors[severity],
        timestamp: created_at,
        ...(link !== null && { url: link }),
        fields: factsOf(message).map(([name, value]) => ({
          name,
          value: fitLine(value, { most: limits.field, escape }),
          inline: true,
        })),
      },
    ],
  };
}

/** Each mark of ASCII loses its meaning behind a backslash: that of markup, of mentions, and of addresses, which would become links. */
function escape(character: string): string {
  return /[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character;
}
