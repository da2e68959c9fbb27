/** Recordings that are read in pieces: a character, a line or an escape may stand across the seam of two. */
import { expect, it } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import type { Context } from "../../lib/context.ts";
import { recordingOf } from "../../lib/terminals/documents.ts";
import { countOutput, readTranscript } from "../../lib/terminals/transcript.ts";

const seam = 262_144;
const session_id = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";
const header = '{"version":2,"width":80,"height":24}\n';
const eventOf = (text: string): string => `[1,"o",${JSON.stringify(text)}]\n`;

async function read(recording: string, search?: string): Promise<{ text: string; bytes: number }> {
  await using test = await createTestOrchestrator();
  await test.storage.appendBlob(recordingOf(session_id), Buffer.from(recording));
  const context = { storage: test.storage } as Context;
  const form = { format: "text", ...(search !== undefined && { search }) } as const;
  const pieces = await readTranscript(context, { session_id, recording: "complete" }, form);
  const chunks: Uint8Array[] = [];
  for await (const piece of pieces) chunks.push(piece);
  return { text: Buffer.concat(chunks).toString(), bytes: await countOutput(context, session_id) };
}

/** A recording in which this text begins so many bytes before the seam. */
function across(text: string, bytesBefore: number): { recording: string; output: string } {
  const line = eventOf("x".repeat(1_000) + "\n");
  const filled = header + line.repeat(Math.floor((seam - 4_000 - header.length) / line.length));
  const opening = '[1,"o","'.length;
  const missing = seam - bytesBefore - filled.length - opening;
  const output = `${"y".repeat(missing)}${text}\n`;
  return { recording: filled + eventOf(output) + eventOf("end\n"), output };
}

it.each(["ü", "─", "😀", "日本"])("%s is whole wherever the seam goes through it", async (character) => {
  for (let before = 0; before <= Buffer.byteLength(character); before += 1) {
    const { recording, output } = across(character, before);
    const { text, bytes } = await read(recording);
    expect(text.endsWith(`x\n${output}end\n`)).toBe(true);
    expect(text).not.toContain("\uFFFD");
    expect(bytes).toBe(Buffer.byteLength(text));
    const found = (await read(recording, `y${character}`)).text;
    expect(found.endsWith(`: ${output}`)).toBe(true);
  }
});

it("what stands behind the seam is read as often as it is there", async () => {
  const line = eventOf("one line\n");
  const recording = header + line.repeat(40_000);
  const { text } = await read(recording);
  expect(text.split("\n").filter((each) => each === "one line")).toHaveLength(40_000);
});

it.each([
  ["without a line break", ["one\n", "tw", "o"], "two", "2: two\n"],
  ["with one", ["one\n", "tw", "o\n"], "two", "2: two\n"],
  ["of one character", ["$"], "$", "1: $\n"],
  ["behind empty ones", ["\n\n", "two"], "two", "3: two\n"],
  ["that has nothing of it", ["two\n", "on", "e"], "two", "1: two\n"],
])("the last line %s is searched, too", async (_, outputs, search, found) => {
  const recording = header + outputs.map(eventOf).join("");
  expect(await read(recording, search)).toMatchObject({ text: found });
});

it.each(["partial", "recording"] as const)(
  "a recording that is %s has the last event as soon as it stands there whole, and nothing of it before",
  async (state) => {
    await using test = await createTestOrchestrator();
    const context = { storage: test.storage } as Context;
    const [first, last] = [eventOf("first\n"), eventOf("läst\n")].map((event) => Buffer.from(event));
    for (const missing of [0, 1, 2, 3, 5, last!.length - 1]) {
      const written = Buffer.concat([Buffer.from(header), first!, last!.subarray(0, last!.length - missing)]);
      const blob = recordingOf(session_id);
      await test.storage.commit([{ kind: "dropBlob", id: blob }]);
      await test.storage.appendBlob(blob, written);
      const pieces = await readTranscript(context, { session_id, recording: state }, {});
      const chunks: Uint8Array[] = [];
      for await (const piece of pieces) chunks.push(piece);
      const shown = header + first!.toString() + (missing < 2 ? last!.toString() : "");
      expect([missing, Buffer.concat(chunks).toString()]).toEqual([missing, shown]);
    }
  },
);
