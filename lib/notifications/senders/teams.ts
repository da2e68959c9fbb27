/** Microsoft Teams, through a webhook of Workflows that posts an Adaptive Card. */
import { z } from "zod";
import { postJson } from "./attempts.ts";
import { urlField } from "./fields.ts";
import { defineChannelType, type ChannelType, type Message, type Severity } from "./sender.ts";
import { factsOf, fit, fitLine, linkOf, jsonSize } from "./text.ts";

/** Bytes within JSON, since Teams takes 28 KB of a message in all. And lines of a body, each of which is a block. */
const limits = { title: 500, body: 8000, fact: 400, lines: 40 };

const colors: Record<Severity, string> = { info: "accent", warning: "warning", critical: "attention" };

const config = z.strictObject({
  url: urlField().describe("The address that the workflow gives for its trigger. Whoever knows it can post."),
});

const teams: ChannelType<z.infer<typeof config>> = {
  config,
  secretFields: ["url"],
  send(message, { url }, context) {
    return postJson(url, { body: JSON.stringify(contentOf(message)) }, context);
  },
};

/** Messages in a channel or a chat of Microsoft Teams. */
export const teamsChannelType: ChannelType = defineChannelType(teams);

function contentOf(message: Message): object {
  const link = linkOf(message);
  const card = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: blocksOf(message),
    ...(link !== null && { actions: [{ type: "Action.OpenUrl", title: "Open in Fleetwright", url: link }] }),
  };
  return {
    type: "message",
    attachments: [
      { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content: card },
    ],
  };
}

function blocksOf(message: Message): object[] {
  const { title, body, severity } = message;
  const heading = { size: "large", weight: "bolder", color: colors[severity] };
  const lines = fit(body, { most: limits.body, size: jsonSize }).split("\n");
  const shown = lines.length > limits.lines ? [...lines.slice(0, limits.lines - 1), "…"] : lines;
  const facts = factsOf(message).map(([name, value]) =>
    block(fitLine(`${name}: ${value}`, { most: limits.fact, size: jsonSize }), { isSubtle: true }),
  );
  return [
    block(fitLine(title || "-", { most: limits.title, size: jsonSize }), heading),
    ...shown.filter((line) => line.trim() !== "").map((line) => block(line, {})),
    ...facts,
  ];
}

/** Text of a `RichTextBlock` is shown as it is, whereas a `TextBlock` reads Markdown. */
function block(text: string, style: object): object {
  return { type: "RichTextBlock", inlines: [{ type: "TextRun", text, ...style }] };
}
