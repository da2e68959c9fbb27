/** What people type in the place of an id: in whatever case, short or whole, of one thing or of several. */
import { describe, expect, test } from "vitest";
import { UsageError } from "../../../adapters/cli/failure.ts";
import {
  findId,
  findListed,
  findNamed,
  withSuggestion,
  type ListPage,
  type TypedNames,
} from "../../../adapters/cli/find-id.ts";
import { ApiError } from "../../../adapters/client/api-error.ts";
import type { Client } from "../../../adapters/client/client.ts";

interface Thing {
  id: string;
  name: string;
}

/** Newest first, as the server lists them; the last is called as another's id begins. */
const things: readonly Thing[] = [
  { id: "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b22", name: "disk" },
  { id: "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11", name: "Disk" },
  { id: "0199c000-0000-7000-8000-00000000abcd", name: "load" },
  { id: "0199b000-0000-7000-8000-000000000001", name: "twice" },
  { id: "0199a000-0000-7000-8000-000000000002", name: "twice" },
  { id: "01998000-0000-7000-8000-000000000003", name: "0199c000" },
];

/** Pages of so many. */
function inPages(size: number): ListPage<Thing> & { asked: number } {
  const list = async ({ cursor = "0" }: { cursor?: string }) => {
    list.asked += 1;
    const end = Number(cursor) + size;
    const items = things.slice(Number(cursor), end);
    return { items, next_cursor: end < things.length ? String(end) : null };
  };
  list.asked = 0;
  return list;
}

const listed = (typed: string, size: number): Promise<string> =>
  findListed("window", typed, { list: inPages(size), aboutOf: ({ name }) => name });
const named = async (typed: string, size: number): Promise<string> =>
  (await findNamed("threshold", typed, inPages(size))).id;

const [newest, second, third] = things.map(({ id }) => id);

describe.each([1, 2, 6, 500])("in pages of %d", (size) => {
  const found: [typed: string, id: string | undefined][] = [
    ["0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b2", newest],
    ["0199D3A0-5F3C-7C1E-9A55-0D9F5F3E2B2", newest],
    ["0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b1", second],
    ["0199C000-", third],
    ["0199c000-0", third],
    ["01998", things.at(-1)!.id],
    [third!.toUpperCase(), third],
  ];
  test.each(found)("%s finds the one that begins so, by id and among what has names", async (typed, id) => {
    expect([await listed(typed, size), await named(typed, size)]).toEqual([id, id]);
  });

  test.each(["0199d3a0", "0199D3A0-5f3c", "0199", "0199D3A0-5F3C-7C1E-9A55-0D9F5F3E2B"])(
    "%s begins several, and is told with them",
    async (typed) => {
      for (const look of [listed, named]) {
        const error: unknown = await look(typed, size).catch((fault: unknown) => fault);
        expect(error).toBeInstanceOf(UsageError);
        expect(String(error)).toContain(`${newest} (disk), ${second} (Disk)`);
      }
    },
  );

  test.each(["0199e", "0199D3A0-5F3C-7C1E-9A55-0D9F5F3E2B3", "ffff"])("%s finds nothing", async (typed) => {
    for (const look of [listed, named])
      await expect(look(typed, size)).rejects.toThrow(expect.objectContaining({ code: "NOT_FOUND" }));
  });

  test("a name counts as it is written, before the id of another", async () => {
    expect(await Promise.all(["disk", "Disk", "0199c000"].map((name) => named(name, size)))).toEqual([
      newest,
      second,
      things.at(-1)!.id,
    ]);
    await expect(named("twice", size)).rejects.toBeInstanceOf(UsageError);
    await expect(named("DISK", size)).rejects.toBeInstanceOf(ApiError);
  });
});

test("what is older than all that begin so is not read", async () => {
  const list = inPages(1);
  expect(await findListed("window", "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b2", { list, aboutOf: () => "" })).toBe(
    newest,
  );
  expect(list.asked).toBe(2);
});

/** The lists of what there may be many of answer with so many at most. */
test.each([1, 2, 4, 5, 6, 7, 40])(
  "of %i that begin alike five are told, and whether there are more",
  async (count) => {
    const all = Array.from({ length: count }, (_, at) => ({ id: `0199d3a0-${at}`, about: `the ${at}th` }));
    const found = findId("operation", "0199", (prefix, limit) => {
      expect(prefix).toBe("0199");
      return Promise.resolve(all.slice(0, limit));
    });
    if (count === 1) return void expect(await found).toBe(all[0]!.id);
    const error = await found.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UsageError);
    const { message } = error as UsageError;
    expect(all.filter(({ id, about }) => message.includes(`${id} (${about})`))).toEqual(all.slice(0, 5));
    expect(message.endsWith(", and more.")).toBe(count > 5);
  },
);

describe("a name that may have been meant", () => {
  const refusal = (code: string, detail: string, pointers: string[] = []): ApiError => {
    const errors = pointers.map((pointer) => ({ pointer, message: "No." }));
    return new ApiError({ type: "about:blank", title: "No.", status: 404, detail, code, errors });
  };
  const page = (...names: string[]) => ({
    list: () => Promise.resolve({ items: names.map((name) => ({ name })), next_cursor: null }),
  });
  const client = { modules: page("web", "webs"), assignments: page("all"), secrets: page("key") };
  const suggest = (names: TypedNames, error: unknown): Promise<unknown> =>
    withSuggestion({ client: client as unknown as Client }, names, () => Promise.reject(error)).catch(
      (fault: unknown) => fault,
    );

  test.each<[string, TypedNames, ApiError, string]>([
    [
      "of what is not there",
      { module: "wbe" },
      refusal("NOT_FOUND", "No wbe."),
      'No wbe. Did you mean "web"?',
    ],
    [
      "of one of several",
      { module: ["web", "alll"], assignment: "al" },
      refusal("NOT_FOUND", "No al."),
      'No al. Did you mean "all"?',
    ],
    [
      "of one with a revision",
      { module: ["wbe@3"] },
      refusal("NOT_FOUND", "No wbe."),
      'No wbe. Did you mean "web"?',
    ],
    [
      "of what is no name",
      { secret: "kei" },
      refusal("VALIDATION_FAILED", "No.", ["/name"]),
      'There is no secret "kei". Did you mean "key"?',
    ],
    [
      "of a module in a list",
      { module: ["wbe"] },
      refusal("VALIDATION_FAILED", "No.", ["/modules/0", "/remove_modules/12"]),
      'There is no module "wbe". Did you mean "web"?',
    ],
  ])("is told %s", async (_, names, error, told) => {
    expect(await suggest(names, error)).toMatchObject({ code: "NOT_FOUND", status: 404, message: told });
  });

  test.each<[string, TypedNames, unknown]>([
    [
      "there is one of that name, and another near it",
      { module: "web" },
      refusal("NOT_FOUND", "No agent web."),
    ],
    ["something else is not there", { module: "wbe" }, refusal("NOT_FOUND", "No agent x.")],
    ["no name is near it", { module: "zzzz" }, refusal("NOT_FOUND", "No zzzz.")],
    [
      "something else is wrong, too",
      { module: "wbe" },
      refusal("VALIDATION_FAILED", "No.", ["/name", "/limit"]),
    ],
    [
      "what begins with a name is wrong",
      { module: "wbe" },
      refusal("VALIDATION_FAILED", "No.", ["/names/0"]),
    ],
    ["it is refused for another reason", { module: "wbe" }, refusal("IN_USE", "wbe is used.")],
    ["it is no refusal", { module: "wbe" }, new UsageError("wbe")],
    ["nothing was named", {}, refusal("NOT_FOUND", "No wbe.")],
  ])("is none where %s", async (_, names, error) => expect(await suggest(names, error)).toBe(error));
});
