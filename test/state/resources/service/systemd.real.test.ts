/** Services and units on a machine that systemd has booted; systemctl and the services' own processes say what came of it. */
import { beforeAll, beforeEach, expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { describeLaws } from "../../../support/laws.ts";
import { describeOnThrowawayMachine } from "../../../support/machine/on-throwaway-machine.ts";
import { RealState } from "../../../support/machine/real-state.ts";

const units = "/etc/systemd/system";

/** Notes what it is told, in a folder that a restart empties. */
const daemon = `#!/bin/sh
log() { echo "$1 $SETTING" >> /run/test.log; }
trap 'log reloaded' HUP
trap 'exit 0' TERM
log started
while :; do sleep 1 & wait $!; done
`;

const unit = (more = ""): string => `[Service]
ExecStart=/opt/test-daemon
ExecReload=/bin/kill -HUP $MAINPID
${more}
[Install]
WantedBy=multi-user.target
`;

describeOnThrowawayMachine(
  "service and systemd_unit, with systemd",
  { paths: ["/lib/systemd/systemd"], machine: { init: "systemd" } },
  (machine) => {
    const systemctl = (...args: string[]): string =>
      machine()
        .output("systemctl", ...args)
        .trim();
    const show = (name: string, ...properties: string[]): string =>
      systemctl("show", "--value", ...properties.map((each) => `--property=${each}`), name);
    const stateOf = (name: string): string =>
      show(name, "LoadState", "ActiveState", "UnitFileState").replaceAll("\n", " ").trim();
    const log = (): string[] => machine().output("cat", "/run/test.log").split("\n").filter(Boolean);
    const start = (): RealState => new RealState({ host: machine().host });

    const declareUnit = (name: string, content: string, more: JsonObject = {}): JsonObject => ({
      id: name,
      type: "systemd_unit",
      name,
      content,
      ...more,
    });
    const declareService = (more: JsonObject = {}): JsonObject => ({ id: "s", type: "service", ...more });

    beforeAll(() => {
      machine().write("/opt/test-daemon", daemon, 0o755);
      machine().write("/lib/systemd/system/law.service", unit());
      systemctl("daemon-reload");
    });
    beforeEach(() => void machine().exitCode("rm", "/run/test.log"));

    /** Brings the service into a state, where it is not in it, with as few calls as can be: each reads every unit again. */
    const bring = (
      state: "loaded inactive disabled" | "loaded active disabled" | "loaded active enabled",
    ): void => {
      if (stateOf("law") === state && machine().exitCode("test", "-e", `${units}/law.service.d`) === 1)
        return;
      const own = ["law.service", "law.service.d", "*.wants/law.service"].map((each) => `${units}/${each}`);
      machine().output("sh", "-c", `rm -rf ${own.join(" ")}; systemctl daemon-reload; systemctl stop law`);
      if (state !== "loaded inactive disabled") systemctl("start", "law");
      if (state === "loaded active enabled") systemctl("enable", "law");
    };
    const observe = (): string => stateOf("law");
    describeLaws(
      {
        "a service that runs": {
          definition: { type: "service", name: "law", running: true, enabled: true },
          prepare: () => bring("loaded inactive disabled"),
          breakIt: () => void systemctl("stop", "law"),
          observe,
        },
        "a service that does not run": {
          definition: { type: "service", name: "law", running: false, enabled: false },
          prepare: () => bring("loaded active enabled"),
          breakIt: () => void systemctl("start", "law"),
          observe,
        },
        "a service that nobody can start": {
          definition: { type: "service", name: "law", masked: true, running: false },
          prepare: () => bring("loaded active disabled"),
          breakIt: () => void systemctl("unmask", "law"),
          observe,
        },
        "a unit": {
          definition: { type: "systemd_unit", name: "made.service", content: unit() },
          prepare: () =>
            void machine().output("sh", "-c", `rm -f ${units}/made.service; systemctl daemon-reload`),
          breakIt: (host) => host.files.removeFile(`${units}/made.service`),
          observe: () => stateOf("made.service"),
        },
        "a drop-in": {
          definition: {
            type: "systemd_unit",
            name: "law.service",
            drop_in: "a.conf",
            content: "[Service]\nNice=3\n",
          },
          prepare: () => bring("loaded inactive disabled"),
          breakIt: (host) => host.files.removeFile(`${units}/law.service.d/a.conf`),
          observe: () => [
            show("law", "Nice", "DropInPaths"),
            machine().exitCode("test", "-e", `${units}/law.service.d`),
          ],
        },
      },
      { "on a machine with systemd": () => machine().host },
    );

    test("a unit, its drop-in and its service are made, changed and taken away together", async () => {
      using state = start();
      const wanted = (setting: string, trigger: "reload_on" | "restart_on") => [
        declareUnit("site.service", unit()),
        declareUnit("site.service", `[Service]\nEnvironment=SETTING=${setting}\n`, {
          id: "d",
          drop_in: "a.conf",
        }),
        declareService({ name: "site", running: true, enabled: true, [trigger]: ["d"] }),
      ];
      await state.apply(wanted("1", "restart_on"));
      expect(stateOf("site")).toBe("loaded active enabled");
      expect((await state.apply(wanted("1", "restart_on"))).map((each) => each.split(" ")[1])).toEqual([
        "unchanged",
        "unchanged",
        "unchanged",
      ]);
      const first = show("site", "MainPID");
      await state.apply(wanted("2", "reload_on"));
      await expect.poll(log).toEqual(["started 1", "reloaded 1"]);
      expect(show("site", "MainPID")).toBe(first);
      expect(await state.apply(wanted("3", "restart_on"))).toEqual([
        "site.service unchanged none",
        "d changed update",
        "s changed restart",
      ]);
      await expect.poll(log).toEqual(["started 1", "reloaded 1", "started 3"]);
      expect(await state.apply([])).toEqual([
        "s changed remove",
        "d changed remove",
        "site.service changed remove",
      ]);
      expect(stateOf("site")).toBe("not-found inactive");
      expect(machine().exitCode("test", "-e", `${units}/multi-user.target.wants/site.service`)).toBe(1);
    });

    test("a timer is made, started and enabled, and what it starts is left to it", async () => {
      using state = start();
      const timer = "[Timer]\nOnActiveSec=1h\n[Install]\nWantedBy=timers.target\n";
      const wanted = [
        declareUnit("job.service", unit()),
        declareUnit("job.timer", timer),
        declareService({ name: "job.timer", running: true, enabled: true }),
      ];
      expect((await state.apply(wanted)).at(-1)).toBe("s changed update");
      expect([stateOf("job.timer"), stateOf("job")]).toEqual([
        "loaded active enabled",
        "loaded inactive disabled",
      ]);
      expect(systemctl("list-timers", "--no-legend", "job.timer")).toMatch(/job\.timer +job\.service$/);
      expect((await state.apply(wanted)).at(-1)).toBe("s unchanged none");
      await state.apply([]);
      expect(stateOf("job.timer")).toBe("not-found inactive");
    });

    test("a unit that systemd was told to want before it was there is read when it is started", async () => {
      using state = start();
      machine().write(`${units}/early.target`, "[Unit]\nWants=late.service\n");
      systemctl("daemon-reload");
      systemctl("start", "early.target");
      machine().write(`${units}/late.service`, unit());
      expect(await state.apply([declareService({ name: "late", running: true, enabled: true })])).toEqual([
        "s changed update",
      ]);
      machine().write(`${units}/late.service`, unit("Environment=SETTING=new"));
      systemctl("stop", "late");
      await state.apply([declareService({ name: "late", running: true, enabled: true })]);
      await expect.poll(log).toEqual(["started ", "started new"]);
      expect(await state.apply([])).toEqual(["s changed remove"]);
    });

    test.each([
      ["ends at once", "ExecStart=/bin/false", /^s NOT_CONVERGED: .*does not stay up: failed/],
      [
        "ends, and is started again and again",
        "Restart=always\nRestartSec=1h\nExecStart=/bin/false",
        /^s NOT_CONVERGED: /,
      ],
      [
        "has no program",
        "Type=exec\nExecStart=/nonexistent",
        /^s COMMAND_FAILED: systemctl exited with 1: Job for /,
      ],
      ["does its work and ends", "Type=oneshot\nExecStart=/bin/true", /^s NOT_CONVERGED: /],
      ["can't be read", "ExecStart=", /^s COMMAND_FAILED: .*has a bad unit file setting/],
    ])("a service that %s is a failure, and can be mended", async (_what, body, expected) => {
      using state = start();
      const service = declareService({ name: "bad", running: true });
      const given = await state.apply([declareUnit("bad.service", `[Service]\n${body}\n`), service]);
      expect(given).toEqual(["bad.service changed create", expect.stringMatching(expected)]);
      // One that systemd tries again and again may run before its turn comes.
      expect(await state.apply([declareUnit("bad.service", unit()), service])).toEqual([
        "bad.service changed update",
        expect.stringMatching(/^s (changed update|unchanged none)$/),
      ]);
      // One that systemd itself brought up in between was never our change, and is not changed back.
      expect(await state.apply([])).toEqual([
        body.includes("Restart=always")
          ? expect.stringMatching(/^s (changed remove|unchanged none)$/)
          : "s changed remove",
        "bad.service changed remove",
      ]);
      if (systemctl("list-units", "--all", "--no-legend", "bad.service") !== "") systemctl("stop", "bad");
      expect(systemctl("list-units", "--failed", "--no-legend")).toBe("");
    });

    test("what can't be reloaded, and what can't be masked, is told in systemd's words", async () => {
      using state = start();
      const plain = (setting: string) =>
        declareUnit("plain.service", `[Service]\nExecStart=/bin/sleep ${setting}\n`);
      const running = declareService({ name: "plain", running: true, reload_on: ["plain.service"] });
      await state.apply([plain("100"), running]);
      expect((await state.apply([plain("101"), running])).at(-1)).toBe(
        "s COMMAND_FAILED: systemctl exited with 3: Failed to reload plain.service: Job type reload is not applicable for unit plain.service.",
      );
      expect(
        (await state.apply([plain("101"), declareService({ name: "plain", masked: true })])).at(-1),
      ).toBe(
        "s COMMAND_FAILED: systemctl exited with 1: Failed to mask unit: File /etc/systemd/system/plain.service already exists.",
      );
      await state.apply([]);
    });

    test("a service is stopped, disabled and brought back by another of its names", async () => {
      machine().write("/lib/systemd/system/real.service", `${unit()}Alias=other.service\n`);
      systemctl("daemon-reload");
      systemctl("enable", "--now", "real");
      using state = start();
      const wanted = [declareService({ name: "other", running: false, enabled: false })];
      expect(await state.apply(wanted)).toEqual(["s changed update"]);
      expect(stateOf("real")).toBe("loaded inactive disabled");
      expect(await state.apply(wanted)).toEqual(["s unchanged none"]);
      expect(await state.apply([])).toEqual(["s changed remove"]);
      expect([stateOf("real"), stateOf("other")]).toEqual(["loaded active enabled", "loaded active enabled"]);
    });

    test("a unit whose file is elsewhere stays known when it is disabled", async () => {
      machine().write("/opt/linked.service", unit());
      systemctl("link", "/opt/linked.service");
      using state = start();
      await state.apply([declareService({ name: "linked", enabled: true })]);
      expect(stateOf("linked")).toBe("loaded inactive enabled");
      await state.apply([]);
      expect(stateOf("linked")).toBe("loaded inactive linked");
    });

    test("a mask until the next start of the machine is taken away too", async () => {
      bring("loaded inactive disabled");
      systemctl("mask", "--runtime", "law");
      using state = start();
      expect(await state.apply([declareService({ name: "law", masked: false, running: true })])).toEqual([
        "s changed update",
      ]);
      expect(stateOf("law")).toBe("loaded active disabled");
    });

    test("what a later version declares comes back too when it is removed", async () => {
      bring("loaded inactive disabled");
      using state = start();
      await state.apply([declareService({ name: "law", running: true })]);
      await state.apply([declareService({ name: "law", running: true, enabled: true })]);
      expect(stateOf("law")).toBe("loaded active enabled");
      await state.apply([]);
      expect(stateOf("law")).toBe("loaded inactive disabled");
    });

    test("a script of /etc/init.d is started and enabled like a unit", async () => {
      const head =
        "### BEGIN INIT INFO\n# Provides: old\n# Default-Start: 2 3 4 5\n# Default-Stop: 0 1 6\n### END INIT INFO\n";
      machine().write("/etc/init.d/old", `#!/bin/sh\n${head}`, 0o755);
      systemctl("daemon-reload");
      using state = start();
      const wanted = [declareService({ name: "old", running: true, enabled: true })];
      expect(await state.apply(wanted)).toEqual(["s changed update"]);
      expect(stateOf("old")).toBe("loaded active generated");
      expect(await state.apply(wanted)).toEqual(["s unchanged none"]);
      expect(await state.apply([])).toEqual(["s changed remove"]);
      expect(machine().exitCode("systemctl", "is-enabled", "--quiet", "old")).toBe(1);
    });

    test("after a power cut the machine starts what is enabled, and nothing else", async () => {
      using state = start();
      const name = (word: string) => [
        declareUnit(`${word}.service`, unit()),
        declareService({ id: word, name: word, running: true, enabled: word === "kept" }),
      ];
      await state.apply([...name("kept"), ...name("lost")]);
      await machine().restart();
      expect([stateOf("kept"), stateOf("lost")]).toEqual([
        "loaded active enabled",
        "loaded inactive disabled",
      ]);
      using after = start();
      expect(await after.apply([...name("kept"), ...name("lost")])).toEqual([
        "kept.service unchanged none",
        "kept unchanged none",
        "lost.service unchanged none",
        "lost changed update",
      ]);
    });
  },
);
