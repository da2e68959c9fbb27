import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { CheckedOutbound } from "../../../lib/notifications/outbound/checked-outbound.ts";
import { channelTypes } from "../../../lib/notifications/senders/channel-types.ts";
import { send } from "./scene.ts";

const page = readFileSync(new URL("../../../docs/channel-types.md", import.meta.url), "utf8");
const sections = new Map(
  page.split(/^## /m).map((text): [string, string] => [text.slice(0, text.indexOf("\n")), text]),
);

/** Rows of the table of fields, without the marks of code. */
const fieldsOf = (section: string): string[][] =>
  [...section.matchAll(/^\| `(\w+)` +\|(.*)\|(.*)\|.*\|$/gm)].map(([, ...cells]) =>
    cells.map((cell) => cell.trim()),
  );

describe.each(Object.entries(channelTypes))("docs/channel-types.md on %s", (name, type) => {
  const section = sections.get(name) ?? "";

  it("lists exactly the fields of the schema", () => {
    const { properties = {}, required = [] } = z.toJSONSchema(type.config, { io: "input" });
    const fields = Object.keys(properties).map((field) => [
      field,
      required.includes(field) ? "yes" : "",
      type.secretFields.includes(field) ? "yes" : "",
    ]);
    expect(fieldsOf(section)).toEqual(fields);
  });

  it("has an example that the schema takes", () => {
    const example = /```json\n([^`]*)```/.exec(section)?.[1] ?? "";
    expect(type.config.safeParse(JSON.parse(example))).toMatchObject({ success: true });
  });

  it("is listed at its top", () => {
    expect(page).toContain(`| [\`${name}\`](#${name})`);
  });
});

it("an address inside is reached by none of them unless it is allowed", async () => {
  const inside = { url: "http://10.0.0.1/", server: "http://10.0.0.1/", host: "10.0.0.1" };
  for (const [name, type] of Object.entries(channelTypes)) {
    const { properties = {} } = z.toJSONSchema(type.config, { io: "input" });
    const where = Object.fromEntries(Object.entries(inside).filter(([field]) => field in properties));
    const more = { email: { from: "a@example.com", to: ["b@example.com"] }, ntfy: { topic: "t" } }[name];
    const attempt = await send(type, { ...where, ...more }, { outbound: new CheckedOutbound() });
    expect(attempt).toMatchObject({
      delivered: false,
      permanent: true,
      error: expect.stringContaining("private") as string,
    });
  }
});
