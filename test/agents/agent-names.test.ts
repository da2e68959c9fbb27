/** Names that nobody has, and agents by them. */
import { describe, expect, it } from "vitest";
import { MemoryStorage } from "fleetwright";
import { AgentNames, findFreeName, takeName, toAgentName } from "../../lib/agents/agent-names.ts";
import { storageSchema } from "../../lib/storage-schema.ts";

const ids = Array.from(
  { length: 12 },
  (_, number) => String(number % 10).repeat(32 - 1) + number.toString(16),
);

async function start(): Promise<MemoryStorage> {
  const storage = new MemoryStorage();
  await storage.open(storageSchema);
  return storage;
}

describe("a free name", () => {
  it.each([
    ["short", "web"],
    ["in large letters", "WEB"],
    ["as long as names may be", "w".repeat(64)],
    ["of which no more than its number would fit", `${"w".repeat(63)}x`],
  ])("is a name of its own for each of twelve machines, never too long: %s", async (_what, wanted) => {
    const storage = await start();
    const names: string[] = [];
    for (const nodeId of ids) {
      const name = await findFreeName(storage, { wanted, nodeId, isContended: false });
      await storage.commit([takeName(name, nodeId)]);
      names.push(name);
    }
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(12);
    expect(names[0]).toBe(wanted);
    expect(names.slice(1, 9).map((name) => name.slice(-2))).toEqual([
      "-2",
      "-3",
      "-4",
      "-5",
      "-6",
      "-7",
      "-8",
      "-9",
    ]);
    expect(names[9]!.endsWith(`-${ids[9]!.slice(0, 8)}`)).toBe(true);
    for (const name of names) {
      expect(name.length).toBeLessThanOrEqual(64);
      expect(name).toMatch(/^[A-Za-z][A-Za-z0-9_-]*$/);
    }
  });

  it.each([
    ["web-1.example.com", "web-1"],
    ["Web_1", "Web_1"],
    ["1st", "st"],
    ["--", "agent"],
    ["", "agent"],
    [".hidden", "agent"],
    ["k\u00fcche", "k-che"],
    ["\u{1f600}", "agent"],
    ["a b\tc\nd", "a-b-c-d"],
    ["x".repeat(300), "x".repeat(64)],
  ])("of a machine that calls itself %j begins with %j", (hostname, name) => {
    expect(toAgentName(hostname)).toBe(name);
  });
});

describe("the agent of a name", () => {
  it("is on the page before it and on none after", async () => {
    const storage = await start();
    const nodeId = "5".repeat(32);
    await storage.commit([takeName("Web-1", nodeId)]);
    const names = new AgentNames(storage);
    const pagesOf = async (name: string, after: string): Promise<(readonly string[])[]> => {
      const pages: (readonly string[])[] = [];
      for await (const page of names.pages(name, { after })) pages.push(page);
      return pages;
    };
    expect(await pagesOf("wEB-1", "")).toEqual([[nodeId]]);
    expect(await pagesOf("web-1", "4".repeat(32))).toEqual([[nodeId]]);
    expect(await pagesOf("web-1", nodeId)).toEqual([]);
    expect(await pagesOf("web", "")).toEqual([]);
    expect(await names.having(["4".repeat(32), nodeId], "WEB-1")).toEqual(new Set([nodeId]));
  });
});
