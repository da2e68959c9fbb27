/** Slack, through an incoming webhook: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks. */
import { z } from "zod";
import { postJson } from "./attempts.ts";
import { urlField } from "./fields.ts";
import { defineChannelType, type ChannelType, type Message } from "./sender.ts";
import { factsOf, fit, fitLine, linkOf } from "./text.ts";

/** Characters that Slack takes in a header, a section, and one of the fields of a section. */
const limits = { header: 150, section: 3000, field: 2000 };

const config = z.strictObject({
  url: urlField().describe("The address of the incoming webhook. Whoever knows it can post."),
});

const slack: ChannelType<z.infer<typeof config>> = {
  config,
  secretFields: ["url"],
  send(message, { url }, context) {
    return postJson(url, { body: JSON.stringify(contentOf(message)) }, context);
  },
};

/** Messages in a channel of Slack. */
export const slackChannelType: ChannelType = defineChannelType(slack);

function contentOf(message: Message): object {
  const { title, body } = message;
  const link = linkOf(message);
  return {
    // What is shown where blocks are not, in notifications.
    text: fitLine(title, { most: limits.section, escape }),
    mrkdwn: false,
    parse: "none",
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: "header", text: plainText(fitLine(title || "-", { most: limits.header, escape })) },
      ...(body.trim() === ""
        ? []
        : [{ type: "section", text: plainText(fit(body, { most: limits.section, escape })) }]),
      {
        type: "section",
        fields: factsOf(message).map(([name, value]) =>
          plainText(fitLine(`${name}: ${value}`, { most: limits.field, escape })),
        ),
      },
      ...(link === null
        ? []
        : [
            {
              type: "context",
              elements: [{ type: "mrkdwn", text: `<${escape(link)}|Open in Fleetwright>`, verbatim: true }],
            },
          ]),
    ],
  };
}

/** Plain text has no markup, no mentions and no links of names. */
function plainText(text: string): object {
  return { type: "plain_text", text, emoji: false };
}

/** What begins a mention or a link of Slack, in any text. */
function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
