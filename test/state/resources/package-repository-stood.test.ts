/** A source that stood before a resource of its name comes back with its key: with each package manager, and fetched no more than it must be. */
import { describe, expect, test } from "vitest";
import { MemoryHost, type MemoryProgram } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResolvedResource } from "../../../lib/state/resource.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const stood = {
  "/etc/apt/sources.list.d/site.sources": "Types: deb\nURIs: https://theirs.example\n",
  "/etc/apt/keyrings/site.asc": "-----BEGIN PGP PUBLIC KEY BLOCK-----\ntheirs\n",
  "/etc/yum.repos.d/site.repo": "[site]\nbaseurl=https://theirs.example\n",
  "/etc/pki/rpm-gpg/RPM-GPG-KEY-site": "-----BEGIN PGP PUBLIC KEY BLOCK-----\ntheirs too\n",
} as const;
type Path = keyof typeof stood;
const paths = Object.keys(stood) as Path[];

const ownKey: Record<string, Path> = {
  apt: "/etc/apt/keyrings/site.asc",
  dnf: "/etc/pki/rpm-gpg/RPM-GPG-KEY-site",
};

/** A machine on which a source of that name stands with two package managers, and the programs that fetch in their order. */
function machine(): { state: StateFixture; fetched: string[] } {
  const fetched: string[] = [];
  const fetch: MemoryProgram = ({ argv }) => {
    fetched.push(argv[0].slice(argv[0].lastIndexOf("/") + 1));
    return {};
  };
  const host = new MemoryHost({ programs: { "/usr/bin/apt-get": fetch, dnf: fetch } });
  for (const path of [...paths, "/etc/dnf/dnf.conf"])
    for (let slash = path.indexOf("/", 1); slash !== -1; slash = path.indexOf("/", slash + 1))
      if (!host.files.stat(path.slice(0, slash)))
        host.files.makeDirectory(path.slice(0, slash), { mode: 0o755 });
  const state = new StateFixture(host);
  for (const path of paths) put(state, path);
  return { state, fetched };
}

function put({ host: { files } }: StateFixture, path: Path): void {
  files.writeFile(path, Buffer.from(stood[path]), { mode: 0o640, uid: 33 });
}

const source = (provider: string, more: JsonObject = {}): ResolvedResource[] =>
  declare([
    {
      id: "r",
      type: "package_repository",
      name: "site",
      provider,
      uris: ["https://ours.example/x"],
      ...more,
    },
  ]);

async function succeed(state: StateFixture, desired: ResolvedResource[]): Promise<void> {
  const { status, results } = await state.run("apply", desired);
  expect({ status, results }).toMatchObject({ status: "succeeded" });
}

const look = (state: StateFixture): unknown[] =>
  paths.map((path) => {
    const stat = state.host.files.stat(path);
    return stat && [state.read(path), stat.mode.toString(8), stat.uid];
  });

describe.each(["apt", "dnf"])("with %s", (provider) => {
  test.each([
    ["a key of its own", { key: "-----BEGIN PGP PUBLIC KEY BLOCK-----\nours" }],
    ["the key that another resource has in its place", { key_path: ownKey[provider]! }],
    ["no key", {}],
  ])("one of a version with %s comes back", async (_what, more) => {
    const { state } = machine();
    const before = look(state);
    await succeed(state, source(provider, more));
    expect(look(state)).not.toEqual(before);
    await succeed(state, []);
    expect(look(state)).toEqual(before);
    expect(state.applied).toEqual([]);
  });

  test("the index of no other is fetched than of one that comes back", async () => {
    const { state, fetched } = machine();
    const before = look(state);
    const [first, second] = provider === "apt" ? ["apt", "dnf"] : ["dnf", "apt"];
    await succeed(state, source(first!));
    await succeed(state, source(second!));
    // Somebody put back what stood with the first.
    for (const path of paths.filter((each) => each.startsWith("/etc/apt/") === (first === "apt")))
      put(state, path);
    fetched.length = 0;
    await succeed(state, []);
    expect(fetched).toEqual([second === "apt" ? "apt-get" : "dnf"]);
    expect(look(state)).toEqual(before);
  });
});

test("one of a package manager that is gone comes back, and is not fetched", async () => {
  const { state, fetched } = machine();
  const before = look(state);
  await succeed(state, source("dnf"));
  state.host.files.removeDirectory("/etc/dnf");
  fetched.length = 0;
  await succeed(state, []);
  expect([look(state), fetched]).toEqual([before, []]);
});

test.each(["apt", "dnf"])(
  "whoever fetches with %s without root can read a key in a new folder",
  async (provider) => {
    const { state } = machine();
    const path = ownKey[provider]!;
    const folder = path.slice(0, path.lastIndexOf("/"));
    state.host.files.removeFile(path);
    state.host.files.removeDirectory(folder);
    await succeed(state, source(provider, { key: "-----BEGIN PGP PUBLIC KEY BLOCK-----\nours" }));
    expect(state.host.files.stat(folder)).toMatchObject({ mode: 0o755 });
    expect(state.host.files.stat(path)).toMatchObject({ mode: 0o644 });
  },
);

test.each(["apt", "dnf"])(
  "one with %s leaves the key that another resource has put there",
  async (provider) => {
    const { state } = machine();
    const path = ownKey[provider]!;
    await succeed(state, source(provider, { key_path: path }));
    state.write(path, "another");
    await succeed(state, []);
    expect([state.read(path), state.applied]).toEqual(["another", []]);
  },
);
