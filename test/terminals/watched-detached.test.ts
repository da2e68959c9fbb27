/** A terminal that is watched, and that nobody can type into any more. */
import { expect, it } from "vitest";
import { settle } from "../support/deferred.ts";
import { openTerminal } from "../support/open-terminal.ts";

it("a terminal ends a minute after the last who can type has left, whoever begins or ends to watch meanwhile", async () => {
  await using scene = await openTerminal({}, {});
  const { session_id } = scene.opened;
  const admin = await scene.test.signIn("Admin", "boss");
  const pass = async (ms: number): Promise<string> => {
    await scene.test.clock.advance(ms);
    for (let turn = 0; turn < 5; turn += 1) await settle();
    return (await scene.terminals.get(admin.caller, { session_id })).status;
  };
  const watch = async () => {
    const { ticket } = await scene.terminals.ticket(admin.caller, { session_id });
    const watcher = scene.attach(ticket);
    await watcher.next("opened");
    return watcher;
  };
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  // While somebody can type, nothing ends it.
  (await watch()).socket.close(1000, "bye");
  expect(await pass(90_000)).toBe("active");

  viewer.socket.close(1000, "bye");
  expect(await pass(20_000)).toBe("active");
  const watcher = await watch();
  expect(await pass(20_000)).toBe("active");
  watcher.socket.close(1000, "bye");
  expect(await pass(15_000)).toBe("active");
  await pass(10_000);
  await expect
    .poll(async () => (await scene.terminals.get(admin.caller, { session_id })).status, { timeout: 30_000 })
    .toBe("closed");
  expect(await scene.terminals.get(admin.caller, { session_id })).toMatchObject({ close_reason: "detached" });
});

it("who opened a terminal is no watcher of it, however often he attaches; everybody else is, each time", async () => {
  await using scene = await openTerminal({}, {});
  const { session_id } = scene.opened;
  const admin = await scene.test.signIn("Admin", "boss");
  const watchers = (): unknown[] =>
    scene.test.events
      .filter(({ event_type }) => event_type === "terminal.watched")
      .map(({ actor }) => actor.name);
  const attachAs = async (caller: typeof scene.operator.caller): Promise<void> => {
    const { ticket } = await scene.terminals.ticket(caller, { session_id });
    const viewer = scene.attach(ticket);
    await viewer.next("opened");
    viewer.socket.close(1000, "bye");
    await settle();
  };
  for (let times = 0; times < 2; times += 1) await attachAs(scene.operator.caller);
  expect(watchers()).toEqual([]);
  for (let times = 0; times < 2; times += 1) await attachAs(admin.caller);
  await attachAs(scene.operator.caller);
  expect(watchers()).toEqual(["boss", "boss"]);
});
