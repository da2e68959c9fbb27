import { statfs } from "node:fs/promises";
import { expect, test } from "vitest";
import { LocalMachine } from "../../../lib/agent/metrics/local-machine.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { deferred, settle } from "../../support/deferred.ts";

const space = expect.objectContaining({ totalBytes: expect.any(Number) as number }) as object;

test("a file system that hangs is asked once until it answers, and others are asked meanwhile", async () => {
  const [clock, own] = [new FakeClock(), await statfs("/")];
  const asked: string[] = [];
  const hanging = deferred();
  const machine = new LocalMachine(clock, async (path) => {
    asked.push(path);
    if (path === "/mnt") await hanging.promise;
    return own;
  });
  let told: unknown;
  void machine.space("/mnt").then((answer) => (told = answer));
  await clock.advance(1_999);
  await settle();
  expect(told).toBeUndefined();
  await clock.advance(1);
  await settle();
  expect(told).toBeNull();
  const again = machine.space("/mnt");
  expect(asked).toEqual(["/mnt"]);
  expect(await again).toBeNull();
  expect(await machine.space("/")).toEqual(space);
  expect(asked).toEqual(["/mnt", "/"]);
  hanging.resolve();
  await settle();
  expect(await machine.space("/mnt")).toEqual(space);
  expect(asked).toEqual(["/mnt", "/", "/mnt"]);
  expect(clock.pendingTimers).toBe(0);
});

test("a file system that is not there says nothing, and is asked again", async () => {
  const machine = new LocalMachine(new FakeClock());
  expect([await machine.space("/is/nowhere"), await machine.space("/is/nowhere")]).toEqual([null, null]);
  expect(await machine.space("/")).toEqual(space);
});
