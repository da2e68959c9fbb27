import { expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";
import { describeLaws, text } from "../../support/laws.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

/** A machine whose kernel has a name of its own. */
function machine(): MemoryHost & { kernelName: string } {
  const host = Object.assign(
    new MemoryHost({
      programs: {
        uname: () => ({ stdout: `${host.kernelName}\n` }),
        hostname: ({ argv }) => ((host.kernelName = argv[1] ?? ""), {}),
      },
    }),
    { kernelName: "old" },
  ) as MemoryHost & { kernelName: string };
  host.files.makeDirectory(lawFolder, {});
  host.files.makeDirectory("/etc", {});
  return host;
}

let latest = machine();
const createHost = (): Host => (latest = machine());
const observe = ({ files }: Host): string[] => [
  latest.kernelName,
  files.stat("/etc/hostname") ? Buffer.from(files.readFile("/etc/hostname")).toString() : "none",
];

describeLaws(
  {
    "the first name of a machine": {
      definition: { type: "hostname", name: "web-1" },
      breakIt: () => void (latest.kernelName = "old"),
      observe,
    },
    "another name": {
      definition: { type: "hostname", name: "web-1.example.org" },
      prepare: (host) => host.files.writeFile("/etc/hostname", text("old"), { mode: 0o644 }),
      breakIt: (host) => host.files.writeFile("/etc/hostname", text("other\n"), {}),
      observe,
    },
  },
  { "in memory": createHost },
);

test("only what differs is changed, and a comment in the file is no name", async () => {
  const host = machine();
  const state = new StateFixture(host);
  state.write("/etc/hostname", "# the name\nweb-1\n");
  const { results } = await state.run("apply", declare([{ type: "hostname", name: "web-1" }]));
  expect(results[0]?.changes).toEqual([{ property: "name", before: "old", after: "web-1" }]);
  expect(state.read("/etc/hostname")).toBe("# the name\nweb-1\n");
});

test("a file that said otherwise than the kernel says so again", async () => {
  latest = machine();
  const state = new StateFixture(latest);
  state.write("/etc/hostname", "other\n");
  await state.run("apply", declare([{ type: "hostname", name: "old" }]));
  expect(state.read("/etc/hostname")).toBe("old\n");
  await state.run("apply", []);
  expect([state.read("/etc/hostname"), latest.kernelName]).toEqual(["other\n", "old"]);
});

test.each(["(none)", "my_host"])(
  "a machine with the name %j, which nobody could declare, keeps the new one",
  async (name) => {
    latest = machine();
    latest.kernelName = name;
    const state = new StateFixture(latest);
    await state.run("apply", declare([{ type: "hostname", name: "web-1" }]));
    const { status } = await state.run("apply", []);
    expect([status, latest.kernelName, state.applied]).toEqual(["succeeded", "web-1", []]);
  },
);

test.each([
  ["(none)", "# none\n"],
  ["my_host", "my_host\n"],
  ["my_host", ""],
  ["(none)", "\n"],
])("the file of a machine with the name %j, which nobody could declare, comes back", async (name, file) => {
  latest = machine();
  latest.kernelName = name;
  const state = new StateFixture(latest);
  state.write("/etc/hostname", file);
  await state.run("apply", declare([{ type: "hostname", name: "web-1" }]));
  expect(observe(latest)).toEqual(["web-1", "web-1\n"]);
  const { status } = await state.run("apply", []);
  expect([status, observe(latest), state.applied]).toEqual(["succeeded", ["web-1", file], []]);
});

test.each(["-a", "a_b", "a..b", "", "a b", "a".repeat(65)])("%j is no name", (name) => {
  expect(resolveResource({ type: "hostname", name }, { module: "m" }).ok).toBe(false);
});
