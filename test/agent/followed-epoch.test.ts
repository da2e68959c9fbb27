import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FollowedEpoch } from "../../lib/agent/followed-epoch.ts";
import type { Epoch } from "../../lib/wire/epoch.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const key = new Uint8Array(32).fill(1);
const other = new Uint8Array(32).fill(2);
const [idA, idB] = ["01b8dac6-40a0-702e-8d87-5a4bc0a7eb6f", "01b8dac6-40a0-7432-8e33-ef18f45fc15c"];
const epoch = (number: number, id: string = idA): Epoch => ({ number, id });

function scene() {
  const stateDir = temporaryFolder();
  const logger = new RecordingLogger();
  const open = (): FollowedEpoch => new FollowedEpoch({ stateDir, logger });
  const path = (name: string): string => join(stateDir, name);
  return { logger, open, path };
}

const superseded = expect.objectContaining({ code: "ORCHESTRATOR_SUPERSEDED" }) as Error;

describe("FollowedEpoch", () => {
  it("follows the newest that it has seen and refuses all before, also after a restart", () => {
    const { open } = scene();
    const first = open();
    expect(first.get(key)).toBeNull();
    first.follow(key, epoch(5));
    first.follow(key, epoch(5));
    first.follow(key, epoch(9));
    for (const each of [first, open()]) {
      expect(each.get(key)).toEqual(epoch(9));
      expect(() => each.follow(key, epoch(5))).toThrow(superseded);
      each.follow(key, epoch(9));
    }
  });

  it("writes down each epoch once, however often the agent connects", () => {
    const { open, path } = scene();
    const followed = open();
    const writes: bigint[] = [];
    for (const number of [5, 5, 5, 6, 6]) {
      followed.follow(key, epoch(number));
      writes.push(statSync(path("epoch.json"), { bigint: true }).ino);
    }
    open().follow(key, epoch(6));
    writes.push(statSync(path("epoch.json"), { bigint: true }).ino);
    const [first, , , second] = writes;
    expect(writes).toEqual([first, first, first, second, second, second]);
    expect(second).not.toBe(first);
  });

  it("orders two of one number by their ids, whichever it saw first", () => {
    for (const order of [
      [idA, idB],
      [idB, idA],
    ] as const) {
      const { open } = scene();
      const followed = open();
      followed.follow(key, epoch(5, order[0]));
      if (order[0] === idA) followed.follow(key, epoch(5, idB));
      else expect(() => followed.follow(key, epoch(5, idA))).toThrow(superseded);
      expect(followed.get(key)).toEqual(epoch(5, idB));
    }
  });

  it("knows nothing of an orchestrator with another key, and forgets the one before", () => {
    const { open } = scene();
    open().follow(key, epoch(9));
    const next = open();
    expect(next.get(other)).toBeNull();
    next.follow(other, epoch(2));
    expect([open().get(other), open().get(key)]).toEqual([epoch(2), null]);
  });

  it("knows the orchestrator that it was given to, where it was killed before the copy was written", () => {
    const { open, path } = scene();
    open().follow(key, epoch(9));
    copyFileSync(path("epoch.copy.json"), path("older"));
    open().follow(other, epoch(2));
    copyFileSync(path("older"), path("epoch.copy.json"));
    expect([open().get(other), open().get(key)]).toEqual([epoch(2), null]);
    expect(() => open().follow(other, epoch(1))).toThrow(superseded);
  });

  it.each(["epoch.json", "epoch.copy.json"])("survives that %s is damaged, lost, or older", (name) => {
    const { open, path, logger } = scene();
    open().follow(key, epoch(5));
    copyFileSync(path(name), path("older"));
    open().follow(key, epoch(9));
    const sound = readFileSync(path(name), "utf8");
    for (const bit of [1, 40, sound.length - 5]) {
      const bytes = Buffer.from(sound);
      bytes[bit] = (bytes[bit] ?? 0) ^ 1;
      writeFileSync(path(name), bytes);
      expect(open().get(key)).toEqual(epoch(9));
    }
    expect(logger.of("error").length > 0).toBe(true);
    copyFileSync(path("older"), path(name));
    expect(open().get(key)).toEqual(epoch(9));
    rmSync(path(name));
    expect(open().get(key)).toEqual(epoch(9));
  });

  it("is followed where it can't be written down, until the agent ends", () => {
    const { open, path, logger } = scene();
    const followed = open();
    followed.follow(key, epoch(5));
    rmSync(path("."), { recursive: true });
    followed.follow(key, epoch(9));
    expect(() => followed.follow(key, epoch(5))).toThrow(superseded);
    expect(logger.lines.at(-1)).toMatchObject({ level: "error" });
  });
});
