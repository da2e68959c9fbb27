/** Where in a crontab a job comes back, and when there is nothing left of one. */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { createCrontab } from "../../support/machine/crontab.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

function machine(text?: string): { state: StateFixture; crontabs: Map<string, string> } {
  const crontabs = new Map(text === undefined ? [] : [["root", text]]);
  const host = new MemoryHost({ users: { root: 0 }, programs: { crontab: createCrontab(crontabs) } });
  return { state: new StateFixture(host), crontabs };
}

const marked = (name: string, lines: string): string =>
  `# BEGIN fleetwright: ${name}\n${lines}# END fleetwright: ${name}\n`;
const job = (name: string) => ({ id: name, type: "cron", name, command: `/usr/bin/${name}`, hour: 3 });
const theirs = ["MAILTO=ops\n", "5 4 * * sun /home/me/job\n", "# more\n"];

// Lines of others before the job, and what is between its marks.
const standing = theirs
  .concat("")
  .flatMap((_line, before) =>
    ["@daily old\n", "", "# two\n@daily old\n", "\n", "@daily old \t\n", "@daily old\n\n\n"].map(
      (lines) => [before, lines] as const,
    ),
  );

test.each(standing)(
  "a job after %i lines of others, with %j in it, comes back there",
  async (before, lines) => {
    const text = theirs.toSpliced(before, 0, marked("backup", lines)).join("");
    for (const definition of [{ type: "cron", name: "backup", ensure: "absent" }, job("backup")]) {
      const { state, crontabs } = machine(text);
      const { results } = await state.run("apply", declare([definition]));
      expect(results[0]).toMatchObject({ outcome: "changed" });
      expect(crontabs.get("root")).not.toBe(text);
      expect((await state.run("apply", [])).status).toBe("succeeded");
      expect([crontabs.get("root"), state.applied]).toEqual([text, []]);
    }
  },
);

test.each([
  ["a", "b", "c"],
  ["a", "c", "b"],
  ["b", "a", "c"],
  ["b", "c", "a"],
  ["c", "a", "b"],
  ["c", "b", "a"],
])("a crontab that jobs of ours made goes with the last of them: %s, %s, %s", async (...order) => {
  const { state, crontabs } = machine();
  const names = ["a", "b", "c"];
  for (const count of [1, 2, 3]) await state.run("apply", declare(names.slice(0, count).map(job)));
  for (const count of [1, 2]) {
    const left = names.filter((name) => !order.slice(0, count).includes(name));
    expect((await state.run("apply", declare(left.map(job)))).status).toBe("succeeded");
    expect(crontabs.get("root")?.match(/BEGIN/g)).toHaveLength(left.length);
  }
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect([...crontabs]).toEqual([]);
});
