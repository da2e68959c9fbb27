import { describe, expect, test } from "vitest";
import { z } from "zod";
import { makeLasting } from "fleetwright";
import { createRender, type OutputVersion } from "../../../adapters/rest/rendering.ts";

const machine = z.object({ name: z.string(), tags: z.record(z.string(), z.string()) });
const page = z.object({ items: z.array(machine), next_cursor: z.string().nullable() });

/** A renderer that counts how often the schema is asked. */
function counted(schema: z.ZodType, version: OutputVersion | null = null) {
  let parsed = 0;
  const call = {
    run: async () => undefined,
    toOutput(answer: unknown) {
      parsed += 1;
      return schema.parse(answer);
    },
    schema,
  };
  const render = createRender(call, version);
  const write = (answer: unknown): unknown => {
    const body = render(answer)?.body;
    return body === undefined ? null : JSON.parse(Buffer.from(body as string).toString());
  };
  return { render, write, parsed: () => parsed };
}
const web = (name = "web", extra = {}) => makeLasting({ name, tags: { env: "prod" }, ...extra });

describe("what will never change", () => {
  test("goes through its schema once, and is the same text from then on", () => {
    const { render, parsed } = counted(machine, () => 3);
    const one = web();
    const first = render(one);
    expect(first).toMatchObject({ body: '{"name":"web","tags":{"env":"prod"}}' });
    expect(first?.etag).toMatch(/^"3-[\w-]{16}"$/);
    expect(render(one)).toBe(first);
    expect(parsed()).toBe(1);
  });

  test("shows nothing that the schema does not name, alone or in a page", () => {
    const secretive = web("web", { secret: "hunter2" });
    expect(counted(machine).write(secretive)).toEqual({ name: "web", tags: { env: "prod" } });
    const { write } = counted(page);
    for (let times = 0; times < 3; times += 1) {
      expect(write({ items: [secretive], next_cursor: null, secret: "hunter2" })).toEqual({
        items: [{ name: "web", tags: { env: "prod" } }],
        next_cursor: null,
      });
    }
  });

  test("can't be changed by anyone, however deep", () => {
    const { tags } = web();
    expect(() => Object.assign(tags, { env: "test" })).toThrow(TypeError);
  });
});

describe("a page", () => {
  test("is the same bytes while it holds the same, and other bytes when an item is another", () => {
    const { render, write } = counted(page);
    const [a, b, c] = [web("a"), web("b"), web("c")];
    const first = render({ items: [a, b], next_cursor: "n" });
    expect(render({ items: [a, b], next_cursor: "n" })?.body).toBe(first?.body);
    expect(write({ items: [a, c], next_cursor: "n" })).toMatchObject({
      items: [{ name: "a" }, { name: "c" }],
    });
    expect(write({ items: [a], next_cursor: "n" })).toMatchObject({ items: [{ name: "a" }] });
    expect(write({ items: [a, b], next_cursor: null })).toMatchObject({ next_cursor: null });
    expect(write({ items: [], next_cursor: null })).toEqual({ items: [], next_cursor: null });
  });

  test("is kept for 32 places of a list, and goes with the one that was written longest ago", () => {
    const { render } = counted(page);
    const items = [web()];
    const at = (place: number) => render({ items, next_cursor: `p${place}` })?.body;
    const first = Array.from({ length: 32 }, (_, place) => at(place));
    expect(first.map((body, place) => at(place) === body)).toEqual(first.map(() => true));
    // Another text at the oldest place makes it the newest.
    const other = [web("b")];
    const anew = render({ items: other, next_cursor: "p0" })?.body;
    at(32);
    expect(render({ items: other, next_cursor: "p0" })?.body).toBe(anew);
    expect([at(2) === first[2], at(31) === first[31], at(1) === first[1]]).toEqual([true, true, false]);
  });

  test("goes the long way where an item may change, is faulty, or the answer is no page", () => {
    const { render } = counted(page);
    expect(render({ items: [web(), { name: "b", tags: {} }], next_cursor: null })).toBeNull();
    expect(render({ items: [makeLasting({ name: 7, tags: {} })], next_cursor: null })).toBeNull();
    expect(render({ items: [web()], next_cursor: 1 })).toBeNull();
    expect(render({ items: "web", next_cursor: null })).toBeNull();
    expect(counted(machine).render({ name: "web", tags: {} })).toBeNull();
    const wider = z.object({ ...page.shape, total: z.number() });
    expect(counted(wider).render({ items: [web()], next_cursor: null, total: 1 })).toBeNull();
  });
});
