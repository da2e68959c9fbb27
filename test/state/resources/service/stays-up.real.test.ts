/** Services that do not stay up, and units that can't be started or enabled, on a machine that systemd has booted. */
import { afterEach, expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { describeOnThrowawayMachine } from "../../../support/machine/on-throwaway-machine.ts";
import { RealState } from "../../../support/machine/real-state.ts";

const unit = (command: string, more = ""): string =>
  `[Service]\nExecStart=/bin/sh -c '${command}'\n${more}\n[Install]\nWantedBy=multi-user.target\n`;

describeOnThrowawayMachine(
  "services that do not stay up, with systemd",
  { paths: ["/lib/systemd/systemd"], machine: { init: "systemd" } },
  (machine) => {
    const add = (name: string, content: string): void => {
      machine().write(`/lib/systemd/system/${name}`, content);
      machine().output("systemctl", "daemon-reload");
    };
    const service = (name: string, more: JsonObject): JsonObject => ({
      id: "s",
      type: "service",
      name,
      ...more,
    });
    const run = async (mode: "plan" | "apply" | "check", definition: JsonObject) => {
      using state = new RealState({ host: machine().host });
      const { results } = await state.run(mode, [definition]);
      const { outcome, code, message, changes } = results[0] ?? {};
      return { outcome, code, message: message ?? "", changes };
    };

    afterEach(() => void machine().exitCode("systemctl", "stop", "crashing"));

    test.each([
      ["at once", "exit 1", "RestartSec=100ms", /auto-restart|restarts/],
      ["after half a second", "sleep 0.5; exit 1", "RestartSec=100ms", /auto-restart|restarts/],
      ["at once, with long pauses", "exit 1", "RestartSec=60", /auto-restart/],
      ["for good", "sleep 0.2; exit 1", "Restart=no", /failed/],
    ])("an apply fails that starts a service which ends %s", async (_when, command, more, told) => {
      add("crashing.service", unit(command, `Restart=always\nStartLimitIntervalSec=0\n${more}`));
      const wanted = service("crashing", { running: true });
      const result = await run("apply", wanted);
      expect(result).toMatchObject({ outcome: "failed", code: "NOT_CONVERGED" });
      expect(result.message).toMatch(told);
      // Nor does anybody who only looks take it for one that runs.
      for (let look = 0; look < 3; look += 1)
        expect(await run("check", wanted)).toMatchObject({
          changes: [{ property: "running", before: false }],
        });
      expect(await run("plan", wanted)).toMatchObject({ outcome: "would_change" });
    });

    test("one that was restarted once and stays up runs", async () => {
      add("steady.service", unit("exec sleep 600", "Restart=always\nRestartSec=100ms"));
      machine().output("systemctl", "start", "steady");
      machine().output("systemctl", "kill", "--signal=KILL", "steady");
      const restarts = (): string =>
        machine().output("systemctl", "show", "--value", "--property=NRestarts", "steady").trim();
      await expect.poll(restarts, { timeout: 30_000 }).toBe("1");
      expect(await run("check", service("steady", { running: true }))).toMatchObject({
        outcome: "unchanged",
      });
    });

    test("a mask is told by the plan, and taken away where that is declared", async () => {
      add("hidden.service", unit("exec sleep 600"));
      machine().output("systemctl", "mask", "hidden");
      for (const wanted of [{ running: true }, { enabled: true }, { running: true, enabled: true }]) {
        for (const mode of ["plan", "apply"] as const) {
          const result = await run(mode, service("hidden", wanted));
          expect(result).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
          expect(result.message).toBe(
            'The service "hidden" is masked: it can\'t be started or enabled until it is unmasked (masked: false).',
          );
        }
      }
      const unmasked = service("hidden", { running: true, enabled: true, masked: false });
      expect(await run("plan", unmasked)).toMatchObject({ outcome: "would_change" });
      expect(await run("apply", unmasked)).toMatchObject({ outcome: "changed" });
      expect(machine().output("systemctl", "is-active", "hidden").trim()).toBe("active");
    });

    test("units of every kind of file are enabled, or it is told why not", async () => {
      add("fixed.service", "[Service]\nExecStart=/bin/sleep 600\n");
      add("inst@.service", unit("exec sleep 60%i"));
      add("default@.service", `${unit("exec sleep 600")}DefaultInstance=one\n`);
      add("also.service", "[Service]\nExecStart=/bin/sleep 600\n[Install]\nAlso=inst@x.service\n");
      const rows: [string, JsonObject, JsonObject][] = [
        [
          "fixed",
          { enabled: true },
          { outcome: "failed", message: "fixed can't be enabled by itself: systemd calls it static." },
        ],
        ["fixed", { running: true }, { outcome: "changed" }],
        ["inst@1", { running: true, enabled: true }, { outcome: "changed" }],
        [
          "inst@",
          { running: true },
          { outcome: "failed", message: 'inst@ is a template: name an instance of it, such as "inst@1".' },
        ],
        [
          "default@",
          { enabled: true },
          {
            outcome: "failed",
            message: 'default@ is a template: name an instance of it, such as "default@1".',
          },
        ],
        [
          "also",
          { enabled: true },
          { outcome: "failed", message: "also can't be enabled by itself: systemd calls it indirect." },
        ],
      ];
      for (const [name, more, told] of rows) {
        const result = await run("apply", service(name, more));
        expect({ name, ...result }).toMatchObject({ name, ...told });
      }
    });
  },
);
