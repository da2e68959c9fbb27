/** What an apply of one machine asks before it removes something. */
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { startAskedFleet } from "../../support/asked-fleet.ts";
import type { AskedFleet } from "../../support/asked-fleet.ts";

let fleet: AskedFleet;
const has = (path: string): boolean => fleet.machines[0]?.has(path) === true;
const files = (count: number): string[] => Array.from({ length: count }, (_, at) => `/f${at + 10}`);

/** A machine with a module whose newest revision has some files less. */
beforeEach(async () => {
  fleet = await startAskedFleet();
  await fleet.upload("web", "/keep", "/old");
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  await fleet.print("apply", "web-1");
  await fleet.upload("web", "/keep", "/new");
});

describe("an apply at a terminal", () => {
  it.each([
    ["no", "n\n"],
    ["nothing", "\n"],
    ["something else", "yep\n"],
    ["Ctrl-D", ""],
  ])("that would remove something asks, and %s changes nothing", async (_, typed) => {
    const { code, stdout, stderr } = await fleet.answer(typed, "apply", "web-1");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      "web-1: 1 to remove, 1 to change, 1 unchanged\n  - file  /old  remove  web\nRemove it? [y/N] fleetwright: Nothing was changed.\n",
    );
    expect([has("old"), has("new")]).toEqual([true, false]);
    expect(await fleet.operations("apply")).toHaveLength(1);
  });

  it.each(["y", "Y", "yes\n"])("does what was planned after %j", async (typed) => {
    const { code, stdout } = await fleet.answer(typed, "apply", "web-1");
    expect(code).toBe(0);
    expect(stdout).toContain("web-1: apply succeeded (1 removed, 1 changed, 1 unchanged)\n");
    expect([has("old"), has("new")]).toEqual([false, true]);
    const [[plan], [apply]] = [await fleet.operations("plan"), await fleet.operations("apply")];
    expect(apply?.plan_id).toBe(plan?.operation_id);
  });

  it.each(["1", "2"])("asks where no more than --max-removals %s would go, too", async (most) => {
    const { code, stderr } = await fleet.answer("n\n", "apply", "web-1", "--max-removals", most);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("Remove it? [y/N] ") as string,
    });
    expect([has("old"), has("new")]).toEqual([true, false]);
  });

  it("removes nothing else than what was agreed to, and says so", async () => {
    const meanwhile = (): Promise<void> => fleet.upload("web", "/new");
    const { code, stdout, stderr } = await fleet.answer({ typed: "y", meanwhile }, "apply", "web-1");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("fleetwright: PLAN_STALE: ");
    expect(stderr).toContain("nothing was changed. Make another plan, and apply that.\n");
    expect([has("keep"), has("old")]).toEqual([true, true]);
  });

  it("tells a machine that changed meanwhile, too", async () => {
    const meanwhile = (): Promise<unknown> => fleet.print("apply", "web-1");
    const { code, stdout, stderr } = await fleet.answer({ typed: "y", meanwhile }, "apply", "web-1");
    expect(code).toBe(1);
    expect(stdout).toContain("PLAN_STALE");
    expect(stderr).toMatch(/so nothing was changed\. Make another plan, and apply that\.\n$/);
  });

  it("asks nothing where nothing goes, and lets nothing go that comes up after it looked", async () => {
    await fleet.print("apply", "web-1");
    const quiet = await fleet.answer("", "apply", "web-1");
    expect(quiet).toMatchObject({ code: 0, stderr: "" });
    const real = fetch;
    const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (target, init) => {
      const response = await real(target, init);
      if (!String(target).endsWith("/plan")) return response;
      spy.mockRestore();
      await fleet.upload("web", "/new");
      return response;
    });
    const { code, stdout } = await fleet.answer("", "apply", "web-1");
    expect(code).toBe(1);
    expect(stdout).toContain("TOO_MANY_REMOVALS: It would remove file /keep, and may remove nothing.");
    expect(has("keep")).toBe(true);
  });

  it("asks about what a module wants away, too", async () => {
    await fleet.print("assignments", "remove", "--yes", "web");
    await fleet.uploadText("name: gone\nresources:\n  - { type: file, path: /keep, ensure: absent }\n");
    await fleet.print("state", "forget", "web-1", "web");
    await fleet.print("assignments", "create", "gone", "--selector", "*", "--module", "gone");
    expect(await fleet.answer("n", "apply", "web-1")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "web-1: 1 to remove\n  - file  /keep  remove  gone\nRemove it? [y/N] ",
      ) as string,
    });
    expect(await fleet.answer("y", "apply", "web-1")).toMatchObject({ code: 0 });
    expect([has("keep"), has("old")]).toEqual([false, true]);
  });

  it("lists twenty removals, and how many there are beside them", async () => {
    await fleet.upload("many", ...files(23));
    await fleet.print("apply", "web-1", "--module", "many");
    const { stderr } = await fleet.answer("n", "apply", "web-1", "--remove-module", "many");
    expect(stderr.match(/^ {2}- file {2}/gm)).toHaveLength(20);
    expect(stderr).toContain("  and 3 more\nRemove them? [y/N] ");
  });

  it("writes out what a name would do to the terminal", async () => {
    const path = JSON.stringify("/e\u001b[2J\r\u009b1A");
    await fleet.uploadText(`name: evil\nresources:\n  - { id: e, type: file, path: ${path}, content: x }\n`);
    await fleet.print("apply", "web-1", "--module", "evil");
    const { stderr } = await fleet.answer("n", "apply", "web-1", "--remove-module", "evil");
    expect(stderr).toContain("  - file  /e\\u{1b}[2J\\u{d}\\u{9b}1A  remove  evil\n");
    // eslint-disable-next-line no-control-regex -- what must not be there
    expect(stderr).not.toMatch(/[\u001b\u009b\r]/);
  });

  it("where something fails in the plan holds the apply to the number of removals", async () => {
    await fleet.upload("bad", "/no/folder");
    await fleet.print("assignments", "create", "bad", "--selector", "*", "--module", "bad");
    const { code, stderr } = await fleet.answer("y", "apply", "web-1");
    expect(stderr).toContain("web-1: 1 to remove, 1 to change, 1 unchanged, 1 failed\n");
    expect(code).toBe(1);
    expect([has("old"), has("new")]).toEqual([false, true]);
    const meanwhile = (): Promise<void> => fleet.upload("web");
    await fleet.upload("web", "/keep");
    await fleet.answer({ typed: "y", meanwhile }, "apply", "web-1");
    expect([has("new"), has("keep")]).toEqual([true, true]);
  });
});

describe("nothing is asked", () => {
  it.each([
    ["with --yes", (...args: string[]) => fleet.answer("", ...args, "--yes")],
    ["with --json", (...args: string[]) => fleet.answer("", ...args, "--json")],
    ["without a terminal", (...args: string[]) => fleet.run(...args)],
  ])("%s, and no plan is made", async (_, run) => {
    expect(await run("apply", "web-1")).toMatchObject({ code: 0, stderr: "" });
    expect(has("old")).toBe(false);
    expect(await fleet.operations("plan")).toEqual([]);
  });

  it("for a plan that is named", async () => {
    await fleet.run("plan", "web-1");
    const [plan] = await fleet.operations("plan");
    expect(await fleet.answer("", "apply", "--plan", plan?.operation_id ?? "")).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(has("old")).toBe(false);
  });

  it("where the answer would be refused", async () => {
    await fleet.upload("web", "/new");
    const many = await fleet.answer("", "apply", "web-1", "--max-removals", "1");
    expect(many).toMatchObject({ code: 1, stderr: "" });
    expect(many.stdout).toContain("TOO_MANY_REMOVALS");
    await fleet.print("assignments", "remove", "--yes", "web");
    const all = await fleet.answer("", "apply", "web-1");
    expect(all.stderr).toMatch(/^fleetwright: EMPTY_DESIRED_STATE: /);
    expect([has("keep"), has("old")]).toEqual([true, true]);
    const asked = await fleet.answer("y", "apply", "web-1", "--allow-empty");
    expect(asked).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Remove them? [y/N] ") as string,
    });
    expect([has("keep"), has("old")]).toEqual([false, false]);
  });

  it("about an agent that is away and waited for: nothing is removed there", async () => {
    await fleet.leave();
    const sent = vi.spyOn(globalThis, "fetch");
    const { code, stderr } = await fleet.answer("", "apply", "web-1", "--queue", "--no-wait");
    expect(stderr).toContain("this removes nothing (--yes lets it).\n");
    expect(code).toBe(5);
    const applied = sent.mock.calls.find(([target]) => String(target).endsWith("/apply"));
    sent.mockRestore();
    expect(JSON.parse(String(applied?.[1]?.body))).toMatchObject({ max_removals: 0, when_offline: "queue" });
    // Who waits for no agent is told that it is away, and of nothing that will be done.
    const away = await fleet.answer("", "apply", "web-1");
    expect(away).toMatchObject({ code: 1, stderr: expect.stringContaining("AGENT_OFFLINE") as string });
    expect(away.stderr).not.toContain("this removes nothing");
  });
});

describe("modules that a call names", () => {
  it("are applied alone, in the revision that is named, and taken away once somebody agrees", async () => {
    await fleet.upload("extra", "/one");
    await fleet.upload("extra", "/two");
    expect(await fleet.print("apply", "web-1", "--module", "extra@1")).toMatch(
      /\+ file +\/one +create +extra\n/,
    );
    expect([has("one"), has("two"), has("new")]).toEqual([true, false, false]);
    expect(await fleet.run("plan", "web-1", "--remove-module", "extra")).toMatchObject({
      code: 3,
      stdout: expect.stringContaining("plan succeeded (1 to remove)\n") as string,
    });
    expect(await fleet.answer("n", "apply", "web-1", "--remove-module", "extra")).toMatchObject({ code: 1 });
    expect(has("one")).toBe(true);
    expect(await fleet.answer("y", "apply", "web-1", "--remove-module", "extra")).toMatchObject({ code: 0 });
    expect([has("one"), has("old")]).toEqual([false, true]);
  });

  it("are all that is applied at a terminal, too, where nothing would be removed and where the agent is away", async () => {
    await fleet.upload("extra", "/one");
    expect(await fleet.answer("", "apply", "web-1", "--module", "extra")).toMatchObject({ code: 0 });
    expect([has("one"), has("old"), has("new")]).toEqual([true, true, false]);
    await fleet.leave();
    const sent = vi.spyOn(globalThis, "fetch");
    onTestFinished(() => sent.mockRestore());
    await fleet.answer("", "apply", "web-1", "--module", "extra", "--queue", "--no-wait");
    const applied = sent.mock.calls.find(([target]) => String(target).endsWith("/apply"));
    expect(JSON.parse(String(applied?.[1]?.body))).toMatchObject({ modules: ["extra"], max_removals: 0 });
  });
});
