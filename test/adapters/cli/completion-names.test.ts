/** Names that completion offers: all that there are, and those of a command. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { runIn } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

// How long it may take is not what is tried here, and a busy machine takes longer.
beforeEach(() => void vi.spyOn(AbortSignal, "timeout").mockReturnValue(new AbortController().signal));
afterEach(() => void vi.restoreAllMocks());

/** A server with so many modules that they take three pages; the last page can be refused. */
async function startPaged({
  refusesLast,
}: {
  refusesLast: boolean;
}): Promise<{ folder: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const cursor = Number(new URL(request.url ?? "", "http://x").searchParams.get("cursor") ?? 0);
    if (cursor === 2 && refusesLast) return void response.writeHead(403).end();
    const items = ["a", "b"].map((letter) => ({
      name: `page-${cursor}-${letter}`,
      hostname: "h",
      node_id: "0",
    }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ items, next_cursor: cursor < 2 ? String(cursor + 1) : null }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const folder = temporaryFolder();
  mkdirSync(join(folder, "home"));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const profile = { url, key: join(folder, "key"), token: "a-token" };
  writeFileSync(join(folder, "home/profile.json"), JSON.stringify(profile));
  return { folder, asked };
}

async function complete(folder: string, ...words: string[]): Promise<string[]> {
  const { stdout } = await runIn(folder, ["complete", "zsh", "--", ...words]);
  return stdout.trimEnd().split("\n").slice(1);
}

it.each(["modules", "assignments", "secrets", "agents"])(
  "of %s are those of the last page, too",
  async (kind) => {
    const { folder } = await startPaged({ refusesLast: false });
    const names = await complete(folder, kind, "show", "page-2");
    expect(names.map((line) => line.split("\t")[0])).toEqual(["page-2-a", "page-2-b"]);
  },
);

it("are those of the pages that came, where one does not", async () => {
  const { folder } = await startPaged({ refusesLast: true });
  expect(await complete(folder, "modules", "show", "")).toEqual([
    "page-0-a",
    "page-0-b",
    "page-1-a",
    "page-1-b",
  ]);
});

it.each([
  ["approve", ["agents", "approve"], ["status=pending", "status=rejected"]],
  ["plan", ["plan"], ["status=approved"]],
  ["open a terminal on", ["terminal", "open"], ["status=approved"]],
  ["tag", ["tags", "set"], [""]],
])("of agents to %s are of those alone", async (_, command, filters) => {
  const { folder, asked } = await startPaged({ refusesLast: false });
  await complete(folder, ...command, "");
  expect(asked).toHaveLength(3 * filters.length);
  for (const filter of filters) expect(asked.filter((url) => url.includes(filter))).toHaveLength(3);
});

it.each<[words: string[], asks: "own" | "other" | "nobody"]>([
  [["modules", "show", ""], "own"],
  [["--profile", "other", "modules", "show", ""], "other"],
  [["--profile=other", "modules", "show", ""], "other"],
  [["modules", "--profile", "other", "show", ""], "other"],
  [["modules", "show", "--profile", "other", ""], "other"],
  [["modules", "show", "--profile", "none", ""], "nobody"],
  [["modules", "show", "--profile", "other", "--profile", "none", ""], "nobody"],
  [["modules", "show", "--url", "http://127.0.0.1:1", ""], "nobody"],
  [["--url=http://127.0.0.1:1", "modules", "show", ""], "nobody"],
  [["modules", "show", "--url", "OTHER", ""], "nobody"],
  [["--profile", "other", "modules", "show", "--url", "OTHER", ""], "other"],
  [["--url", "OWN", "modules", "show", ""], "own"],
])("are those of the server that the line %j names, to which somebody signed in", async (words, asks) => {
  const [own, other] = [await startPaged({ refusesLast: false }), await startPaged({ refusesLast: false })];
  const profile = readFileSync(join(other.folder, "home/profile.json"), "utf8");
  mkdirSync(join(own.folder, "home/profiles"));
  writeFileSync(join(own.folder, "home/profiles/other.json"), profile);
  const urlOf = (text: string): string => (JSON.parse(text) as { url: string }).url;
  const urls: Record<string, string> = {
    OWN: urlOf(readFileSync(join(own.folder, "home/profile.json"), "utf8")),
    OTHER: urlOf(profile),
  };
  const names = await complete(own.folder, ...words.map((word) => urls[word] ?? word));
  expect(names.length > 0).toBe(asks !== "nobody");
  expect([own.asked.length > 0, other.asked.length > 0]).toEqual([asks === "own", asks === "other"]);
});
