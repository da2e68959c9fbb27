/**
 * Whatever comes from outside is read or refused: no parser throws what it does not promise, hangs, or costs more than its input is
 * worth. FLEETWRIGHT_SOAK=1 tries a hundred times as many inputs, from a new seed.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuMsOf } from "../support/cpu-time.ts";
import { isSoak } from "../support/soak.ts";
import { byteParsers } from "./support/byte-parsers.ts";
import { hostileBytes, hostileTexts, pumped } from "./support/hostile-texts.ts";
import { isRefusal, textParsers } from "./support/parsers.ts";

const many = isSoak ? 20_000 : 150;
/** Characters of an input that says a piece again and again, where so many reach the parser. */
const pumpedTo = 65_536;

describe("a hostile text", () => {
  test.each(Object.entries(textParsers))("for %s is read or refused", { timeout: 600_000 }, (_, parser) => {
    for (const example of parser.examples) parser.read(example);
    const readOrRefused = (text: string): void => {
      try {
        parser.read(text);
      } catch (error) {
        if (!isRefusal(parser, error)) throw error;
      }
    };
    fc.assert(
      fc.property(hostileTexts(parser.examples), (text) => readOrRefused(text.slice(0, parser.longest))),
      {
        numRuns: many,
      },
    );
    fc.assert(
      fc.property(pumped(hostileTexts(parser.examples), Math.min(pumpedTo, parser.longest)), (text) => {
        const took = cpuMsOf(() => readOrRefused(text.slice(0, parser.longest)));
        expect(took, "milliseconds of CPU").toBeLessThan(parser.mostMs ?? 1_000);
      }),
      { numRuns: many / 15 },
    );
  });
});

describe("hostile bytes", () => {
  test.each(Object.entries(byteParsers))(
    "for %s are read or refused",
    { timeout: 600_000 },
    async (_, parser) => {
      for (const example of await parser.examples()) await parser.read(Buffer.from(example));
      await fc.assert(
        fc.asyncProperty(hostileBytes(await parser.examples()), async (bytes) => {
          try {
            await parser.read(bytes);
          } catch (error) {
            if (!isRefusal(parser, error)) throw error;
          }
        }),
        { numRuns: many },
      );
    },
  );
});
