import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { openStorage } from "../support/file-storages.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const program = fileURLToPath(new URL("../support/committing-process.ts", import.meta.url));

/** Runs the process until it acknowledged so many commits, kills it, and gives the last it acknowledged, by writer. */
async function killAfter(folder: string, commits: number): Promise<Map<string, number>> {
  const child = spawn(process.execPath, ["--import", "tsx", program, folder]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const errors: string[] = [];
  child.stderr.on("data", (text: Buffer) => errors.push(text.toString()));
  const acknowledged = new Map<string, number>();
  let count = 0;
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => {
    const [writer, n] = line.split(" ");
    acknowledged.set(String(writer), Number(n));
    if (++count === commits) child.kill("SIGKILL");
  });
  await once(lines, "close");
  expect(errors.join("")).toBe("");
  return acknowledged;
}

test("every commit that a process acknowledged before kill -9 is there, time after time", async () => {
  const folder = temporaryFolder();
  for (const commits of [1, 150, 700]) {
    const acknowledged = await killAfter(folder, commits);
    const storage = await openStorage({ folder });
    const documents = new Map<string, number>();
    for (const [writer, n] of acknowledged) {
      const stored = (await storage.get<{ n: number }>("agents", writer))?.value.n ?? 0;
      expect(stored).toBeGreaterThanOrEqual(n);
      documents.set(writer, stored);
    }
    const logged = new Map<string, number>();
    for (let from: number | null = 1; from !== null;) {
      const page: Awaited<ReturnType<typeof storage.readLog<{ key: string; n: number }>>> =
        await storage.readLog("audit", { from, limit: 1_000 });
      for (const { value } of page.entries) {
        expect(value.n).toBe((logged.get(value.key) ?? 0) + 1);
        logged.set(value.key, value.n);
      }
      from = page.next;
    }
    for (const [writer, n] of documents) expect(logged.get(writer)).toBe(n);
    await storage.close();
  }
});
