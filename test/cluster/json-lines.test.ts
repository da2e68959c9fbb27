import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pipe } from "../../lib/cluster/cluster.ts";
import { readLines, writeLine } from "../../lib/cluster/json-lines.ts";
import { LocalCluster } from "../../lib/cluster/local-cluster.ts";
import { toUtf8 } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";

/** What comes out of a pipe into which something was put. */
async function through(put: (pipe: Pipe) => Promise<void>): Promise<unknown[]> {
  const cluster = new LocalCluster();
  const lines: unknown[] = [];
  const pipes = new Map([["put", async ({ pipe }: { pipe: Pipe }) => put(pipe)]]);
  const context = { clock: new FakeClock(), crypto: nodeCrypto, logger: silentLogger };
  await cluster.start(context, { calls: new Map(), pipes });
  try {
    const pipe = await cluster.open(cluster.name, "put", { body: {} });
    for await (const line of readLines(pipe)) lines.push(line);
    return lines;
  } finally {
    await cluster.stop();
  }
}

const linesOf = (pieces: Uint8Array[]): Promise<unknown[]> =>
  through(async (pipe) => {
    for (const piece of pieces) await pipe.write(piece);
  });

describe("JSON through a pipe", () => {
  it("comes as it went, wherever the pieces are cut", async () => {
    const cuts = fc.array(fc.nat(200), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 8 }), cuts, async (values, places) => {
        const bytes = toUtf8(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
        const bounds = [
          0,
          ...places.filter((at) => at < bytes.length).toSorted((a, b) => a - b),
          bytes.length,
        ];
        const pieces = bounds.slice(1).map((to, index) => bytes.subarray(bounds[index]!, to));
        expect(JSON.stringify(await linesOf(pieces))).toBe(JSON.stringify(values));
      }),
    );
  });

  it("may be far longer than a frame, and is refused above 16 MiB", async () => {
    const text = "x".repeat(16_777_216 - 2);
    expect(await through((pipe) => writeLine(pipe, text))).toEqual([text]);
    const frame = new Uint8Array(65_536).fill(0x20);
    const endless = Array.from({ length: 257 }, () => frame);
    await expect(linesOf(endless)).rejects.toMatchObject({ code: "PEER_ERROR" });
    // Also where its end comes at last.
    await expect(linesOf([...endless, toUtf8("1\n2\n")])).rejects.toMatchObject({ code: "PEER_ERROR" });
    const many = endless.map((each) => Uint8Array.from([...each.subarray(2), 0x31, 0x0a]));
    expect(await linesOf(many)).toEqual(endless.map(() => 1));
  });

  it.each([
    ["without an end", toUtf8(`{"a":1}`)],
    ["that is no JSON", toUtf8(`{"a":\n`)],
    ["that is no UTF-8", Uint8Array.of(0x22, 0xff, 0x22, 0x0a)],
  ])("is refused where it has a line %s", async (_, bytes) => {
    await expect(linesOf([bytes])).rejects.toMatchObject({ code: "PEER_ERROR" });
  });
});
