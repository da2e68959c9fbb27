/** A source of packages whose versions are for different package managers goes from all of them; what stood there comes back. */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { snapshot } from "../../../lib/testing/snapshot.ts";
import { text } from "../../support/laws.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const folders = { apt: "/etc/apt/sources.list.d", dnf: "/etc/dnf", apk: "/etc/apk" } as const;
const sources = { apt: `${folders.apt}/site.sources`, dnf: "/etc/yum.repos.d/site.repo" } as const;
type Provider = keyof typeof folders;

function machine(): StateFixture {
  const programs = { "/usr/bin/apt-get": () => ({}), dnf: () => ({}), apk: () => ({}) };
  const host = new MemoryHost({ programs });
  for (const path of ["/etc", "/etc/apt", "/etc/apt/keyrings", "/etc/pki", "/etc/pki/rpm-gpg", "/etc/apk"])
    host.files.makeDirectory(path, {});
  for (const path of [folders.apt, folders.dnf, "/etc/yum.repos.d", "/etc/apk/keys"])
    host.files.makeDirectory(path, {});
  host.files.writeFile("/etc/apk/repositories", text("https://theirs.example.org\n"), { mode: 0o644 });
  return new StateFixture(host);
}

const version = (provider?: Provider) => {
  const key =
    provider === "apk"
      ? "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----"
      : "-----BEGIN PGP PUBLIC KEY BLOCK-----";
  const source = { name: "site", uris: ["https://example.org/x"], key, ...(provider && { provider }) };
  return declare([{ id: "r", type: "package_repository", ...source }]);
};

const ways: (Provider | undefined)[][] = [
  ["apt", "dnf"],
  ["dnf", "apt", "dnf"],
  [undefined, "dnf"],
  ["dnf", undefined],
  [undefined, "apt"],
  ["apk", "dnf", "apt"],
];

const cases = ways.flatMap((way) => [[way, false] as const, [way, true] as const]);

test.each(cases)("a source for %j goes, where others stood: %s", async (way, isTheirs) => {
  const state = machine();
  if (isTheirs) for (const path of Object.values(sources)) state.write(path, "theirs\n");
  const before = snapshot(state.host, "/etc");
  for (const provider of way) {
    expect((await state.run("apply", version(provider))).status).toBe("succeeded");
    expect(outcomes(await state.run("apply", version(provider)))).toEqual(["r unchanged"]);
  }
  const plan = await state.run("plan", []);
  const removal = await state.run("apply", []);
  expect(removal).toMatchObject({ status: "succeeded", applied: [] });
  expect(removal.results.map(({ changes }) => changes)).toEqual(plan.results.map(({ changes }) => changes));
  expect(snapshot(state.host, "/etc")).toEqual(before);
});

test("a source goes from where it was made, though the machine has another package manager by then", async () => {
  const state = machine();
  state.host.files.removeDirectory(folders.apt);
  const before = snapshot(state.host, "/etc");
  await state.run("apply", version());
  expect(state.host.files.stat(sources.dnf)).not.toBeNull();
  state.host.files.makeDirectory(folders.apt, {});
  expect((await state.run("apply", [])).status).toBe("succeeded");
  state.host.files.removeDirectory(folders.apt);
  expect(snapshot(state.host, "/etc")).toEqual(before);
});

test("a source whose marks are not one pair any more is told, and no line of others is taken for it", async () => {
  const state = machine();
  await state.run("apply", version("apk"));
  const path = "/etc/apk/repositories";
  const written = state.read(path);
  state.write(path, `${written.replace("# END fleetwright: site\n", "")}https://theirs-too.example.org\n`);
  const edited = state.read(path);
  for (const wanted of [version("apk"), []]) {
    const { results } = await state.run("apply", wanted);
    expect(results).toMatchObject([{ code: "HOST_ERROR", message: expect.stringContaining(path) as string }]);
    expect(state.read(path)).toBe(edited);
  }
});
