import { describe, expect, test } from "vitest";
import { OrchestratorError } from "../../../lib/errors.ts";
import type { Host } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import { recordCalls } from "../../../lib/testing/recording-host.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";
import { describeLaws, text } from "../../support/laws.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const pgp = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEZ\n-----END PGP PUBLIC KEY BLOCK-----";
const pem = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----";
const alpine = "https://dl-cdn.alpinelinux.org/alpine/v3.20/main\n";

/** Where the programs note of which sources and keys they fetched the index last. */
const indexPath = "/index";
const fetchedBy = ["/etc/apt/sources.list.d/site.sources", "/etc/apt/keyrings/site.asc"];
fetchedBy.push("/etc/apk/repositories", "/etc/apk/keys/site.rsa.pub");
fetchedBy.push("/etc/yum.repos.d/site.repo", "/etc/pki/rpm-gpg/RPM-GPG-KEY-site");

/** A machine with these folders; `ran` gets the lines that were run. */
function machineWith(folders: string[], ran: string[] = [], exitCode = 0): MemoryHost {
  const program = ({ argv }: { argv: readonly string[] }) => {
    ran.push(argv.join(" "));
    if (exitCode === 0) host.files.writeFile(indexPath, text(JSON.stringify(standing(host))), {});
    return { exitCode, stderr: "E: The repository is not signed.\n" };
  };
  const host = new MemoryHost({ programs: { "/usr/bin/apt-get": program, dnf: program, apk: program } });
  for (const path of [lawFolder, "/etc", ...folders]) host.files.makeDirectory(path, {});
  if (folders.includes("/etc/apk"))
    host.files.writeFile("/etc/apk/repositories", text(alpine), { mode: 0o644 });
  return host;
}

const apt = ["/etc/apt", "/etc/apt/sources.list.d"];
const dnf = ["/etc/dnf"];
const apk = ["/etc/apk"];
const uris = ["https://example.org/debian"];

function contentOf(path: string, host: Pick<Host, "files">) {
  return host.files.stat(path) ? Buffer.from(host.files.readFile(path)).toString() : null;
}

/** The sources and keys that stand, as the package managers read them. */
function standing(host: Pick<Host, "files">) {
  return fetchedBy.map((path) => contentOf(path, host)?.replaceAll(/^# Its .*\n/gm, "") ?? null);
}

/** Whether the index is that of what stands; where no source of ours stands, nobody fetches one. */
function isFetched(host: Pick<Host, "files">) {
  return contentOf(indexPath, host) === JSON.stringify(standing(host));
}

describeLaws(
  {
    "a source for apt": {
      definition: {
        type: "package_repository",
        name: "site",
        uris,
        suites: ["stable"],
        components: ["main"],
        key: pgp,
      },
      breakIt: (host) => host.files.removeFile("/etc/apt/keyrings/site.asc"),
      observe: (host) => {
        const [source, key] = ["/etc/apt/sources.list.d/site.sources", "/etc/apt/keyrings/site.asc"].map(
          (path) => contentOf(path, host),
        );
        return [source ?? null, key ?? null, source === null || isFetched(host)];
      },
    },
    "another key for a source": {
      definition: { type: "package_repository", name: "site", uris, key: pgp },
      prepare(host) {
        host.files.makeDirectory("/etc/apt/keyrings", {});
        host.files.writeFile("/etc/apt/keyrings/site.asc", text("old"), { mode: 0o644 });
        const source = `Types: deb\nURIs: ${uris.join(" ")}\nSuites: /\nSigned-By: /etc/apt/keyrings/site.asc\n`;
        host.files.writeFile("/etc/apt/sources.list.d/site.sources", text(source), { mode: 0o644 });
        host.files.writeFile(indexPath, text(JSON.stringify(standing(host))), {});
      },
      breakIt: (host) => host.files.removeFile("/etc/apt/keyrings/site.asc"),
      observe: (host) => [standing(host), isFetched(host)],
    },
    "a source in the place of another": {
      definition: {
        type: "package_repository",
        name: "site",
        uris,
        suites: ["stable"],
        components: ["main"],
      },
      prepare(host) {
        host.files.writeFile("/etc/apt/sources.list.d/site.sources", text("Types: deb\n"), { mode: 0o644 });
        host.files.writeFile(indexPath, text(JSON.stringify(standing(host))), {});
      },
      breakIt: (host) => host.files.removeFile("/etc/apt/sources.list.d/site.sources"),
      observe: (host) => [contentOf("/etc/apt/sources.list.d/site.sources", host), isFetched(host)],
    },
    "a source that is not wanted": {
      definition: { type: "package_repository", name: "site", ensure: "absent" },
      prepare: (host) =>
        host.files.writeFile("/etc/apt/sources.list.d/site.sources", text("Types: deb\n"), { mode: 0o644 }),
      breakIt: (host) =>
        host.files.writeFile("/etc/apt/sources.list.d/site.sources", text("#\n"), { mode: 0o644 }),
      observe: (host) => contentOf("/etc/apt/sources.list.d/site.sources", host),
    },
  },
  { "in memory": () => machineWith(apt) },
);

describeLaws(
  {
    "a source for apk": {
      definition: {
        type: "package_repository",
        name: "site",
        uris: ["https://example.org/v3"],
        components: ["main"],
        key: pem,
      },
      breakIt: (host) => host.files.writeFile("/etc/apk/repositories", text(alpine), {}),
      observe: (host) => {
        const source = contentOf("/etc/apk/repositories", host);
        return [source, source === alpine || isFetched(host)];
      },
    },
  },
  { "in memory": () => machineWith(apk) },
);

describeLaws(
  {
    "a source for dnf": {
      definition: { type: "package_repository", name: "site", uris, key: pgp },
      breakIt: (host) => host.files.removeFile("/etc/yum.repos.d/site.repo"),
      observe: (host) => {
        const source = contentOf("/etc/yum.repos.d/site.repo", host);
        const key = contentOf("/etc/pki/rpm-gpg/RPM-GPG-KEY-site", host);
        return [source, key, source === null || isFetched(host)];
      },
    },
  },
  { "in memory": () => machineWith(dnf) },
);

const declared = (more: JsonObject = {}) =>
  declare([{ id: "r", type: "package_repository", name: "site", uris, ...more }]);

describe("what is written", () => {
  test("for apt is one deb822 file, the key beside it, and the index of it alone is fetched", async () => {
    const ran: string[] = [];
    const state = new StateFixture(machineWith(apt, ran));
    await state.run(
      "apply",
      declared({ suites: ["stable"], components: ["main", "extra"], architectures: ["amd64"], key: pgp }),
    );
    expect(state.read("/etc/apt/sources.list.d/site.sources")).toBe(
      "Types: deb\nURIs: https://example.org/debian\nSuites: stable\nComponents: main extra\n" +
        "Architectures: amd64\nSigned-By: /etc/apt/keyrings/site.asc\n",
    );
    expect(state.read("/etc/apt/keyrings/site.asc")).toBe(`${pgp}\n`);
    expect(ran).toEqual([
      "/usr/bin/apt-get -qq -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/site.sources -o Dir::Etc::sourceparts=- " +
        "-o APT::Get::List-Cleanup=0 -o APT::Update::Error-Mode=any update",
    ]);
  });

  test("for apt is a flat folder where no suite is named", async () => {
    const state = new StateFixture(machineWith(apt));
    await state.run("apply", declared());
    expect(state.read("/etc/apt/sources.list.d/site.sources")).toBe(
      "Types: deb\nURIs: https://example.org/debian\nSuites: /\n",
    );
  });

  test("for apk are addresses as apk takes them, with a key by the name that it looks for", async () => {
    const state = new StateFixture(machineWith(apk));
    await state.run("apply", declared({ uris: ["https://a.example/v3/", "https://b.example/v3"], key: pem }));
    expect(state.read("/etc/apk/repositories")).toBe(
      `${alpine}# BEGIN fleetwright: site\nhttps://a.example/v3\nhttps://b.example/v3\n# END fleetwright: site\n`,
    );
    expect(state.read("/etc/apk/keys/site.rsa.pub")).toBe(`${pem}\n`);
    await state.run("apply", declared({ uris: ["https://a.example/v3/"], components: ["main"], key: pem }));
    expect(state.read("/etc/apk/repositories")).toContain("\nhttps://a.example/v3/main\n");
  });

  test("for dnf is a .repo file whose key must sign", async () => {
    const ran: string[] = [];
    const state = new StateFixture(machineWith(dnf, ran));
    await state.run("apply", declared({ key_path: "/etc/pki/site.asc" }));
    expect(state.read("/etc/yum.repos.d/site.repo")).toBe(
      "[site]\nname=site\nbaseurl=https://example.org/debian\nenabled=1\ngpgcheck=1\ngpgkey=file:///etc/pki/site.asc\n",
    );
    expect(ran).toEqual([
      "dnf -q -y --setopt=skip_if_unavailable=False --disablerepo=* --enablerepo=site makecache --refresh",
    ]);
  });

  test("leaves a key at its own path alone where another resource puts it there", async () => {
    const path = "/etc/apt/keyrings/site.asc";
    const state = new StateFixture(machineWith(apt));
    state.host.files.makeDirectory("/etc/apt/keyrings", {});
    const key = declare([{ id: "key", type: "file", path, content: `${pgp}\n` }]);
    const desired = [...key, ...declared({ key_path: path })];
    expect((await state.run("apply", desired)).status).toBe("succeeded");
    expect(outcomes(await state.run("apply", desired))).toEqual(["key unchanged", "r unchanged"]);
    await state.run("apply", key);
    expect(state.read(path)).toBe(`${pgp}\n`);
    expect(state.host.files.stat("/etc/apt/sources.list.d/site.sources")).toBeNull();
  });

  test("for apk are marked lines, and lines of others stay when they go", async () => {
    const state = new StateFixture(machineWith(apk));
    await state.run("apply", declared({ components: ["main", "community"] }));
    expect(state.read("/etc/apk/repositories")).toBe(
      `${alpine}# BEGIN fleetwright: site\nhttps://example.org/debian/main\nhttps://example.org/debian/community\n# END fleetwright: site\n`,
    );
    state.write(
      "/etc/apk/repositories",
      `${state.read("/etc/apk/repositories")}https://theirs.example.org\n`,
    );
    await state.run("apply", []);
    expect(state.read("/etc/apk/repositories")).toBe(`${alpine}https://theirs.example.org\n`);
  });
});

test("a source whose index can't be fetched leaves everything as it was", async () => {
  const state = new StateFixture(machineWith(apt, [], 100));
  const { results } = await state.run("apply", declared({ suites: ["stable"], key: pgp }));
  expect(results[0]).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED", exit_code: 100 });
  expect(results[0]?.message).toBe("/usr/bin/apt-get exited with 100: E: The repository is not signed.");
  expect(state.host.files.list("/etc/apt/sources.list.d")).toEqual([]);
  expect(state.host.files.list("/etc/apt/keyrings")).toEqual([]);
});

test("a machine without such a package manager is an error", async () => {
  const state = new StateFixture(machineWith([]));
  expect((await state.run("plan", declared())).results[0]).toMatchObject({
    message: "apt, dnf, apk is not on this machine.",
  });
});

test.each<[string, JsonObject]>([
  ["a name that leads elsewhere", { name: "../a", uris }],
  ["a URI with a password", { name: "a", uris: ["https://me:secret@example.org/"] }],
  ["a URI with a line break", { name: "a", uris: ["https://example.org/\nTrusted: yes"] }],
  ["a suite with a line break", { name: "a", uris, suites: ["stable\nTrusted: yes"] }],
  ["a component that would be an option", { name: "a", uris, components: ["-x"] }],
  ["a key that is none", { name: "a", uris, key: "https://example.org/key" }],
  ["a key and the path of one", { name: "a", uris, key: pgp, key_path: "/key" }],
  ["nowhere to fetch from", { name: "a" }],
])("%s is a fault", (_what, properties) => {
  expect(resolveResource({ type: "package_repository", ...properties }, { module: "m" }).ok).toBe(false);
});

test.each([
  ["apt", "/usr/bin/apt-get", apt],
  ["dnf", "dnf", dnf],
  ["apk", "apk", apk],
])(
  "a source of %s leaves everything as it was where the apply is cut off while its index is fetched",
  async (_, name, folders) => {
    const stop = new AbortController();
    const host = new MemoryHost({
      programs: {
        [name]: (_command, signal) => {
          stop.abort(new OrchestratorError("CANCELLED"));
          signal.throwIfAborted();
          return {};
        },
      },
    });
    for (const path of ["/etc", ...folders]) host.files.makeDirectory(path, {});
    if (folders === apk) host.files.writeFile("/etc/apk/repositories", text(alpine), { mode: 0o644 });
    const state = new StateFixture(host);
    const texts = (): unknown[] =>
      [...host.writes]
        .filter(({ call }) => call === "writeFile")
        .map(({ path }) => [path, contentOf(path, host)]);
    const before = new Map(texts() as [string, string][]);
    const wanted = { suites: ["stable"], key: folders === apk ? pem : pgp };
    await state.run("apply", declared(wanted), { cut: stop.signal });
    expect(stop.signal.aborted).toBe(true);
    const after = texts() as [string, string | null][];
    expect(after.length).toBeGreaterThan(before.size);
    for (const [path, content] of after) expect(content, path).toBe(before.get(path) ?? null);
  },
);

test("where the index is cut off, what stood before is put back as where it fails", async () => {
  const cut = new AbortController();
  const host = machineWith(apt);
  const state = new StateFixture(host);
  const source = "/etc/apt/sources.list.d/site.sources";
  state.write(source, "theirs\n");
  const run = host.run.bind(host);
  host.run = async (command, signal) => (cut.abort(), { ...(await run(command, signal)), exitCode: null });
  const desired = declare([{ id: "r", type: "package_repository", name: "site", uris, key: pgp }]);
  expect(outcomes(await state.run("apply", desired, { cut: cut.signal }))).toEqual(["r failed"]);
  expect([contentOf(source, host), contentOf("/etc/apt/keyrings/site.asc", host)]).toEqual([
    "theirs\n",
    null,
  ]);
});

test("no source stands without its key, on the way there and back", async () => {
  const state = new StateFixture(machineWith(apt));
  const calls: string[] = [];
  const host = recordCalls(state.host, ({ call, path }) => {
    if (path.includes("site")) calls.push(`${call} ${path.split("/").at(-1)}`);
  });
  const desired = declare([{ id: "r", type: "package_repository", name: "site", uris, key: pgp }]);
  await state.run("apply", desired, { host });
  await state.run("apply", [], { host });
  expect(calls).toEqual([
    "writeFile site.asc",
    "writeFile site.sources",
    "writeFile site.sources",
    "removeFile site.sources",
    "removeFile site.asc",
  ]);
});

describe.each([
  ["apt", apt, "/etc/apt/sources.list.d/site.sources", "/etc/apt/keyrings/site.asc"],
  ["dnf", dnf, "/etc/yum.repos.d/site.repo", "/etc/pki/rpm-gpg/RPM-GPG-KEY-site"],
  ["apk", apk, "/etc/apk/repositories", "/etc/apk/keys/site.rsa.pub"],
] as const)("a source of %s whose maker is killed while its index is fetched", (_, folders, source, key) => {
  const wanted = declared({ key: folders === apk ? pem : pgp });
  const none = folders === apk ? alpine : null;

  /** What is left of a machine whose agent is killed then. */
  async function killed(exitCode: number): Promise<StateFixture> {
    const host = machineWith([...folders], [], exitCode);
    let isDead = false;
    const dead = recordCalls(host, ({ call }) => {
      isDead ||= call === "run";
      if (isDead) throw new OrchestratorError("HOST_ERROR");
    });
    const state = new StateFixture(host);
    await state.run("apply", wanted, { host: dead });
    expect(contentOf(source, host)).toContain("example.org");
    return state;
  }

  test("differs, and is fetched by the next apply", async () => {
    const state = await killed(0);
    expect((await state.run("check", wanted)).results[0]?.outcome).toBe("would_change");
    expect(isFetched(state.host)).toBe(false);
    expect(outcomes(await state.run("apply", wanted))).toEqual(["r changed"]);
    expect(isFetched(state.host)).toBe(true);
    expect(contentOf(source, state.host)).not.toContain("fetched");
    expect(outcomes(await state.run("apply", wanted))).toEqual(["r unchanged"]);
  });

  test("goes where the next apply can't fetch it either", async () => {
    const state = await killed(100);
    expect(outcomes(await state.run("apply", wanted))).toEqual(["r failed"]);
    expect([contentOf(source, state.host), contentOf(key, state.host)]).toEqual([none, null]);
  });
});
