/** The crontab of a user whom nobody is, on this machine; `crontab -l` says what came of it. */
import { spawnSync } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { describeOnRealMachine, exitCode, output } from "../../support/machine/real-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

/** Comes with Debian, logs in nowhere, and has no jobs. */
const user = "games";
const list = (): string => output("crontab", "-u", user, "-l");
const isNone = (): boolean => exitCode("crontab", "-u", user, "-l") === 1;

describeOnRealMachine("cron", { programs: ["crontab"] }, () => {
  test("a job comes and goes, and lines of others stay", async () => {
    using state = new RealState();
    expect(isNone()).toBe(true);
    onTestFinished(() => void spawnSync("crontab", ["-u", user, "-r"]));
    const job = {
      id: "j",
      type: "cron",
      name: "backup",
      user,
      command: "/bin/true",
      hour: 3,
      environment: { A: "50%" },
    };
    const lines =
      "# BEGIN fleetwright: backup\n0 3 * * * export A='50\\%'; /bin/true\n# END fleetwright: backup\n";

    expect((await state.run("plan", [job])).results[0]?.outcome).toBe("would_change");
    expect(isNone()).toBe(true);
    expect(await state.apply([job])).toEqual(["j changed create"]);
    expect(list()).toBe(lines);
    expect(await state.apply([job])).toEqual(["j unchanged none"]);

    spawnSync("crontab", ["-u", user, "-"], { input: `MAILTO=ops\n${list()}@daily theirs\n` });
    expect(await state.apply([job])).toEqual(["j unchanged none"]);
    expect(await state.apply([{ ...job, hour: "99" }])).toEqual([
      expect.stringMatching(/^j COMMAND_FAILED: crontab exited with 1: .*can't install/),
    ]);
    expect(list()).toBe(`MAILTO=ops\n${lines}@daily theirs\n`);

    expect(await state.apply([])).toEqual(["j changed remove"]);
    expect(list()).toBe("MAILTO=ops\n@daily theirs\n");
  });

  test("lines of others that are not UTF-8 are not rewritten", async () => {
    using state = new RealState();
    onTestFinished(() => void spawnSync("crontab", ["-u", user, "-r"]));
    const theirs = Buffer.from("# caf\u00e9\n@daily theirs\n", "latin1");
    spawnSync("crontab", ["-u", user, "-"], { input: theirs });
    expect(await state.apply([{ id: "j", type: "cron", name: "a", user, command: "true", hour: 1 }])).toEqual(
      [`j HOST_ERROR: The crontab of ${user} is not UTF-8 text, and is left alone.`],
    );
    expect(spawnSync("crontab", ["-u", user, "-l"]).stdout.equals(theirs)).toBe(true);
  });

  test("a crontab that was made for a job goes with it", async () => {
    using state = new RealState();
    expect(
      await state.apply([{ id: "j", type: "cron", name: "a", user, command: "true", special: "@daily" }]),
    ).toEqual(["j changed create"]);
    expect(list()).toContain("@daily true\n");
    expect(await state.apply([])).toEqual(["j changed remove"]);
    expect(isNone()).toBe(true);
  });
});
