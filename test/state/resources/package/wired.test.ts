/** What a `package` hands on to its package manager, and what it refuses in its place. */
import { expect, test } from "vitest";
import { MemoryHost, type MemoryProgram } from "../../../../lib/host/memory-host.ts";
import { packageResourceType } from "../../../../lib/state/resources/package.ts";
import { addHolds } from "../../../../lib/state/resources/package/prior.ts";
import { installedState, notInstalled } from "../../../../lib/state/resources/package/provider.ts";

const { signal } = new AbortController();

/** A machine with one package manager, which says nothing, and what it was asked. */
function machine(path: string): { host: MemoryHost; lines: string[] } {
  const lines: string[] = [];
  const program: MemoryProgram = ({ argv }) => (lines.push(argv.join(" ")), {});
  const host = new MemoryHost({ programs: { [path]: program, rpm: program } });
  for (let at = path.indexOf("/", 1); at !== -1; at = path.indexOf("/", at + 1))
    host.files.makeDirectory(path.slice(0, at), {});
  host.files.writeFile(path, Buffer.from(""), { mode: 0o755 });
  return { host, lines };
}

test.each([
  ["comes back", { before: [{ name: "nginx", installed: true }] }, true],
  ["is declared", {}, false],
])("a package that %s is installed as the very one: %s", async (_how, more, isExact) => {
  const { host, lines } = machine("/usr/bin/dnf");
  const spec = { name: "nginx", ensure: "present" as const, ...more };
  await packageResourceType.apply(spec, [], host, signal);
  const installs = lines.filter((line) => / -y .*install -- nginx$/.test(line));
  expect(installs.map((line) => line.includes("--setopt=obsoletes=False"))).toEqual([isExact]);
});

test.each([true, false])("what can't be held is refused with hold: %s", async (hold) => {
  const { host } = machine("/sbin/apk");
  const check = async () =>
    packageResourceType.check({ name: "nginx", ensure: "present", hold }, host, signal);
  await expect(check()).rejects.toMatchObject({ code: "HOST_ERROR", message: "apk can't hold packages." });
});

test("the hold of a package that somebody took away meanwhile is not noted, that of one that we bring goes with it", () => {
  const states = new Map([
    ["gone", notInstalled],
    ["there", installedState("1", true)],
    ["ours", installedState("1", true)],
  ]);
  expect(addHolds([{ name: "ours", installed: false }], states)).toEqual([
    { name: "ours", installed: false, hold: false },
    { name: "there", installed: true, hold: true },
  ]);
});
