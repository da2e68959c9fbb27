/** Services on a machine that OpenRC has booted; its own programs say what came of it. */
import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { describeLaws } from "../../../support/laws.ts";
import { describeOnThrowawayMachine } from "../../../support/machine/on-throwaway-machine.ts";
import { RealState } from "../../../support/machine/real-state.ts";

/** Debian's OpenRC can't stand beside the init system of a machine that is to be kept, so it is installed in the copy. */
const packages =
  process.env["FLEETWRIGHT_OPENRC_PACKAGES"] ?? "/the folder that FLEETWRIGHT_OPENRC_PACKAGES names";

const script = (name: string, more = ""): string => `#!/sbin/openrc-run
command=/usr/bin/sleep
command_args=1000
command_background=true
pidfile=/run/${name}.pid
extra_started_commands=reload
reload() { echo reloaded >> /run/test.log; }
${more}
`;

describeOnThrowawayMachine(
  "service, with OpenRC",
  { paths: [packages], machine: { init: "openrc", packages } },
  (machine) => {
    const isRunning = (name: string): boolean => machine().exitCode("rc-service", name, "status") === 0;
    const levels = (name: string): string => {
      const lines = machine().output("rc-update", "show").split("\n");
      return (
        lines
          .find((line) => line.trim().startsWith(`${name} |`))
          ?.split("|")[1]
          ?.trim() ?? ""
      );
    };
    const start = (): RealState => new RealState({ host: machine().host });
    const declareService = (more: JsonObject): JsonObject => ({ id: "s", type: "service", ...more });

    beforeAll(() => {
      for (const name of ["law", "site"]) machine().write(`/etc/init.d/${name}`, script(name), 0o755);
      machine().write("/etc/init.d/bad", script("bad", "start() { eend 1 'it is broken'; }"), 0o755);
      machine().write("/etc/init.d/user", script("user", "depend() { need site; }"), 0o755);
      // OpenRC sees by itself only what is a second newer than what it knows.
      machine().output("rc-update", "--update");
    });
    beforeEach(() => void machine().exitCode("rm", "/run/test.log"));

    const bring = (running: boolean): void => {
      if (isRunning("law") !== running) machine().output("rc-service", "law", running ? "start" : "stop");
      if ((levels("law") !== "") !== running)
        machine().output("rc-update", running ? "add" : "del", "law", "default");
    };
    const observe = (): JsonObject => ({ running: isRunning("law"), levels: levels("law") });
    describeLaws(
      {
        "a service that runs": {
          definition: { type: "service", name: "law", running: true, enabled: true },
          prepare: () => bring(false),
          breakIt: () => void machine().output("rc-service", "law", "stop"),
          observe,
        },
        "a service that does not run": {
          definition: { type: "service", name: "law", running: false, enabled: false },
          prepare: () => bring(true),
          breakIt: () => void machine().output("rc-update", "add", "law", "default"),
          observe,
        },
      },
      { "on a machine with OpenRC": () => machine().host },
    );

    test("follows the changes of others: reload and restart", async () => {
      using state = start();
      const wanted = (content: string, trigger: "reload_on" | "restart_on") => [
        { id: "conf", type: "file", path: "/etc/site.conf", content },
        declareService({ name: "site", running: true, [trigger]: ["conf"] }),
      ];
      const pid = (): string => machine().output("cat", "/run/site.pid");
      await state.apply(wanted("1", "reload_on"));
      const first = pid();
      expect((await state.apply(wanted("2", "reload_on"))).at(-1)).toBe("s changed reload");
      expect([machine().output("cat", "/run/test.log"), pid()]).toEqual(["reloaded\n", first]);
      expect((await state.apply(wanted("3", "restart_on"))).at(-1)).toBe("s changed restart");
      expect(pid()).not.toBe(first);
      await state.apply([]);
      expect(isRunning("site")).toBe(false);
    });

    test("what a service needs is started with it, and stopping that stops both", async () => {
      using state = start();
      await state.apply([declareService({ name: "user", running: true })]);
      expect([isRunning("site"), isRunning("user")]).toEqual([true, true]);
      using other = start();
      await other.apply([declareService({ name: "site", running: false })]);
      expect(
        (await state.run("check", [declareService({ name: "user", running: true })])).results[0]?.changes,
      ).toEqual([{ property: "running", before: false, after: true }]);
    });

    test("a service that can't be started is a failure in OpenRC's words", async () => {
      using state = start();
      const words = "rc-service exited with 1: * it is broken | [ !! ] | * ERROR: bad failed to start";
      expect(await state.apply([declareService({ name: "bad", running: true })])).toEqual([
        `s COMMAND_FAILED: ${words}`,
      ]);
    });

    test.each([{ running: true }, { enabled: true }])("one that is not known can't be %j", async (wish) => {
      using state = start();
      const told = 's HOST_ERROR: There is no service "nope".';
      expect(await state.apply([declareService({ name: "nope", ...wish })])).toEqual([told]);
    });

    test("one that is enabled in another runlevel is left there", async () => {
      machine().output("rc-update", "add", "law", "boot");
      machine().exitCode("rc-update", "del", "law", "default");
      using state = start();
      expect(await state.apply([declareService({ name: "law", enabled: true })])).toEqual([
        "s unchanged none",
      ]);
      expect(levels("law")).toBe("boot");
      machine().output("rc-update", "del", "law", "boot");
    });

    test("after a power cut the machine starts what is enabled, and nothing else", async () => {
      bring(false);
      using state = start();
      const wanted = [
        declareService({ id: "kept", name: "site", running: true, enabled: true }),
        declareService({ id: "lost", name: "law", running: true }),
      ];
      await state.apply(wanted);
      await machine().restart();
      // The machine answers before the last of its services is there.
      await vi.waitFor(() => expect(isRunning("site")).toBe(true), { timeout: 30_000 });
      expect(isRunning("law")).toBe(false);
      using after = start();
      expect(await after.apply(wanted)).toEqual(["kept unchanged none", "lost changed update"]);
    });
  },
);
