/** What the exit code of a service's `status` says: one row for each that an init system knows, and any other is an error. */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../../lib/host/memory-host.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

type Codes = Record<"runs" | "doesNotRun" | "isNoAnswer", readonly number[]>;

const inits: Record<string, Codes & { program: string }> = {
  // LSB 5.0, 22.2: runs; dead with a pid file, dead with a lock file, stopped.
  sysvinit: { program: "service", runs: [0], doesNotRun: [1, 2, 3], isNoAnswer: [4, 8, 16, 32, 127] },
  // OpenRC's own: started; stopped, starting, inactive, crashed, and 1 of releases that told them not apart.
  openrc: { program: "rc-service", runs: [0], doesNotRun: [1, 3, 8, 16, 32], isNoAnswer: [2, 4, 64, 127] },
};

const rows = Object.entries(inits).flatMap(([init, { program, ...codes }]) =>
  (["runs", "doesNotRun", "isNoAnswer"] as const).flatMap((outcome) =>
    codes[outcome].map((code) => [init, code, outcome, program] as const),
  ),
);

test.each(rows)("of %s: a service whose status ends with %i %s", async (init, exitCode, outcome, program) => {
  const host = new MemoryHost({ programs: { [program]: () => ({ exitCode }) } });
  const folders = ["/etc", "/etc/init.d", ...(init === "openrc" ? ["/run", "/run/openrc"] : [])];
  for (const path of folders) host.files.makeDirectory(path, {});
  for (const path of ["/etc/init.d/web", ...(init === "openrc" ? ["/run/openrc/softlevel"] : [])])
    host.files.writeFile(path, new Uint8Array(), {});
  const state = new StateFixture(host);
  const web = declare([{ id: "s", type: "service", name: "web", running: true }]);
  const [planned] = (await state.run("plan", web)).results;
  expect(planned).toMatchObject(
    {
      runs: { outcome: "unchanged" },
      doesNotRun: { outcome: "would_change" },
      isNoAnswer: { outcome: "failed", code: "COMMAND_FAILED" },
    }[outcome],
  );
});
