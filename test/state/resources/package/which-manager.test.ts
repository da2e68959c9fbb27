/** Which package manager a machine has is known by its program, and how old its index is by a folder. */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../../lib/host/memory-host.ts";
import { placeFile } from "../../../support/machine/answering.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

/** A machine with these programs, each of which answers nothing and with 0; `ran` notes their lines. */
function machineWith(...programs: string[]): { host: MemoryHost; ran: string[] } {
  const ran: string[] = [];
  const answer = ({ argv }: { argv: readonly string[] }) => {
    ran.push(argv.join(" "));
    return argv[0]?.endsWith("brew") ? { stdout: '{"formulae":[],"casks":[]}' } : {};
  };
  const names = [...programs, "dpkg-query", "apt-cache", "rpm", "find"];
  const host = new MemoryHost({ programs: Object.fromEntries(names.map((name) => [name, answer])) });
  for (const path of programs) placeFile(host, path);
  return { host, ran };
}

test.each([
  ["/usr/bin/apt-get", "dpkg-query"],
  ["/usr/bin/dnf", "rpm"],
  ["/usr/bin/dnf5", "rpm"],
  ["/sbin/apk", "/sbin/apk"],
  ["/usr/bin/apk", "/usr/bin/apk"],
  ["/usr/bin/pacman", "/usr/bin/pacman"],
  ["/opt/homebrew/bin/brew", "/opt/homebrew/bin/brew"],
  ["/usr/local/bin/brew", "/usr/local/bin/brew"],
  ["/home/linuxbrew/.linuxbrew/bin/brew", "/home/linuxbrew/.linuxbrew/bin/brew"],
])("a machine with %s is asked by %s", async (program, asked) => {
  const { host, ran } = machineWith(program);
  await new StateFixture(host).run("check", declare([{ type: "package", name: "jq" }]));
  expect(ran[0]?.split(" ")[0]).toBe(asked);
});

test("a machine's own package manager comes before one that somebody added", async () => {
  const all = ["/usr/local/bin/brew", "/usr/bin/pacman", "/sbin/apk", "/usr/bin/dnf", "/usr/bin/apt-get"];
  const asked: string[] = [];
  for (let count = 1; count <= all.length; count += 1) {
    const { host, ran } = machineWith(...all.slice(0, count));
    await new StateFixture(host).run("check", declare([{ type: "package", name: "jq" }]));
    asked.push(ran[0]?.split(" ")[0] ?? "");
  }
  expect(asked).toEqual(["/usr/local/bin/brew", "/usr/bin/pacman", "/sbin/apk", "rpm", "dpkg-query"]);
});

test.each([
  ["/usr/bin/apt-get", "/var/lib/apt/lists/partial"],
  ["/sbin/apk", "/var/cache/apk"],
  ["/usr/bin/pacman", "/var/lib/pacman/sync"],
])(
  "of %s the index is as old as %s: a day is too old, unless another age is said",
  async (program, index) => {
    for (const [seconds, minutes] of [
      [undefined, 1440],
      [3601, 61],
      [0, 0],
    ] as const) {
      const { host, ran } = machineWith(program, `${index}/x`);
      const age = seconds === undefined ? {} : { update_cache_seconds: seconds };
      await new StateFixture(host).run("apply", declare([{ type: "package", name: "jq", ...age }]));
      const line = `find ${index} -maxdepth 0 -mmin -${minutes} ! -newer /proc/self/stat`;
      expect(ran.filter((each) => each.startsWith("find"))).toContain(line);
    }
  },
);

test.each([
  ["/usr/bin/apt-get", "policy", "jq:\n  Candidate: 1.0-1\n", " update"],
  ["/sbin/apk", "search", "jq-1.0-r1\n", " update"],
  ["/usr/bin/pacman", "-Si", "Name : jq\nVersion : 1.0-1\n", " -Sy --noconfirm"],
])(
  "with %s an index whose folder is gone is fetched, though a package of it is known",
  async (program, asking, stdout, fetching) => {
    const { host, ran } = machineWith(program);
    const call = host.run.bind(host);
    host.run = async (command, signal) => {
      const result = await call(command, signal);
      return command.argv.includes(asking) ? { ...result, stdout } : result;
    };
    await new StateFixture(host).run("apply", declare([{ type: "package", name: "jq" }]));
    expect(ran.some((line) => line.startsWith(program) && line.endsWith(fetching))).toBe(true);
    // Whether it is old is no question to a program.
    expect(ran.filter((line) => line.startsWith("find"))).toEqual([]);
  },
);
