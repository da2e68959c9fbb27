/** Words of a channel's own. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { inWordsOf, templateSchema } from "../../../lib/notifications/channels/template.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { startReceiver } from "../../support/receiver.ts";

const message = {
  id: "1",
  event_type: "agent.offline",
  severity: "warning",
  title: "Agent {{ body }} is offline",
  body: "a\nb",
  subject: { type: "agent", id: "7", name: "web-1" },
  created_at: "2030-01-01T00:00:00.000Z",
} as const;

it("a message is told in the words of its channel, and each value is put in once", async () => {
  const { url, received } = await startReceiver((response) => response.end());
  await using test = await createNotifying();
  const template = {
    title: "[{{severity}}] {{ title }}",
    body: "{{ subject.type }} {{ subject.name }}\n{{ body }}",
  };
  const { id } = await webhook(test, url, { template });
  expect(await test.orchestrator.channels.get(systemCaller, { id })).toMatchObject({ template });
  await addOperator(test, "ada");
  await pass(test, 3_000);
  await deliveriesOf(test, id, ["delivered"]);
  const { data } = JSON.parse(received[0]!.body) as { data: { title: string; body: string } };
  expect(data.title).toMatch(/^\[info\] .*ada/);
  expect(data.body).toBe("operator ada\n");
  await test.orchestrator.channels.update(systemCaller, { id, template: null });
  await addOperator(test, "grace");
  await pass(test, 3_000);
  await deliveriesOf(test, id, ["delivered", "delivered"]);
  expect(
    (JSON.parse(received[1]!.body) as typeof message & { data: { title: string } }).data.title,
  ).not.toContain("[info]");
});

it("a name in a value is no name, and a title stays one line", () => {
  expect(inWordsOf({ title: "{{ title }}: {{ body }}" }, message)).toMatchObject({
    title: "Agent {{ body }} is offline: a b",
    body: "a\nb",
  });
  expect(inWordsOf({ body: "" }, message)).toMatchObject({ title: message.title, body: "" });
  expect(inWordsOf(undefined, message)).toBe(message);
});

it.each([
  { title: "{{ secret }}" },
  { title: "{{ __proto__ }}" },
  { title: "{{ constructor }}" },
  { title: "{{ title" },
  { title: "title }}" },
  { title: "{{ {{ title }} }}" },
  { title: "{{ title | upper }}" },
  { title: "{{ subject }}" },
  { title: "two\r\nlines" },
  { title: "two\u2028lines" },
  { title: "" },
  { title: "x".repeat(501) },
  { body: "a\rb" },
  { body: "\u0000" },
  { body: "\ud800" },
  { body: "x".repeat(4_001) },
  { body: "{{ }}" },
  { footer: "x" },
])("%j is refused", (template) => {
  expect(templateSchema.safeParse(template).success).toBe(false);
});
