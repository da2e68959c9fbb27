import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { AuditExport, checkAuditExport, systemCaller, type AuditEvent } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";

async function createEvents(count: number): Promise<AuditEvent[]> {
  await using test = await createTestOrchestrator();
  for (let n = 0; n < count; n += 1) {
    await test.orchestrator.audit.setRetention(systemCaller, { retention_days: n + 1 });
    await test.clock.advance(1234);
  }
  return (await test.orchestrator.audit.list(systemCaller, { order: "asc" })).items;
}

function toLines(events: readonly AuditEvent[]): string[] {
  const lines = new AuditExport({ sequence: 0, hash: "0".repeat(64) });
  return events.map((event) => lines.add(event));
}

const check = (lines: readonly string[]) =>
  checkAuditExport(
    (async function* () {
      yield* await Promise.resolve(lines);
    })(),
  );

describe("an export of the audit log", () => {
  it("is checked by what is in it, also from its middle, also by somebody else's program", async () => {
    const events = await createEvents(6);
    const lines = toLines(events);
    const head_hash = events.at(-1)?.hash;
    expect(await check(lines)).toMatchObject({ valid: true, events: 6, from_sequence: 1, head_hash });
    expect(await check(lines.slice(2))).toMatchObject({
      valid: true,
      events: 4,
      from_sequence: 3,
      head_hash,
    });
    expect(await check([])).toMatchObject({ valid: true, events: 0, head_hash: null });
    for (const line of lines) {
      const { sequence, recorded_at, hash, previous_hash, ...value } = JSON.parse(line) as Record<
        string,
        string
      >;
      const at = Date.parse(recorded_at ?? "");
      const text = `${previous_hash}${JSON.stringify(sortKeys({ at, sequence, value }))}`;
      expect(createHash("sha256").update(text).digest("hex")).toBe(hash);
    }
  });

  it("shows any change, gap, cut or line that is none, and says where", async () => {
    const lines = toLines(await createEvents(6));
    const changed = (from: string | RegExp, to: string) =>
      lines.map((line, at) => (at === 2 ? line.replace(from, to) : line));
    for (const wrong of [
      changed("system", "nobody"),
      changed(/"recorded_at":"\d{4}/, '"recorded_at":"1999'),
      changed(/"hash":"./, '"hash":"x'),
      changed('"metadata"', '"metadatum"'),
      lines.filter((_, at) => at !== 2),
      lines.map((line, at) => (at === 2 ? line.slice(0, -5) : line)),
      lines.toSpliced(2, 0, lines[1]!),
      lines.toSpliced(2, 0, ""),
      lines.toSpliced(2, 0, "[".repeat(100_000)),
      lines.toSpliced(2, 0, "null"),
    ]) {
      expect(await check(wrong)).toMatchObject({
        valid: false,
        events: 2,
        to_sequence: 2,
        first_bad_line: 3,
      });
    }
    expect(await check(changed("system", "nobody").slice(2))).toMatchObject({ first_bad_line: 1 });
  });

  it("is not made of events that do not follow each other, or are not as they were", async () => {
    const [first, second, third] = await createEvents(3);
    const begin = () => new AuditExport({ sequence: 0, hash: "0".repeat(64) });
    const refusal = expect.objectContaining({ code: "STORAGE_CORRUPT" }) as Error;
    expect(() => begin().add(second!)).toThrow(refusal);
    expect(() => begin().add({ ...first!, summary: "nothing happened" })).toThrow(refusal);
    const gap = begin();
    gap.add(first!);
    expect(() => gap.add(third!)).toThrow(refusal);
    expect(gap.head).toEqual({ sequence: 1, hash: first?.hash });
  });
});

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, entry]) => [key, sortKeys(entry)]));
}
