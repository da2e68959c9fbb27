/** What is written of a terminal, byte by byte: a player has nothing else. */
import { expect, it } from "vitest";
import { MemoryStorage } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { recordingOf } from "../../lib/terminals/documents.ts";
import { Recorder } from "../../lib/terminals/recorder.ts";

const terminal = { cols: 80, rows: 24, opened_at: "2026-01-02T03:04:05.678Z", agent_name: "web 1" };

/** A recording that has begun, and its events so far. */
async function begun() {
  const [storage, clock] = [new MemoryStorage(), new FakeClock()];
  await storage.open({ collections: {}, logs: {} } as never);
  const recorder = new Recorder({ context: { storage, clock }, keeps: async () => true }, "s", () =>
    expect.fail(),
  );
  await recorder.begin(terminal);
  const lines = async (): Promise<unknown[]> => {
    const bytes = await storage.readBlob(recordingOf("s"), {});
    const text = Buffer.from(bytes!).toString();
    expect(text.endsWith("\n")).toBe(true);
    return text
      .slice(0, -1)
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  };
  return { recorder, clock, events: async () => (await lines()).slice(1), lines };
}

it("begins with what a player must know", async () => {
  const { recorder, lines } = await begun();
  expect(await lines()).toEqual([
    {
      version: 2,
      width: 80,
      height: 24,
      timestamp: Date.parse("2026-01-02T03:04:05Z") / 1000,
      title: "web 1",
      env: { TERM: "xterm-256color" },
    },
  ]);
  await recorder.end();
});

it("has each piece of output with the seconds since its beginning", async () => {
  const { recorder, clock, events } = await begun();
  await recorder.output(Buffer.from("one"));
  await clock.advance(1_500);
  await recorder.output(Buffer.from("two"));
  await recorder.output(new Uint8Array());
  await clock.advance(60_000);
  await recorder.output(Buffer.from('"\\\n'));
  expect(await events()).toEqual([
    [0, "o", "one"],
    [1.5, "o", "two"],
    [61.5, "o", '"\\\n'],
  ]);
  await recorder.end();
});

it("has every character as it came, also the mark that some files begin with, and those that came in pieces", async () => {
  const { recorder, events } = await begun();
  const text = "\uFEFFa\uFEFFü🎉";
  for (const byte of Buffer.from(text)) await recorder.output(Uint8Array.of(byte));
  expect((await events()).map((event) => (event as string[])[2]).join("")).toBe(text);
  await recorder.end();
  expect(await events()).toHaveLength(5);
});

it("has what is no character, and the beginning of one whose rest never came, as what stands for these", async () => {
  const { recorder, events } = await begun();
  await recorder.output(Buffer.of(0x61, 0xff, 0x62));
  await recorder.output(Buffer.from("🎉").subarray(0, 3));
  await recorder.end();
  expect((await events()).map((event) => (event as string[])[2])).toEqual(["a\uFFFDb", "\uFFFD"]);
});

it("has a size once each time that it becomes another", async () => {
  const { recorder, events } = await begun();
  for (const [cols, rows] of [
    [80, 24],
    [100, 24],
    [100, 24],
    [100, 30],
    [80, 24],
  ] as const)
    await recorder.resized(cols, rows);
  expect(await events()).toEqual(["100x24", "100x30", "80x24"].map((size) => [0, "r", size]));
  await recorder.end();
});

it("takes nothing before it has begun", async () => {
  const context = { storage: new MemoryStorage(), clock: new FakeClock() };
  const recorder = new Recorder({ context, keeps: async () => true }, "s", () => {});
  await expect(recorder.output(Buffer.from("x"))).rejects.toMatchObject({ code: "INTERNAL" });
  expect(recorder.size).toBe(0);
  await recorder.end();
});
