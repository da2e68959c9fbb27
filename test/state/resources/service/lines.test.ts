/** Each line that an init system gets, with what it answers, and what is made of it. */
import { describe, expect, test } from "vitest";
import type { MemoryHost } from "../../../../lib/host/memory-host.ts";
import { openrcProvider as openrc } from "../../../../lib/state/resources/service/openrc.ts";
import type { ServiceVerb } from "../../../../lib/state/resources/service/provider.ts";
import { systemdProvider as systemd, toUnit } from "../../../../lib/state/resources/service/systemd.ts";
import { sysvinitProvider as sysvinit } from "../../../../lib/state/resources/service/sysvinit.ts";
import { type Answers, answering, placeFile } from "../../../support/machine/answering.ts";

const shown =
  "systemctl show --property=Id,LoadState,ActiveState,SubState,Type,NRestarts,Result,ExecMainStartTimestampMonotonic,UnitFileState,FragmentPath,NeedDaemonReload -- web.service";
const later = (seconds: number): string => `sh -c sleep "$1"; shift; exec "$@" sh ${seconds} ${shown}`;

/** What systemd shows of a service that runs. */
const print = (more: Record<string, string | number> = {}): string =>
  Object.entries({
    Id: "web.service",
    LoadState: "loaded",
    ActiveState: "active",
    SubState: "running",
    Type: "notify",
    NRestarts: 0,
    UnitFileState: "enabled",
    ...more,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");

const systemctl = (answers: Answers, options: Parameters<typeof answering>[2] = {}) =>
  answering("systemctl", answers, options);

function setUptime(host: MemoryHost, seconds: string): void {
  placeFile(host, "/proc/uptime");
  host.files.writeFile("/proc/uptime", Buffer.from(seconds), { mode: 0o444 });
}

describe("systemd", () => {
  test.each<[string, ServiceVerb, string, string]>([
    ["what waits to be restarted is not waited for", "start", print({ SubState: "auto-restart" }), "restart"],
    ["what does not wait is started", "start", print({ SubState: "dead" }), "start"],
    [
      "a mask until the next start is taken away",
      "unmask",
      print({ UnitFileState: "masked-runtime" }),
      "unmask --runtime",
    ],
    ["another mask is taken away", "unmask", print({ UnitFileState: "masked" }), "unmask"],
    ["a reload is one", "reload", print({ SubState: "auto-restart" }), "reload"],
  ])("does by its lines: %s", async (_what, verb, stdout, expected) => {
    const line = `systemctl ${expected} -- web.service`;
    const { machine, lines } = systemctl({ [shown]: stdout, [line]: "" });
    await systemd.act(verb, "web", machine);
    expect(lines().filter((each) => each !== shown)).toEqual([line]);
  });

  test("orders a restart without waiting for it, after it has read what is newer", async () => {
    const order = "systemctl restart --no-block -- web.service";
    for (const [stale, expected] of [
      ["yes", [shown, "systemctl daemon-reload", order]],
      ["no", [shown, order]],
    ] as const) {
      const { machine, lines } = systemctl({
        [shown]: print({ NeedDaemonReload: stale }),
        "systemctl daemon-reload": "",
        [order]: "",
      });
      await systemd.orderRestart("web", machine);
      expect(lines()).toEqual(expected);
    }
  });

  const down = { ActiveState: "failed", SubState: "failed", Result: "exit-code" };
  const said = (state: string): string => `The service "web" does not stay up: ${state}.`;
  test.each<[string, object, object, string | null]>([
    ["that stays up", { Type: "simple" }, { Type: "simple" }, null],
    [
      "that ends within a moment",
      { Type: "exec" },
      { Type: "exec", ...down },
      said("failed (failed), result exit-code, 0 restarts"),
    ],
    [
      "that is restarted within a moment",
      { Type: "forking", NRestarts: 1 },
      { Type: "forking", NRestarts: 2, Result: "success" },
      said("active (running), result success, 2 restarts"),
    ],
    [
      "that ended at once",
      { Type: "idle", ...down },
      {},
      said("failed (failed), result exit-code, 0 restarts"),
    ],
    ["that says itself when it is ready", { Type: "notify" }, down, null],
  ])("looks again at a service %s", async (_what, first, then, message) => {
    for (const verb of ["start", "restart"] as const) {
      const { machine } = systemctl({
        [shown]: print({ ...first }),
        [`systemctl ${verb} -- web.service`]: "",
        [later(1)]: print({ ...then }),
      });
      const acting = systemd.act(verb, "web", machine);
      if (message === null) await acting;
      else
        await expect(acting).rejects.toMatchObject({
          code: "NOT_CONVERGED",
          message,
          details: { properties: ["running"] },
        });
    }
  });

  test.each<[string, object, object | null, boolean]>([
    [
      "restarts itself again",
      { NRestarts: 2, ExecMainStartTimestampMonotonic: 96_000_000 },
      { NRestarts: 3 },
      false,
    ],
    [
      "stays up after a restart",
      { NRestarts: 2, ExecMainStartTimestampMonotonic: 96_000_000 },
      { NRestarts: 2 },
      true,
    ],
    [
      "was restarted some time ago",
      { NRestarts: 2, ExecMainStartTimestampMonotonic: 94_000_000 },
      null,
      true,
    ],
    ["was never restarted", { NRestarts: 0, ExecMainStartTimestampMonotonic: 99_000_000 }, null, true],
    ["tells no time", { NRestarts: 2, ExecMainStartTimestampMonotonic: 0 }, null, true],
  ])("runs is only what stays up: a service that %s", async (_what, first, then, running) => {
    const answers = { [shown]: print({ ...first }), ...(then && { [later(5)]: print({ ...then }) }) };
    const { machine, lines } = systemctl(answers);
    setUptime(machine.host as MemoryHost, "100.5 1.0\n");
    expect(await systemd.query("web", machine)).toMatchObject({ running, enabled: true });
    expect(lines()).toEqual(Object.keys(answers));
  });

  test.each([
    [0, true],
    [1, false],
  ])("a unit that was made from a script is enabled by its links: %s", async (exitCode, enabled) => {
    const asked = "systemctl is-enabled --quiet -- web.service";
    const { machine } = systemctl({ [shown]: print({ UnitFileState: "generated" }), [asked]: { exitCode } });
    expect(await systemd.query("web", machine)).toMatchObject({ enabled });
  });

  test.each([
    ["reloading", {}, true],
    ["refreshing", {}, true],
    ["activating", {}, false],
    ["deactivating", {}, false],
    ["active", { SubState: "auto-restart" }, false],
  ])("a service that is %s", async (ActiveState, more, running) => {
    const { machine } = systemctl({ [shown]: print({ ActiveState, ...more }) });
    expect(await systemd.query("web", machine)).toMatchObject({ running });
  });

  test.each([
    ["enabled", true, undefined],
    ["alias", true, undefined],
    ["enabled-runtime", false, undefined],
    ["static", false, "systemd calls it static"],
    ["indirect", false, "systemd calls it indirect"],
    ["transient", false, "systemd calls it transient"],
  ])("a unit whose file is %s", async (UnitFileState, enabled, fixed) => {
    const { machine } = systemctl({ [shown]: print({ UnitFileState }) });
    expect(await systemd.query("web", machine)).toEqual({
      running: true,
      enabled,
      masked: false,
      ...(fixed !== undefined && { fixed }),
    });
  });

  // What systemd has read may be older than the mask, or newer than what it says of the file.
  test.each([
    ["loaded", "masked", true],
    ["masked", "masked", true],
    ["masked", "masked-runtime", true],
    ["masked", "", true],
    ["loaded", "enabled", false],
    ["loaded", "disabled", false],
    ["error", "bad", false],
  ])("a unit that is %s and whose file is %j is masked: %s", async (LoadState, UnitFileState, masked) => {
    const { machine } = systemctl({ [shown]: print({ LoadState, UnitFileState }) });
    expect(await systemd.query("web", machine)).toMatchObject({ masked });
  });

  test.each(
    "service socket timer path target mount automount swap slice scope device"
      .split(" ")
      .flatMap((kind) => [
        [`web.${kind}`, `web.${kind}`] as const,
        [`web${kind}`, `web${kind}.service`] as const,
      ]),
  )("knows %s as %s", (name, unit) => {
    expect(toUnit(name)).toBe(unit);
  });

  test.each(["web.conf", "web.services", "web.timer.d", "web.service-1", "service"])(
    "knows %s as a service",
    (name) => {
      expect(toUnit(name)).toBe(`${name}.service`);
    },
  );

  const run =
    "systemctl show --property=ControlGroup,InvocationID,ActiveEnterTimestampMonotonic -- web.service";
  test.each<[string, string[], string, string | null]>([
    [
      "its own group",
      ["/a/web.service"],
      "ControlGroup=/a/web.service\nInvocationID=ab\nActiveEnterTimestampMonotonic=5\n",
      "ab",
    ],
    [
      "a group below it",
      ["/x", "/a/web.service/agent"],
      "ControlGroup=/a/web.service\nInvocationID=ab\n",
      "ab",
    ],
    [
      "one that begins with its name",
      ["/a/web.service2"],
      "ControlGroup=/a/web.service\nInvocationID=ab\n",
      null,
    ],
    ["another", ["/a/other.service"], "ControlGroup=/a/web.service\nInvocationID=ab\n", null],
    ["one, and the service in none", ["/a"], "ControlGroup=\nInvocationID=ab\n", null],
    [
      "its own group of an older systemd",
      ["/a/web.service"],
      "ControlGroup=/a/web.service\nActiveEnterTimestampMonotonic=5\n",
      "5",
    ],
  ])("names the run that the agent is a part of: in %s", async (_what, cgroups, stdout, expected) => {
    const { machine } = systemctl({ [run]: stdout }, { ownProcess: { line: [], cgroups } });
    expect(await systemd.ownRun("web", machine)).toBe(expected);
  });
});

describe("OpenRC and sysvinit", () => {
  test("OpenRC disables a service in each runlevel that has it", async () => {
    const { machine, lines } = answering("x", {
      "rc-service -- web status": "",
      "rc-update del web boot default": "",
      "rc-update add web default": "",
    });
    for (const path of [
      "/etc/init.d/web",
      "/etc/runlevels/boot/web",
      "/etc/runlevels/default/web",
      "/etc/runlevels/off/other",
      "/etc/runlevels/web",
    ])
      placeFile(machine.host, path);
    expect(await openrc.query("web", machine)).toMatchObject({ enabled: true });
    await openrc.act("disable", "web", machine);
    await openrc.act("enable", "web", machine);
    expect(lines().slice(1)).toEqual(["rc-update del web boot default", "rc-update add web default"]);
  });

  test.each([
    ["/etc/rc2.d/S01web", true],
    ["/etc/rc3.d/S99web", true],
    ["/etc/rc4.d/S01web", true],
    ["/etc/rc5.d/S01web", true],
    ["/etc/rc3.d/K01web", false],
    ["/etc/rc3.d/S01web2", false],
    ["/etc/rc3.d/S01my-web", false],
    ["/etc/rc3.d/S01WEB", false],
    ["/etc/rc3.d/S1web", false],
    ["/etc/rc0.d/S01web", false],
    ["/etc/rc1.d/S01web", false],
    ["/etc/rc6.d/S01web", false],
    ["/etc/rcS.d/S01web", false],
  ])("with %s a script starts with the machine: %s", async (link, enabled) => {
    const { machine } = answering("x", { "service web status": "" });
    for (const path of ["/etc/init.d/web", link]) placeFile(machine.host, path);
    expect(await sysvinit.query("web", machine)).toMatchObject({ running: true, enabled });
  });

  test("a script gets its links before it is enabled, and keeps them when it is disabled", async () => {
    const { machine, lines } = answering("x", {
      "update-rc.d web defaults": "",
      "update-rc.d web enable": "",
      "update-rc.d web disable": "",
    });
    await sysvinit.act("enable", "web", machine);
    await sysvinit.act("disable", "web", machine);
    expect(lines()).toEqual([
      "update-rc.d web defaults",
      "update-rc.d web enable",
      "update-rc.d web disable",
    ]);
  });
});
