/** A source whose agent was killed before its index was fetched, and the network is gone by the next apply: what worked stays. */
import { expect, test } from "vitest";
import { OrchestratorError } from "../../../lib/errors.ts";
import { MemoryHost, type MemoryProgram } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResolvedResource } from "../../../lib/state/resource.ts";
import { recordCalls } from "../../../lib/testing/recording-host.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const sources = { apt: "/etc/apt/sources.list.d/site.sources", dnf: "/etc/yum.repos.d/site.repo" };
const theirs = "Types: deb\nURIs: https://theirs.example\n";
const [firstKey, secondKey] = ["A", "B"].map((name) => `-----BEGIN PGP PUBLIC KEY BLOCK-----\n${name}`);

interface Machine {
  state: StateFixture;
  /** Whether there is no network. */
  offline: boolean;
  read: (provider?: keyof typeof sources) => string | null;
  /** An apply whose agent is killed as it begins to fetch. */
  killed: (desired: ResolvedResource[]) => Promise<void>;
}

function machine(): Machine {
  const fetch: MemoryProgram = () => (made.offline ? { exitCode: 100, stderr: "E: no\n" } : {});
  const host = new MemoryHost({ programs: { "/usr/bin/apt-get": fetch, dnf: fetch } });
  for (const folder of ["/etc", "/etc/apt", "/etc/apt/sources.list.d", "/etc/dnf", "/etc/yum.repos.d"])
    host.files.makeDirectory(folder, { mode: 0o755 });
  const state = new StateFixture(host);
  const made: Machine = {
    state,
    offline: false,
    read: (provider = "apt") => {
      const path = sources[provider];
      return host.files.stat(path) ? Buffer.from(host.files.readFile(path)).toString() : null;
    },
    killed: async (desired) => {
      let isDead = false;
      const dying = recordCalls(host, ({ call }) => {
        isDead ||= call === "run";
        if (isDead) throw new OrchestratorError("HOST_ERROR");
      });
      await state.run("apply", desired, { host: dying });
    },
  };
  return made;
}

const source = (name: string, more: JsonObject = {}): ResolvedResource[] =>
  declare([
    { id: "r", type: "package_repository", name: "site", uris: [`https://${name}.example/x`], ...more },
  ]);

test("one of somebody else's that is to come back stays, and is fetched when that can be", async () => {
  const made = machine();
  made.state.write(sources.apt, theirs);
  await made.state.run("apply", source("ours"));
  await made.killed([]);
  made.offline = true;
  for (let tries = 0; tries < 2; tries += 1) {
    expect(outcomes(await made.state.run("apply", []))).toEqual(["r failed"]);
    expect(made.read()).toContain(theirs);
  }
  made.offline = false;
  expect(outcomes(await made.state.run("apply", []))).toEqual(["r changed"]);
  expect(made.read()).toBe(theirs);
});

test.each([1, 2, 3])("one that worked, and has another key now, stays after %i kills", async (kills) => {
  const made = machine();
  await made.state.run("apply", source("ours", { key: firstKey! }));
  const worked = made.read()!;
  const wanted = source("ours", { key: secondKey! });
  for (let times = 0; times < kills; times += 1) await made.killed(wanted);
  made.offline = true;
  for (let tries = 0; tries < 2; tries += 1) {
    expect(outcomes(await made.state.run("apply", wanted))).toEqual(["r failed"]);
    expect(made.read()).toContain(worked);
  }
  made.offline = false;
  expect(outcomes(await made.state.run("apply", wanted))).toEqual(["r changed"]);
  expect([made.read(), outcomes(await made.state.run("apply", wanted))]).toEqual([worked, ["r unchanged"]]);
});

test.each(["new", "newer"])(
  "one that was never fetched goes where %s can't be, and all works without it",
  async (next) => {
    const made = machine();
    await made.state.run("apply", source("ours"));
    await made.killed(source("new"));
    made.offline = true;
    expect(outcomes(await made.state.run("apply", source(next)))).toEqual(["r failed"]);
    expect(made.read()).toBeNull();
  },
);

test("one that an agent without a memory of it finds is theirs without the comment", async () => {
  const made = machine();
  await made.killed(source("ours"));
  const forgetful = new StateFixture(made.state.host);
  expect(outcomes(await forgetful.run("apply", source("ours")))).toEqual(["r changed"]);
  expect(made.read()).not.toContain("#");
  await forgetful.run("apply", source("other"));
  await forgetful.run("apply", []);
  expect(made.read()).not.toContain("#");
});

test.each([true, false])(
  "one goes from each package manager that its versions named, with dnf there: %s",
  async (isThere) => {
    const made = machine();
    for (const provider of ["apt", "dnf"]) await made.state.run("apply", source("ours", { provider }));
    expect([made.read("apt"), made.read("dnf")]).not.toContain(null);
    if (!isThere) made.state.host.files.removeDirectory("/etc/dnf");
    await made.state.run("apply", []);
    expect([made.read("apt"), made.read("dnf"), made.state.applied]).toEqual([null, null, []]);
  },
);
