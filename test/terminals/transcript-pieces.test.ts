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
