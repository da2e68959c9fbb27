import { expect, test } from "vitest";
import { MemoryHost } from "../../../../lib/host/memory-host.ts";
import { act, ask } from "../../../../lib/state/resources/shared/command.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

const { signal } = new AbortController();
const confined = (): MemoryHost =>
  new MemoryHost({ isConfined: true, programs: { useradd: () => ({}), git: () => ({}) } });

test.each([
  { type: "user", name: "web" },
  { type: "group", name: "web" },
  { type: "mount", path: "/srv", device: "tmpfs", fstype: "tmpfs" },
  { type: "sysctl", key: "net.ipv4.ip_forward", value: "1" },
  { type: "package", name: "nginx", provider: "apt" },
  { type: "package_repository", name: "own", uris: ["https://example.com"] },
  { type: "service", name: "nginx", running: true, provider: "systemd" },
  { type: "cron", name: "job", command: "true", hour: 3 },
  { type: "hostname", name: "web-1" },
])("$type is refused where a root folder stands for the machine, and changes nothing", async (definition) => {
  const state = new StateFixture(confined());
  for (const mode of ["plan", "apply"] as const) {
    const { results } = await state.run(mode, declare([{ id: "r", ...definition }]));
    expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(results[0]?.message).toContain("can't be used with --root");
  }
  expect(state.host.writes).toEqual([]);
});

test("only a program that stays in the root folder is run there", async () => {
  const host = confined();
  for (const run of [act, ask])
    await expect(run({ argv: ["useradd", "web"] }, { host, signal })).rejects.toMatchObject({
      code: "HOST_ERROR",
    });
  expect(host.writes).toEqual([]);
  await ask({ argv: ["git", "version"] }, { host, signal, staysInRoot: true });
  expect(host.writes).toEqual([{ call: "run", path: "git" }]);
});
