import { expect, test } from "vitest";
import { runIn } from "../../support/command-line.ts";
import { recordAnswers } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const idOf = (start: string): string => start.padEnd(32, "0");
const all = [
  { operator_id: idOf("abcd1"), username: "ada", role: "Admin" },
  { operator_id: idOf("beef1"), username: "abcd", role: "Viewer" },
  { operator_id: idOf("beef2"), username: "bob", role: "Viewer" },
  { operator_id: idOf("cafe"), username: "Ada", role: "Viewer" },
];

/** Who is shown, of a list in pages of one. */
async function show(text: string): Promise<string> {
  recordAnswers(({ to, input }) => {
    const [, id] = /^GET \/operators\/(.*)$/.exec(to) ?? [];
    if (id !== undefined) return Response.json(all.find(({ operator_id }) => operator_id === id));
    const at = Number((input as { cursor?: string }).cursor ?? 0);
    const next_cursor = at + 1 < all.length ? String(at + 1) : null;
    return Response.json({ items: all.slice(at, at + 1), next_cursor });
  });
  const { stdout, stderr } = await runIn(
    temporaryFolder(),
    ["operators", "show", text],
    "http://fleet.example",
  );
  return /^Username +(.*)$/m.exec(stdout)?.[1] ?? stderr;
}

test.each([
  ["ada", "ada"],
  ["Ada", "Ada"],
  // A name comes before the beginning of an id.
  ["abcd", "abcd"],
  ["abcd1", "ada"],
  ["CAFE", "Ada"],
  ["beef2", "bob"],
  [idOf("beef1"), "abcd"],
])("%s is %s", async (typed, username) => expect(await show(typed)).toBe(username));

test.each(["caf", "bee", "0000", "ad", ""])(
  "%j is nobody: less than 4 characters are no id",
  async (typed) => {
    expect(await show(typed)).toContain(`NOT_FOUND: There is no operator ${JSON.stringify(typed)}.`);
  },
);

test("the beginning of several ids is told with all of them", async () => {
  const told = await show("beef");
  expect(told).toContain('More than one operator begins with "beef"');
  for (const { operator_id, username } of all.slice(1, 3))
    expect(told).toContain(`${operator_id} (${username})`);
});
