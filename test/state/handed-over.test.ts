/** What a removal will come back to is on disk before the thing is changed: whatever ends as noted was handed over by then. */
import { describe, expect, test } from "vitest";
import type { Host } from "../../lib/host/host.ts";
import type { MemoryHost } from "../../lib/host/memory-host.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import type { BegunChange, RunMode } from "../../lib/state/run/state-run.ts";
import { wholeMachine } from "../support/machine/whole-machine.ts";
import { raceBefore } from "../support/racing-host.ts";
import { createMachine, declare, outcomes, StateFixture } from "../support/state-fixture.ts";

/** A machine, and what was handed over of each thing when it was last changed. */
class Handing {
  readonly state: StateFixture;
  readonly #handed = new Map<string, Json>();
  readonly atChange = new Map<string, Json | undefined>();

  constructor(host: MemoryHost) {
    this.state = new StateFixture(host);
  }

  async apply(definitions: JsonObject[], host: Host = this.state.host): Promise<string[]> {
    const result = await this.state.run("apply", declare(definitions), {
      host,
      // As an agent writes it down.
      beforeChanges: async (captured) => {
        for (const { identity, prior } of captured) this.#handed.set(identity, toJson(prior));
      },
      onBegun: ({ identity }) => this.atChange.set(identity, this.#handed.get(identity)),
    });
    return outcomes(result);
  }

  /** What is noted of each thing. */
  get noted(): Json[] {
    return this.state.applied.map(({ prior }) => toJson(prior));
  }
}

const toJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

/** Of each type that notes more with a later version: a first version, and one that makes it do so. */
const versions: Record<string, [first: JsonObject, second: JsonObject]> = {
  file: [
    { type: "symlink", path: "/new", target: "x" },
    { type: "file", path: "/new", content: "x", force: true },
  ],
  symlink: [
    { type: "file", path: "/new", content: "x" },
    { type: "symlink", path: "/new", target: "x", force: true },
  ],
  directory: [
    { type: "directory", path: "/conf.d", mode: "0711" },
    { type: "directory", path: "/conf.d", mode: "0711", purge: true },
  ],
  line: [
    { type: "line", path: "/conf", line: "k=2", match: "k=*" },
    { type: "line", path: "/conf", line: "k=3", match: "k=*" },
  ],
  block: [
    { type: "block", path: "/conf", name: "b", content: "one" },
    { type: "block", path: "/conf", name: "b", content: "one", marker: "; {mark}" },
  ],
  user: [
    { type: "user", name: "root", shell: "/bin/bash" },
    { type: "user", name: "root", shell: "/bin/bash", password_hash: "$6$a$b" },
  ],
  group: [
    { type: "group", name: "users", gid: 2000 },
    { type: "group", name: "users", gid: 2000, members: ["root"] },
  ],
  service: [
    { type: "service", name: "ssh", running: true },
    { type: "service", name: "ssh", running: true, enabled: true },
  ],
  sysctl: [
    { type: "sysctl", key: "net.ipv4.ip_forward", value: "1" },
    { type: "sysctl", key: "net.ipv4.ip_forward", value: "1", path: "/conf.d/b" },
  ],
  package: [
    { type: "package", name: "web" },
    { type: "package", name: "web", hold: true },
  ],
  package_repository: [
    { type: "package_repository", name: "site", uris: ["https://a.example"], provider: "apt" },
    { type: "package_repository", name: "site", uris: ["https://a.example"], provider: "dnf" },
  ],
  git: [
    { type: "directory", path: "/empty", mode: "0711" },
    { type: "git", path: "/empty", ensure: "absent" },
  ],
  hostname: [
    { type: "file", path: "/etc/hostname", mode: "0600" },
    { type: "hostname", name: "web-1" },
  ],
  systemd_unit: [
    { type: "file", path: "/etc/systemd/system/a.service", mode: "0600" },
    { type: "systemd_unit", name: "a.service", content: "[Unit]" },
  ],
  timezone: [
    { type: "file", path: "/etc/localtime", mode: "0600" },
    { type: "timezone", name: "Europe/Berlin" },
  ],
};

/** Files that some types own, and a zone to choose. */
const files = [
  "/etc/hostname",
  "/etc/localtime",
  "/etc/systemd/system/a.service",
  "/usr/share/zoneinfo/Europe/Berlin",
];

/** A machine with a text, a folder with something in it and one without, and those files. */
function prepared(): Handing {
  const handing = new Handing(wholeMachine());
  handing.state.host.files.makeDirectory("/conf.d", { mode: 0o755 });
  handing.state.write("/conf.d/a", "theirs");
  handing.state.write("/conf", "k=1\n");
  for (const folder of ["/empty", "/etc/dnf", "/etc/yum.repos.d"])
    handing.state.host.files.makeDirectory(folder, { mode: 0o755 });
  for (const path of files) writeBelow(handing.state, path);
  return handing;
}

function writeBelow(state: StateFixture, path: string): void {
  const { files } = state.host;
  const folders = path.split("/").slice(1, -1);
  for (const at of folders.keys()) {
    const folder = `/${folders.slice(0, at + 1).join("/")}`;
    if (!files.stat(folder)) files.makeDirectory(folder, { mode: 0o755 });
  }
  state.write(path, "theirs");
}

describe("what a later version notes beside the first is handed over before it changes anything", () => {
  test("for each type that notes any", () => {
    const types = [...resourceTypes.values()].filter(({ removing }) => removing?.extendPrior);
    // A download notes what a file does.
    expect(types.map(({ type }) => type).filter((type) => type !== "download")).toEqual(
      Object.keys(versions).sort(),
    );
  });

  test.each(Object.entries(versions))("%s", async (_type, [first, second]) => {
    const handing = prepared();
    expect(await handing.apply([{ id: "r", ...first }])).toEqual(["r changed"]);
    const noted = handing.noted;
    expect([...handing.atChange.values()]).toEqual(noted);
    expect(await handing.apply([{ id: "r", ...second }])).toEqual(["r changed"]);
    expect(handing.noted).not.toEqual(noted);
    expect([...handing.atChange.values()]).toEqual(handing.noted);
  });
});

describe("what somebody does while it is noted what stands", () => {
  const conf = { id: "f", type: "file", path: "/conf", content: "ours" };

  test("is looked at again: what he made as desired stays his", async () => {
    const handing = prepared();
    // The second copy is made right before the change.
    const { host, hasRaced } = raceBefore(handing.state.host, { name: "save", path: "/conf", nth: 2 }, () =>
      handing.state.write("/conf", "ours"),
    );
    expect(await handing.apply([conf], host)).toEqual(["f unchanged"]);
    expect(hasRaced()).toBe(true);
    expect(handing.state.applied).toMatchObject([{ prior: null }]);
  });

  test("is noted as it was handed over last, where he never stops", async () => {
    const handing = prepared();
    const { host } = handing.state;
    let copies = 0;
    const save = host.backups.save.bind(host.backups);
    host.backups.save = (path, options) => {
      copies += 1;
      handing.state.write("/conf", `theirs ${copies}`);
      const { expected: _older, ...rest } = options ?? {};
      return save(path, rest);
    };
    expect(await handing.apply([conf])).toEqual(["f changed"]);
    expect(copies).toBeGreaterThan(5);
    expect([...handing.atChange.values()]).toEqual(handing.noted);
  });
});

test("a copy of what stood is on disk before it is noted, and both before the change", async () => {
  const state = new StateFixture(wholeMachine());
  state.write("/conf", "theirs\n".repeat(20_000));
  const order: string[] = [];
  const { barrier } = state.host;
  state.host.barrier = async () => {
    order.push("on disk");
    await barrier.call(state.host);
  };
  const [definition] = declare([{ type: "file", path: "/conf", content: "ours" }]);
  await state.run("apply", [definition!], {
    beforeChanges: async () => void order.push("noted"),
    onBegun: () => order.push("changed"),
  });
  expect(order).toEqual(["on disk", "noted", "changed", "on disk"]);
});

test.each<[mode: RunMode, isThere: boolean]>([
  ["apply", true],
  ["plan", true],
  ["plan", false],
  ["check", false],
])("a run that changes nothing hands nothing over, and keeps no copy: %s", async (mode, isThere) => {
  const state = new StateFixture(wholeMachine());
  state.write("/conf", "theirs");
  const desired = declare([{ type: "file", path: "/conf", content: isThere ? "theirs" : "ours" }]);
  const calls: string[] = [];
  const save = state.host.backups.save.bind(state.host.backups);
  state.host.backups.save = (path, options) => (calls.push(`copy of ${path}`), save(path, options));
  await state.run(mode, desired, { beforeChanges: async () => void calls.push("handed over") });
  expect([calls, state.host.barriers]).toEqual([[], 0]);
});

test("what stands behind a link is handed over when the run has led that there, and not what stood behind it before", async () => {
  const state = new StateFixture(wholeMachine());
  for (const folder of ["/w", "/w/one", "/w/two"]) state.host.files.makeDirectory(folder, { mode: 0o755 });
  state.host.files.makeSymlink("/w/cur", "one");
  const handed: string[][] = [];
  const desired = declare([
    { id: "l", type: "symlink", path: "/w/cur", target: "two" },
    { id: "f", type: "file", path: "/w/cur/f", content: "ours" },
  ]);
  const { status } = await state.run("apply", desired, {
    beforeChanges: async (captured) => void handed.push(captured.map(({ identity }) => identity)),
  });
  expect([status, handed]).toEqual(["succeeded", [["path:/w/cur"], ["path:/w/two/f"]]]);
});

test("what is ours is not handed over again, also where somebody watches it: the change itself tells what is wanted now", async () => {
  const state = new StateFixture(createMachine());
  state.write("/conf", "theirs");
  const follower = { id: "s", type: "script", run: "touch done", run_on: ["f"] };
  const apply = async (content: string | null): Promise<unknown> => {
    const handed: string[] = [];
    let [begun, barriers]: [BegunChange | null, number] = [null, state.host.barriers];
    const conf = { id: "f", type: "file", path: "/conf", content: content ?? "" };
    await state.run("apply", declare(content === null ? [] : [conf, follower]), {
      beforeChanges: async (captured) => void handed.push(...captured.map(({ identity }) => identity)),
      onBegun(change) {
        if (change.identity !== "path:/conf") return;
        begun = change;
        barriers = state.host.barriers - barriers;
      },
    });
    return { begun, isHanded: handed.includes("path:/conf"), barriers };
  };
  const begun = { identity: "path:/conf", removal: false };
  expect(await apply("one")).toEqual({ begun, isHanded: true, barriers: 1 });
  const spec = expect.objectContaining({ content: "two" }) as unknown;
  const resource = expect.objectContaining({ resource_id: "f", spec }) as unknown;
  expect(await apply("two")).toEqual({ begun: { ...begun, resource }, isHanded: false, barriers: 0 });
  expect(await apply(null)).toEqual({ begun: { ...begun, removal: true }, isHanded: false, barriers: 0 });
});
