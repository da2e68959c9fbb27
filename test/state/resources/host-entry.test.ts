import { describe, expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { hostEntryResourceType } from "../../../lib/state/resources/host-entry.ts";
import { describeLaws, localHost, text } from "../../support/laws.ts";
import { memoryMachine, observeFiles } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const path = "/etc/hosts";
const write = (content: string) => (host: Host) => {
  if (!host.files.stat("/etc")) host.files.makeDirectory("/etc", {});
  host.files.writeFile(path, text(content), { mode: 0o644 });
};
const hosts = { "in memory": memoryMachine, "on this machine": localHost };
const observe = observeFiles(path);

describeLaws(
  {
    "a new entry": {
      definition: { type: "host_entry", name: "db.internal", ip: "10.0.0.5", aliases: ["db"] },
      prepare: write("127.0.0.1\tlocalhost\n::1 localhost ip6-localhost\n"),
      breakIt: write("127.0.0.1\tlocalhost\n::1 localhost ip6-localhost\n10.0.0.6 db.internal\n"),
      observe,
    },
    "an entry in the place of another": {
      definition: { type: "host_entry", name: "db", ip: "10.0.0.5" },
      prepare: write("10.0.0.4   db  database # the old one\n127.0.0.1 localhost\n"),
      breakIt: write("10.0.0.5 db other # the old one\n127.0.0.1 localhost\n"),
      observe,
    },
    "an entry that is not wanted": {
      definition: { type: "host_entry", name: "db", ip: "10.0.0.5", ensure: "absent" },
      prepare: write("127.0.0.1 localhost\n10.0.0.4 db\n"),
      breakIt: write("127.0.0.1 localhost\n10.0.0.9 db\n"),
      observe,
    },
    "an entry that is not wanted, whose name another line says too": {
      definition: { type: "host_entry", name: "db", ip: "10.0.0.5", ensure: "absent" },
      prepare: write("10.0.0.6 other db\n10.0.0.4 db # main\n127.0.0.1 localhost\n"),
      breakIt: write("10.0.0.6 other db\n127.0.0.1 localhost\n10.0.0.9 db\n"),
      observe,
    },
  },
  hosts,
);

test("an entry is taken away though somebody gave its name to another line since", async () => {
  const state = new StateFixture(memoryMachine());
  write("127.0.0.1 localhost\n")(state.host);
  await state.run("apply", declare([{ type: "host_entry", name: "db", ip: "10.0.0.5" }]));
  write("127.0.0.1 localhost\n10.0.0.5 db\n10.0.0.6 a db\n")(state.host);
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(state.read(path)).toBe("127.0.0.1 localhost\n10.0.0.6 a db\n");
});

test("what stood before an entry comes back though somebody gave its name to another line since", async () => {
  const state = new StateFixture(memoryMachine());
  write("127.0.0.1 localhost\n10.0.0.4 db\n")(state.host);
  await state.run("apply", declare([{ type: "host_entry", name: "db", ip: "10.0.0.5" }]));
  write("127.0.0.1 localhost\n10.0.0.5 db\n10.0.0.6 a db\n")(state.host);
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(state.read(path)).toBe("127.0.0.1 localhost\n10.0.0.4 db\n10.0.0.6 a db\n");
});

async function edited(before: string, more: object): Promise<string> {
  const state = new StateFixture(memoryMachine());
  write(before)(state.host);
  const run = await state.run(
    "apply",
    declare([{ type: "host_entry", name: "db", ip: "10.0.0.5", ...more }]),
  );
  expect(run.results[0]).toMatchObject({ outcome: "changed" });
  return state.read(path);
}

describe("the file afterwards", () => {
  test.each<[string, string, object, string]>([
    ["gets a line at its end", "127.0.0.1 localhost", {}, "127.0.0.1 localhost\n10.0.0.5 db\n"],
    ["keeps the comment of the line", "10.0.0.4 db # main\n", {}, "10.0.0.5 db # main\n"],
    ["keeps the line of the other kind of address", "::1 db\n", {}, "::1 db\n10.0.0.5 db\n"],
    ["does not take a comment for a line", "# 10.0.0.5 db\n", {}, "# 10.0.0.5 db\n10.0.0.5 db\n"],
    [
      "loses no line that says the name besides",
      "10.0.0.6 a db\n10.0.0.5 db\n",
      { ensure: "absent" },
      "10.0.0.6 a db\n",
    ],
    ...["dbs", "db2", "db.internal", "my-db", "a.db", "d"].flatMap(
      (other): [string, string, object, string][] => [
        [`keeps the line of ${other}`, `10.0.0.4 ${other}\n`, {}, `10.0.0.4 ${other}\n10.0.0.5 db\n`],
        [
          `keeps the line with the alias ${other}`,
          `10.0.0.4 a ${other}\n10.0.0.5 db\n`,
          { ensure: "absent" },
          `10.0.0.4 a ${other}\n`,
        ],
      ],
    ),
    ["has the aliases in their order", "10.0.0.5 db b a\n", { aliases: ["a", "b"] }, "10.0.0.5 db a b\n"],
    ["has no more aliases", "10.0.0.5 db a b\n", { aliases: ["a"] }, "10.0.0.5 db a\n"],
    ["has no fewer aliases", "10.0.0.5 db a\n", { aliases: ["a", "b"] }, "10.0.0.5 db a b\n"],
    ["has no aliases", "10.0.0.5 db a\n", {}, "10.0.0.5 db\n"],
    ["loses the line alone", "1.1.1.1 a\n10.0.0.5 db x\n", { ensure: "absent" }, "1.1.1.1 a\n"],
  ])("%s", async (_name, before, more, after) => {
    expect(await edited(before, more)).toBe(after);
  });
});

test.each<[string, object]>([
  ["10.0.0.4 other db\n", {}],
  ["10.0.0.4 db\n10.0.0.6 db\n", {}],
  ["10.0.0.4 db\n10.0.0.6 other db\n", {}],
  ["10.0.0.4 db\n10.0.0.6 db\n", { ensure: "absent" }],
])(
  "a name that another line says too is a failure where it can't be told which line is meant: %j %j",
  async (before, more) => {
    const state = new StateFixture(memoryMachine());
    write(before)(state.host);
    const run = await state.run(
      "apply",
      declare([{ type: "host_entry", name: "db", ip: "10.0.0.5", ...more }]),
    );
    expect(run.results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(state.read(path)).toBe(before);
  },
);

test("both kinds of address of one name are declared side by side", async () => {
  const state = new StateFixture(memoryMachine());
  const desired = declare([
    { type: "host_entry", name: "db", ip: "10.0.0.5" },
    { type: "host_entry", name: "db", ip: "fd00::5" },
  ]);
  expect((await state.run("apply", desired)).status).toBe("succeeded");
  expect(state.read(path)).toBe("10.0.0.5 db\nfd00::5 db\n");
  await state.run("apply", []);
  expect(state.host.files.stat(path)).toBeNull();
});

test.each([
  { ip: "10.0.0" },
  { name: "a b" },
  { name: "-a" },
  { aliases: ["a\n1.2.3.4 b"] },
  { name: "a#b" },
])("%j is a fault", (more) => {
  expect(() => declare([{ type: "host_entry", name: "db", ip: "10.0.0.5", ...more }])).toThrow();
});

test("taking away an entry that has gone meanwhile leaves the last line", () => {
  const state = new StateFixture();
  state.host.files.makeDirectory("/etc", {});
  state.write("/etc/hosts", "10.0.0.1 theirs\n");
  const spec = { name: "db", ip: "10.0.0.5", aliases: [], ensure: "absent" as const };
  void hostEntryResourceType.apply(spec, [], state.host, new AbortController().signal);
  expect(state.read("/etc/hosts")).toBe("10.0.0.1 theirs\n");
});

test("a name is the same in other letters, as for who looks it up", async () => {
  const state = new StateFixture();
  state.host.files.makeDirectory("/etc", {});
  const text = "127.0.0.1 localhost\n10.0.0.9 DB.Internal # theirs\n";
  state.write("/etc/hosts", text);
  const desired = declare([{ id: "h", type: "host_entry", name: "db.internal", ip: "10.0.0.5" }]);
  await state.run("apply", desired);
  expect(state.read("/etc/hosts")).toBe("127.0.0.1 localhost\n10.0.0.5 db.internal # theirs\n");
  await state.run("apply", []);
  expect(state.read("/etc/hosts")).toBe(text);
  const other = declare([{ id: "h", type: "host_entry", name: "LOCALHOST", ip: "127.0.0.1" }]);
  expect((await state.run("apply", other)).results[0]).toMatchObject({ outcome: "unchanged" });
});
