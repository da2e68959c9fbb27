import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { operationExamples } from "../../adapters/rest/reference/examples.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import { playExampleCalls, type RecordedCall } from "../support/example-calls.ts";

test("the examples of the OpenAPI description are what a server answers today", async () => {
  const lines = toRepeatable(await playExampleCalls()).map(
    ([procedure, example]) => `  ${JSON.stringify(procedure)}: ${JSON.stringify(example)},\n`,
  );
  await expect(head + lines.join("") + "};\n").toMatchFileSnapshot(
    "../../adapters/rest/reference/examples.ts",
  );
});

test("every procedure has an example, but for the one that answers with a file", () => {
  const names = restProcedures(appRouter).map(([name]) => name);
  expect(names.filter((name) => !(name in operationExamples))).toEqual(["backups.create"]);
  expect(Object.keys(operationExamples).filter((name) => !names.includes(name))).toEqual([]);
});

const head = `/**
 * One call of each procedure and what a server answered, for the OpenAPI description. Recorded, not written: a test plays them all
 * against a live server and compares (test/adapters/openapi-examples.test.ts; with \`-u\` it records them anew).
 */
import type { OperationExample } from "../openapi/examples.ts";

// prettier-ignore
export const operationExamples: Readonly<Record<string, OperationExample>> = {
`;

/** What no two runs have in common, by its form. The same value is replaced by the same throughout. */
const chance =
  /fwt?_[\w-]{43}|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[\w.-]{100,}|\b[0-9a-f]{32,128}\b/g;

/** What differs from machine to machine. */
const ofMachine: Readonly<Record<string, unknown>> = {
  attributes: {
    "os.family": "debian",
    "os.version": "12",
    "kernel.release": "6.1.0",
    "cpu.count": 4,
    "memory.total_bytes": 8_201_789_440,
  },
  duration_ms: 12,
  request_id: "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11",
};

function toRepeatable(calls: RecordedCall[]): RecordedCall[] {
  const seen = new Map<string, string>();
  const stable = JSON.stringify(calls, (key, value: unknown) => ofMachine[key] ?? value)
    // With its quotes: a short name also occurs within a random token now and then.
    .replaceAll(JSON.stringify(hostname()), JSON.stringify("web-1.example"))
    .replaceAll(chance, (text) => {
      const known = seen.get(text) ?? inTheFormOf(text, seen.size);
      seen.set(text, known);
      return known;
    });
  return JSON.parse(stable) as RecordedCall[];
}

function inTheFormOf(text: string, index: number): string {
  const hex = createHash("sha512").update(`example ${index}`).digest("hex");
  const [token] = /^fwt?_/.exec(text) ?? [];
  if (token) return token + Buffer.from(hex, "hex").toString("base64url").slice(0, 43);
  if (/^[0-9a-f]+$/.test(text)) return hex.slice(0, text.length);
  if (text[8] === "-")
    return (
      text.slice(0, 15) +
      hex.slice(0, 3) +
      text.slice(18, 19) +
      "8" +
      hex.slice(3, 6) +
      "-" +
      hex.slice(6, 18)
    );
  return Buffer.from(hex, "hex").toString("base64url");
}
