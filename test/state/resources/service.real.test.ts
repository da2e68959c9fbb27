/** A daemon with an init script, both made by the test, on this machine; its process and `service` say what came of it. */
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeOnRealMachine, exitCode, output } from "../../support/machine/real-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

const name = "fleetwright-test-daemon";
const script = `/etc/init.d/${name}`;

/** Notes each reload; ends when it is asked to. */
const daemon = (folder: string): string => `#!/bin/sh
trap 'echo reloaded >> ${folder}/log' HUP
trap 'exit 0' TERM
echo started >> ${folder}/log
while :; do sleep 1 & wait $!; done
`;

const initScript = (folder: string): string => `#!/bin/sh
### BEGIN INIT INFO
# Provides:          ${name}
# Required-Start:
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
### END INIT INFO
PIDFILE=${folder}/pid
running() { [ -f "$PIDFILE" ] && kill -0 "$(cat "$PIDFILE")" 2>/dev/null; }
case "$1" in
  start) running || { setsid ${folder}/daemon </dev/null >/dev/null 2>&1 & echo $! > "$PIDFILE"; } ;;
  stop) running && kill "$(cat "$PIDFILE")"; rm -f "$PIDFILE" ;;
  restart) "$0" stop; "$0" start ;;
  reload) running && kill -HUP "$(cat "$PIDFILE")" ;;
  status) running || exit 3 ;;
  *) echo "unknown: $1" >&2; exit 2 ;;
esac
`;

describeOnRealMachine(
  "service, with sysvinit",
  { programs: ["service", "update-rc.d"], paths: ["/etc/init.d"] },
  () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), "fleetwright-daemon-"));
      writeFileSync(join(folder, "daemon"), daemon(folder));
      chmodSync(join(folder, "daemon"), 0o755);
      writeFileSync(script, initScript(folder));
      chmodSync(script, 0o755);
    });
    afterAll(() => {
      exitCode("service", name, "stop");
      rmSync(script, { force: true });
      output("update-rc.d", name, "remove");
      rmSync(folder, { recursive: true });
    });

    const pid = (): string => readFileSync(join(folder, "pid"), "utf8").trim();
    const links = (): string[] => readdirSync("/etc/rc2.d").filter((link) => link.endsWith(name));
    /** The daemon tells by itself; how soon is not in our hands. */
    const log = async (lines: string[]): Promise<void> => {
      const read = (): string[] => readFileSync(join(folder, "log"), "utf8").split("\n").filter(Boolean);
      await expect.poll(read, { timeout: 30_000 }).toEqual(lines);
    };

    test("starts, enables, reloads and restarts it, and brings back what stood before", async () => {
      using state = new RealState();
      const file = (content: string) => ({ id: "conf", type: "file", path: join(folder, "conf"), content });
      const service = { id: "s", type: "service", name, provider: "sysvinit", running: true, enabled: true };

      expect((await state.run("plan", [service])).results[0]?.outcome).toBe("would_change");
      expect(exitCode("service", name, "status")).toBe(3);

      expect(await state.apply([service])).toEqual(["s changed update"]);
      expect(exitCode("service", name, "status")).toBe(0);
      expect(existsSync(`/proc/${pid()}`)).toBe(true);
      expect(links()).toEqual([expect.stringMatching(/^S/)]);
      await log(["started"]);
      expect(await state.apply([service])).toEqual(["s unchanged none"]);

      const first = pid();
      expect(await state.apply([file("1"), { ...service, reload_on: ["conf"] }])).toEqual([
        "conf changed create",
        "s changed reload",
      ]);
      await log(["started", "reloaded"]);
      expect(pid()).toBe(first);
      expect(await state.apply([file("2"), { ...service, restart_on: ["conf"] }])).toEqual([
        "conf changed update",
        "s changed restart",
      ]);
      await log(["started", "reloaded", "started"]);
      expect(pid()).not.toBe(first);

      output("service", name, "stop");
      expect((await state.run("check", [service])).results[0]?.changes).toEqual([
        { property: "running", before: false, after: true },
      ]);
      expect(await state.apply([file("3"), { ...service, restart_on: ["conf"] }])).toEqual([
        "conf changed update",
        "s changed restart",
      ]);
      await log(["started", "reloaded", "started", "started"]);

      expect(await state.apply([])).toEqual(["s changed remove", "conf changed remove"]);
      expect(exitCode("service", name, "status")).toBe(3);
      expect(links()).toEqual([expect.stringMatching(/^K/)]);
    });
  },
);
