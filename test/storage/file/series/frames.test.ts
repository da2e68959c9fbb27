import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeDisk } from "../../../../lib/storage/file/disk.ts";
import { FrameCheck } from "../../../../lib/storage/file/series/frame-check.ts";
import { encodeFrame, scanFrames } from "../../../../lib/storage/file/series/frames.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const frame = (head: string, body: string): Buffer => encodeFrame(Buffer.from(head), Buffer.from(body));

/** Heads of the frames of a file, and in their order the damages: "inside" or "end". */
async function scan(bytes: Buffer): Promise<string[]> {
  const path = join(temporaryFolder(), "file");
  await writeFile(path, bytes);
  const file = await nodeDisk.open(path, "read");
  const found: string[] = [];
  for await (const item of scanFrames(file)) {
    if ("isInside" in item) found.push(item.isInside ? "inside" : "end");
    else found.push(Buffer.from(item.head).toString());
  }
  await file.close();
  return found;
}

const a = frame("a", "body of a");
const b = frame("b", "body of b");
// Longer than what is read at once.
const long = frame("long", "x".repeat(3_000_000));
const damaged = Buffer.from(b);
damaged[damaged.length - 1] = 0;

const cases: [name: string, bytes: Buffer, found: string[]][] = [
  ["nothing", Buffer.alloc(0), []],
  ["frames", Buffer.concat([a, b, a]), ["a", "b", "a"]],
  ["a long frame between short ones", Buffer.concat([a, long, b]), ["a", "long", "b"]],
  ["a torn end", Buffer.concat([a, b.subarray(0, 15)]), ["a", "end"]],
  ["a long torn end", Buffer.concat([a, long.subarray(0, 2_000_000)]), ["a", "end"]],
  ["a damaged frame", Buffer.concat([a, damaged, a]), ["a", "inside", "a"]],
  ["a damaged start", Buffer.concat([damaged, a]), ["inside", "a"]],
  ["bytes that are no frames", Buffer.concat([Buffer.from("FWS1 FWFWS1"), a]), ["inside", "a"]],
  ["much that is no frame", Buffer.concat([a, Buffer.alloc(2_500_000), b]), ["a", "inside", "b"]],
  // Bytes that are read at once end in the middle of its marker, of its lengths, or with it.
  ...[0, 1, 2, 3, 4, 5, 12, 19, 20].map((before): [string, Buffer, string[]] => [
    `a frame behind damage that begins ${before} bytes before the end of a block`,
    Buffer.concat([a, Buffer.alloc(1_024 * 1_024 - before), b, damaged, a]),
    ["a", "inside", "b", "inside", "a"],
  ]),
  ["a missing piece of a long frame", Buffer.concat([a, long.subarray(0, 999), b]), ["a", "inside", "b"]],
];

test.each(cases)("frames are found in %s", async (_name, bytes, found) => {
  expect(await scan(bytes)).toEqual(found);
});

test.each(cases)("a check of frames that go by in pieces finds the same in %s", (_name, bytes, found) => {
  for (const size of [7, 1_000, 70_000, 1_000_000]) {
    if (bytes.length / size > 10_000) continue;
    const check = new FrameCheck();
    for (let file = 0; file < 2; file++) {
      for (let at = 0; at < bytes.length; at += size) check.take(bytes.subarray(at, at + size));
      check.end();
    }
    const damages = found.filter((item) => item === "inside" || item === "end").length;
    expect([check.frames, check.damages]).toEqual([(found.length - damages) * 2, damages * 2]);
  }
});
