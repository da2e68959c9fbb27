import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { discordChannelType } from "../../../lib/notifications/senders/discord.ts";
import { ntfyChannelType } from "../../../lib/notifications/senders/ntfy.ts";
import type { ChannelType, Message } from "../../../lib/notifications/senders/sender.ts";
import { slackChannelType } from "../../../lib/notifications/senders/slack.ts";
import { teamsChannelType } from "../../../lib/notifications/senders/teams.ts";
import { startReceiver, type Received } from "../../support/receiver.ts";
import { markup, messageOf, send } from "./scene.ts";

/** What a receiver gets of a message. */
async function told(type: ChannelType, different: Partial<Message> = {}, config: JsonObject = {}) {
  const { url, received } = await startReceiver((response) => response.end("ok"));
  const at = type === ntfyChannelType ? { server: url } : { url: `${url}/services/abc` };
  const attempt = await send(type, { ...at, ...config }, { message: messageOf(different) });
  expect(attempt).toMatchObject({ delivered: true, status_code: 200 });
  const [request] = received as [Received];
  expect(request.headers["content-type"]).toBe("application/json");
  return { request, content: JSON.parse(request.body) as JsonObject };
}

const long = "🚒".repeat(10_000);
const lines = "a\n".repeat(5000);
const whole = (text: string): boolean => !/\p{Surrogate}/u.test(text);

/** Every text in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe.each([
  ["Slack", slackChannelType, {}],
  ["Discord", discordChannelType, {}],
  ["Teams", teamsChannelType, {}],
  ["ntfy", ntfyChannelType, { topic: "alerts" }],
])("%s", (_name, type, config: JsonObject) => {
  it("gets no half of a character, no control character and nothing that turns text around", async () => {
    const text = "a\ud83d\u0007\u202eb\udc00";
    const subject = { type: "agent", id: "0f3a", name: text };
    const { content } = await told(type, { title: text, body: text, subject }, config);
    const shown = textsIn(content).filter((each) => each.includes("a\ufffd"));
    expect(shown.length).toBeGreaterThanOrEqual(2);
    expect(shown.join("")).toContain("a\ufffd\ufffd\ufffdb\ufffd");
    expect(textsIn(content).filter((each) => /\p{Surrogate}|[\u0000-\u0008\u202e]/u.test(each))).toEqual([]);
  });
});

describe("Slack", () => {
  it("gets blocks of plain text", async () => {
    const { request, content } = await told(slackChannelType);
    expect(request).toMatchObject({ method: "POST", path: "/services/abc" });
    const plain = (text: string) => ({ type: "plain_text", text, emoji: false });
    expect(content).toEqual({
      text: "web-1 is offline",
      mrkdwn: false,
      parse: "none",
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
      blocks: [
        { type: "header", text: plain("web-1 is offline") },
        { type: "section", text: plain("Nothing was heard of it for 60 s.\nIt was at 10.0.0.7.") },
        {
          type: "section",
          fields: [
            plain("Severity: Critical"),
            plain("About: agent web-1 (0f3a)"),
            plain("Event: agent.offline"),
          ],
        },
        {
          type: "context",
          elements: [
            {
              type: "mrkdwn",
              text: "<https://fleet.example/agents/0f3a|Open in Fleetwright>",
              verbatim: true,
            },
          ],
        },
      ],
    });
  });

  it("reads no mention and no link in what is told", async () => {
    const subject = { type: "agent", id: "0f3a", name: markup };
    const { content } = await told(slackChannelType, { title: markup, body: markup, subject });
    const texts = textsIn(content).filter((text) => !text.startsWith("<https://fleet.example/"));
    expect(texts.filter((text) => /[<>]|&(?!amp;|lt;|gt;)/.test(text))).toEqual([]);
    expect(content["text"]).toContain(
      "&lt;!channel&gt; &lt;@U024BE7LH&gt; &lt;https://evil.example|web-1&gt;",
    );
  });

  it("gets no link that ends early, and none to something else than a page", async () => {
    const { content } = await told(slackChannelType, { url: "https://fleet.example/a|<!channel>" });
    expect(JSON.stringify(content)).toContain("<https://fleet.example/a%7C%3C!channel%3E|Open");
    const script = await told(slackChannelType, { url: "javascript:alert(1)" });
    expect(JSON.stringify(script.content)).not.toContain("javascript");
  });

  it.each([long, "&".repeat(10_000), lines])("gets no more than it takes", async (text) => {
    const subject = { type: "agent", id: "0f3a", name: text };
    const { content } = await told(slackChannelType, { title: text, body: text, subject });
    const blocks = content["blocks"] as { text?: { text: string }; fields?: { text: string }[] }[];
    expect(blocks[0]?.text?.text.length).toBeLessThanOrEqual(150);
    expect(blocks[0]?.text?.text.length).toBeGreaterThan(140);
    expect(blocks[1]?.text?.text.length).toBeLessThanOrEqual(3000);
    expect(blocks[1]?.text?.text.length).toBeGreaterThan(2980);
    expect(Math.max(...blocks[2]!.fields!.map((field) => field.text.length))).toBeLessThanOrEqual(2000);
    expect(textsIn(content).every(whole)).toBe(true);
    expect(textsIn(content).filter((text) => /&(?!amp;|lt;|gt;)/.test(text))).toEqual([]);
  });

  it("gets a header and no empty block where there is no text", async () => {
    const { content } = await told(slackChannelType, { title: "", body: " \n" });
    expect((content["blocks"] as JsonObject[]).map(({ type }) => type)).toEqual([
      "header",
      "section",
      "context",
    ]);
    expect(textsIn(content["blocks"])).not.toContain("");
  });
});

describe("Discord", () => {
  it("gets an embed, and is asked to say whether it was kept", async () => {
    const { request, content } = await told(discordChannelType);
    expect(request).toMatchObject({ method: "POST", path: "/services/abc?wait=true" });
    expect(content).toEqual({
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: "web\\-1 is offline",
          description: "Nothing was heard of it for 60 s\\.\nIt was at 10\\.0\\.0\\.7\\.",
          color: 0xdc2626,
          timestamp: "2030-01-01T00:00:00.000Z",
          url: "https://fleet.example/agents/0f3a",
          fields: [
            { name: "Severity", value: "Critical", inline: true },
            { name: "About", value: "agent web\\-1 \\(0f3a\\)", inline: true },
            { name: "Event", value: "agent\\.offline", inline: true },
          ],
        },
      ],
    });
  });

  it("reads no mention, markup or address in what is told, and pings nobody", async () => {
    const subject = { type: "agent", id: "0f3a", name: markup };
    const { content } = await told(discordChannelType, { title: markup, body: markup, subject });
    expect(content["allowed_mentions"]).toEqual({ parse: [] });
    expect(content).not.toHaveProperty("content");
    const [embed] = content["embeds"] as [
      { title: string; description: string; fields: { value: string }[] },
    ];
    for (const text of [embed.title, embed.description, embed.fields[1]!.value]) {
      expect(text.replace(/\\[!-/:-@[-`{-~]/g, "")).not.toMatch(/[!-/:-@[-`{-~]/);
      expect(text).toContain("\\<\\@U024BE7LH\\>");
    }
  });

  it.each([long, "*".repeat(10_000), lines])("gets no more than it takes", async (text) => {
    const subject = { type: "agent", id: "0f3a", name: text };
    const { content } = await told(discordChannelType, { title: text, body: text, subject });
    const [embed] = content["embeds"] as [
      { title: string; description: string; fields: { value: string }[] },
    ];
    expect(embed.title.length).toBeLessThanOrEqual(256);
    expect(embed.title.length).toBeGreaterThan(250);
    expect(embed.description.length).toBeLessThanOrEqual(4096);
    expect(embed.description.length).toBeGreaterThan(4090);
    const { title, description, fields } = embed;
    expect(textsIn({ title, description, fields }).join("").length).toBeLessThanOrEqual(6000);
    // A backslash that lost its character would take the meaning of what follows.
    expect(textsIn(fields).every((each) => whole(each) && !/(^|[^\\])(\\\\)*\\…/.test(each))).toBe(true);
    expect([title, description].every((each) => whole(each) && each.endsWith("…"))).toBe(true);
  });
});

describe("Teams", () => {
  it("gets an Adaptive Card of runs of text, which have no markup", async () => {
    const { request, content } = await told(teamsChannelType);
    expect(request).toMatchObject({ method: "POST", path: "/services/abc" });
    const run = (text: string, style = {}) => ({
      type: "RichTextBlock",
      inlines: [{ type: "TextRun", text, ...style }],
    });
    expect(content).toEqual({
      type: "message",
      attachments: [
        {
          contentType: "application/vnd.microsoft.card.adaptive",
          contentUrl: null,
          content: {
            $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
            type: "AdaptiveCard",
            version: "1.4",
            body: [
              run("web-1 is offline", { size: "large", weight: "bolder", color: "attention" }),
              run("Nothing was heard of it for 60 s."),
              run("It was at 10.0.0.7."),
              run("Severity: Critical", { isSubtle: true }),
              run("About: agent web-1 (0f3a)", { isSubtle: true }),
              run("Event: agent.offline", { isSubtle: true }),
            ],
            actions: [
              {
                type: "Action.OpenUrl",
                title: "Open in Fleetwright",
                url: "https://fleet.example/agents/0f3a",
              },
            ],
          },
        },
      ],
    });
  });

  it("gets no block that reads markup", async () => {
    const subject = { type: "agent", id: "0f3a", name: markup };
    const { request, content } = await told(teamsChannelType, { title: markup, body: markup, subject });
    expect(request.body).not.toMatch(/"type":"(TextBlock|FactSet)"/);
    expect(textsIn(content)).toContain(markup);
  });

  it.each([long, '"'.repeat(20_000), lines, "\u0001".repeat(9000)])(
    "gets no more than it takes",
    async (text) => {
      const subject = { type: "agent", id: "0f3a", name: text };
      const { request, content } = await told(teamsChannelType, { title: text, body: text, subject });
      expect(Buffer.byteLength(request.body)).toBeLessThan(28 * 1024);
      expect(Buffer.byteLength(request.body, "utf16le")).toBeLessThan(28 * 1024);
      expect(textsIn(content).every(whole)).toBe(true);
      expect(textsIn(content).some((each) => each.endsWith("…"))).toBe(true);
    },
  );
});

describe("ntfy", () => {
  const topic = "fleet-alerts";

  it("gets a message at the root of its server", async () => {
    const { request, content } = await told(ntfyChannelType, {}, { topic, token: "tk_abc" });
    expect(request).toMatchObject({ method: "POST", path: "/", headers: { authorization: "Bearer tk_abc" } });
    expect(content).toEqual({
      topic,
      title: "web-1 is offline",
      message:
        "Nothing was heard of it for 60 s.\nIt was at 10.0.0.7.\n\nSeverity: Critical\nAbout: agent web-1 (0f3a)\nEvent: agent.offline",
      priority: 5,
      tags: ["rotating_light"],
      click: "https://fleet.example/agents/0f3a",
    });
  });

  it.each([
    ["info", 3],
    ["warning", 4],
    ["critical", 5],
  ] as const)(
    "gives %s the priority %d, and sends no token that there is not",
    async (severity, priority) => {
      const { request, content } = await told(ntfyChannelType, { severity }, { topic });
      expect(content["priority"]).toBe(priority);
      expect(request.headers).not.toHaveProperty("authorization");
    },
  );

  it.each([long, '"'.repeat(20_000), lines, "\u0001".repeat(9000)])(
    "gets no more than it takes",
    async (text) => {
      const subject = { type: "agent", id: "0f3a", name: text };
      const { request, content } = await told(
        ntfyChannelType,
        { title: text, body: text, subject },
        { topic },
      );
      const size = Buffer.byteLength(content["message"] as string);
      expect(size).toBeLessThanOrEqual(4096);
      expect(size).toBeGreaterThan(2000);
      expect(Buffer.byteLength(request.body)).toBeLessThanOrEqual(2 * 4096);
      expect(textsIn(content).every(whole)).toBe(true);
      expect(content).not.toHaveProperty("markdown");
    },
  );

  it("is not configured with a topic that is a path, or a token of two lines", () => {
    const parse = (config: object) => ntfyChannelType.config.safeParse(config).success;
    expect(parse({ topic })).toBe(true);
    expect(parse({ topic: "a/b" })).toBe(false);
    expect(parse({ topic: "" })).toBe(false);
    expect(parse({ topic, token: "a\r\nb" })).toBe(false);
  });
});
